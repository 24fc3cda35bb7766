from datetime import timedelta

import pytest
from django.utils import timezone

from apps.content.domain import articles, blogs, comments
from apps.content.models import Article, Blog, Comment
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.content import make_article, make_comment
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

TEXT = {"author": "Ada Lovelace", "email": "Ada@Example.com", "body": "So <b>white</b>!\nLovely.", "ip": "203.0.113.7"}
PUBLISHED, UNAPPROVED, SPAM, REMOVED = "published", "unapproved", "spam", "removed"


@pytest.fixture
def article(shop: Shop) -> Article:
    with shop_scope(shop):
        return make_article(commentable="yes")


def post_comment(api: ApiClient, article: Article, **attrs: object) -> JsonObject:
    response = api.post("comments.json", {"comment": {"article_id": article.pk, **TEXT, **attrs}})
    assert response.status_code == 201, response.content
    return response.json()["comment"]


def moderate(api: ApiClient, comment: JsonObject, action: str) -> JsonObject:
    response = api.post(f"comments/{comment['id']}/{action}.json")
    assert response.status_code == 200, response.content
    return response.json()


def test_responses_fit_the_wire_tables(api: ApiClient, article: Article) -> None:
    body = {"comment": {"article_id": article.pk, "blog_id": article.blog_id, **TEXT, "user_agent": "Firefox"}}
    created = api.post("comments.json", body)
    comment = created.json()["comment"]
    path = f"comments/{comment['id']}"

    assert_fits("comment", "POST /comments.json", created.json())
    for action in ("spam", "not_spam", "approve", "remove", "restore"):
        assert_fits("comment", f"POST /comments/{{id}}/{action}.json", moderate(api, comment, action))
    assert_fits("comment", "GET /comments.json", api.get("comments.json").json())
    assert_fits("comment", "GET /comments/count.json", api.get("comments/count.json").json())
    assert_fits("comment", "GET /comments/{id}.json", api.get(f"{path}.json").json())
    changed = api.put(f"{path}.json", {"comment": {"body": "Better", "author": "A", "email": "a@example.com"}})
    assert_fits("comment", "PUT /comments/{id}.json", changed.json())


def test_a_comment_belongs_to_its_article_and_its_text_is_escaped(api: ApiClient, article: Article) -> None:
    comment = post_comment(api, article)

    assert (comment["article_id"], comment["blog_id"]) == (article.pk, article.blog_id)
    assert comment["body_html"] == "<p>So &lt;b&gt;white&lt;/b&gt;!<br>Lovely.</p>"
    assert (comment["ip"], comment["user_agent"], comment["email"]) == ("203.0.113.7", None, "Ada@Example.com")
    kept = api.put(f"comments/{comment['id']}.json", {"comment": {"article_id": 7, "blog_id": 8, "ip": "::1"}})
    assert kept.json()["comment"] == comment


@pytest.mark.parametrize(("commentable", "status"), [("yes", PUBLISHED), ("moderate", UNAPPROVED), ("no", UNAPPROVED)])
def test_the_blog_decides_on_new_comments(api: ApiClient, shop: Shop, commentable: str, status: str) -> None:
    with shop_scope(shop):
        article = make_article(commentable=commentable)

    comment = post_comment(api, article)

    assert (comment["status"], comment["published_at"] is not None) == (status, status == PUBLISHED)


@pytest.mark.parametrize(
    ("attrs", "errors"),
    [
        (
            dict.fromkeys((*TEXT, "article_id")),
            {name: ["can't be blank"] for name in ("author", "email", "body", "article_id")},
        ),
        ({"email": "nobody"}, {"email": ["is invalid"]}),
        ({"ip": "localhost"}, {"ip": ["is invalid"]}),
        ({"body": "a" * 10_001}, {"body": ["is too long (maximum is 10000 characters)"]}),
        ({"article_id": 1}, {"article_id": ["must exist"]}),
        ({"blog_id": 1}, {"article_id": ["must exist"]}),
    ],
)
def test_invalid_comments_change_nothing(
    api: ApiClient, shop: Shop, article: Article, attrs: JsonObject, errors: JsonObject
) -> None:
    response = api.post("comments.json", {"comment": {"article_id": article.pk, **TEXT, **attrs}})

    assert get_errors(response) == errors
    with shop_scope(shop):
        assert not Comment.objects.exists()


def test_articles_of_other_shops_get_no_comments(api: ApiClient) -> None:
    with shop_scope(factories.make_shop()):
        foreign = make_article()

    response = api.post("comments.json", {"comment": {"article_id": foreign.pk, **TEXT}})

    assert get_errors(response) == {"article_id": ["must exist"]}


@pytest.mark.parametrize(
    ("commentable", "actions", "statuses"),
    [
        ("yes", ("spam", "not_spam", "remove", "restore"), (SPAM, PUBLISHED, REMOVED, PUBLISHED)),
        ("moderate", ("spam", "not_spam", "approve", "spam"), (SPAM, UNAPPROVED, PUBLISHED, SPAM)),
        ("moderate", ("approve", "spam", "remove", "restore"), (PUBLISHED, SPAM, REMOVED, PUBLISHED)),
        ("moderate", ("remove", "restore", "spam", "approve"), (REMOVED, UNAPPROVED, SPAM, PUBLISHED)),
        ("no", ("approve", "approve", "restore", "not_spam"), (PUBLISHED, PUBLISHED, PUBLISHED, PUBLISHED)),
    ],
)
def test_moderation_moves_comments_between_statuses(
    api: ApiClient, shop: Shop, commentable: str, actions: tuple[str, ...], statuses: tuple[str, ...]
) -> None:
    with shop_scope(shop):
        comment = post_comment(api, make_article(commentable=commentable))

    responses = [moderate(api, comment, action) for action in actions]

    assert tuple(response["status"] for response in responses) == statuses
    assert all((row["published_at"] is not None) == (row["status"] == PUBLISHED) for row in responses)


@pytest.mark.parametrize("action", ["approve", "spam", "not_spam"])
def test_removed_comments_must_be_restored_first(api: ApiClient, article: Article, action: str) -> None:
    comment = post_comment(api, article)
    removed = moderate(api, comment, "remove")

    response = api.post(f"comments/{comment['id']}/{action}.json")

    assert get_errors(response) == {"base": ["The comment is removed. Restore it first."]}
    assert api.get(f"comments/{comment['id']}.json").json()["comment"] == removed


def test_a_date_publishes_a_comment_unless_it_is_hidden(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        comment = post_comment(api, make_article(commentable="moderate"))
    path, day = f"comments/{comment['id']}.json", "2026-02-01T10:00:00-05:00"

    dated = api.put(path, {"comment": {"published_at": day}}).json()["comment"]
    undated = api.put(path, {"comment": dated | {"published_at": None}}).json()["comment"]
    moderate(api, comment, "spam")
    refused = api.put(path, {"comment": {"published_at": day}})
    renamed = api.put(path, {"comment": {"author": "Kim", "published_at": None}}).json()["comment"]

    assert [dated["status"], undated["status"]] == [PUBLISHED, UNAPPROVED]
    assert get_errors(refused) == {"published_at": ["can't be set while the comment is spam or removed"]}
    assert (renamed["author"], renamed["status"]) == ("Kim", SPAM)


def test_lists_are_filtered(api: ApiClient, shop: Shop, article: Article) -> None:
    with shop_scope(shop):
        other = make_article(commentable="moderate")
    first, second = post_comment(api, article), post_comment(api, other)

    def get_ids(**query: object) -> list[int]:
        texts = {name: str(value) for name, value in query.items()}
        ids = [row["id"] for row in api.get("comments.json", **texts).json()["comments"]]
        assert api.get("comments/count.json", **texts).json() == {"count": len(ids)}
        return ids

    assert get_ids(article_id=article.pk) == get_ids(blog_id=article.blog_id) == [first["id"]]
    assert get_ids(status=UNAPPROVED) == get_ids(published_status="unpublished") == [second["id"]]
    assert get_ids(since_id=first["id"]) == [second["id"]]
    assert api.get("comments.json", status="pending").status_code == 400


def test_the_audit_log_has_no_personal_data_of_readers(api: ApiClient, shop: Shop, article: Article) -> None:
    comment = post_comment(api, article)
    api.put(f"comments/{comment['id']}.json", {"comment": {"author": "Grace", "body": "Other"}})
    moderate(api, comment, "spam")

    with shop_scope(shop):
        events = list(Event.objects.filter(topic__startswith="comments/").order_by("id"))
        text = repr([(row.changes, row.subject_label, row.message, row.payload) for row in events])
    assert [row.topic for row in events] == ["comments/create", "comments/update", "comments/spam"]
    assert not any(word in text for word in ("Lovelace", "Lovely", "Grace", "203.0.113.7"))
    assert events[2].changes["status"] == [PUBLISHED, SPAM]


def test_spam_and_removed_comments_are_deleted_after_a_month(in_shop: Shop) -> None:
    now = timezone.now()
    spam, removed, kept, visible = (make_comment(make_article(commentable="yes")) for _ in range(4))
    comments.mark_as_spam(spam, actor="system", at=now - timedelta(days=31))
    comments.remove_comment(removed, actor="system", at=now - timedelta(days=31))
    comments.remove_comment(kept, actor="system", at=now - timedelta(days=29))

    assert comments.delete_hidden_comments(now) == 2
    assert set(Comment.objects.values_list("pk", flat=True)) == {kept.pk, visible.pk}


def test_comments_are_deleted_with_their_article_and_blog(in_shop: Shop) -> None:
    first, second = make_comment(), make_comment()

    articles.delete_article(first.article, actor="system", at=timezone.now())
    blogs.delete_blog(Blog.objects.get(pk=second.blog_id), actor="system", at=timezone.now())

    assert not Comment.objects.exists()
