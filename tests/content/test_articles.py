import base64
from datetime import UTC, datetime, timedelta
from functools import partial
from urllib.parse import urlsplit

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from PIL import Image

from apps.content.domain.articles import create_article, update_article
from apps.content.domain.blogs import delete_blog
from apps.content.models import Article, ArticleVersion, Blog, FileContent
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories import make_member
from tests.support.files.images import encode_image, make_plain_image
from tests.support.servers.files import FileServer
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

WRONG_FORMAT = "must be in one of the formats PNG, JPEG, GIF, WebP, AVIF"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PICTURE = base64.b64encode(make_plain_image("PNG", (4, 3))).decode()


def make_blog(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("blogs.json", {"blog": {"title": "Field notes", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["blog"]


def make_article(api: ApiClient, blog_id: object, **fields: object) -> JsonObject:
    response = api.post(f"blogs/{blog_id}/articles.json", {"article": {"title": "First snow", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["article"]


@pytest.fixture
def blog(api: ApiClient) -> JsonObject:
    return make_blog(api)


@pytest.fixture
def articles(blog: Attrs) -> str:
    return f"blogs/{blog['id']}/articles"


def post_article(api: ApiClient, articles: str, **fields: object) -> JsonObject:
    return make_article(api, articles.split("/")[1], title=fields.pop("title", "x"), **fields)


def put_article(api: ApiClient, articles: str, article: JsonObject, **fields: object) -> JsonObject:
    response = api.put(f"{articles}/{article['id']}.json", {"article": fields})
    assert response.status_code == 200, response.content
    return response.json()["article"]


def get_ids(api: ApiClient, articles: str, **query: object) -> list[int]:
    return [article["id"] for article in api.get(f"{articles}.json", **query).json()["articles"]]


def open_image(url: str) -> Response:
    parts = urlsplit(url)
    return Client().get(f"{parts.path}?{parts.query}")


def test_every_route_of_blogs_answers_in_the_shape_that_clients_know(api: ApiClient) -> None:
    created = api.post("blogs.json", {"blog": {"title": "Field notes"}})
    path = f"blogs/{created.json()['blog']['id']}.json"

    assert_fits("blog", "POST /blogs.json", created.json())
    assert_fits("blog", "GET /blogs.json", api.get("blogs.json").json())
    assert_fits("blog", "GET /blogs/count.json", api.get("blogs/count.json").json())
    assert_fits("blog", "GET /blogs/{id}.json", api.get(path).json())
    assert_fits("blog", "PUT /blogs/{id}.json", api.put(path, {"blog": {"commentable": "moderate"}}).json())


def test_blog_shows_what_the_body_says_and_neutral_values_for_the_rest(api: ApiClient) -> None:
    blog = make_blog(api, commentable="yes", template_suffix="wide")

    assert blog == {
        **{name: blog[name] for name in ("id", "created_at", "updated_at")},
        "handle": "field-notes",
        "title": "Field notes",
        "commentable": "yes",
        "feedburner": None,
        "feedburner_location": None,
        "template_suffix": "wide",
        "tags": "",
        "admin_graphql_api_id": f"gid://platform/Blog/{blog['id']}",
    }


def test_handles_of_blogs_are_numbered_and_stay_when_the_title_changes(api: ApiClient) -> None:
    first, second, third = make_blog(api), make_blog(api), make_blog(api, title="Fïeld — NOTES!")
    renamed = api.put(f"blogs/{first['id']}.json", {"blog": {"title": "Other"}}).json()["blog"]

    assert [first["handle"], second["handle"], third["handle"]] == ["field-notes", "field-notes-1", "field-notes-2"]
    assert renamed["handle"] == "field-notes"
    assert make_blog(api, title="☃")["handle"] == "blog"


def test_a_handle_of_a_blog_that_is_given_and_taken_is_refused(api: ApiClient) -> None:
    make_blog(api)
    other = make_blog(api, title="Other")

    answers = [
        api.post("blogs.json", {"blog": {"title": "New", "handle": "field-notes"}}),
        api.put(f"blogs/{other['id']}.json", {"blog": {"handle": "Field Notes"}}),
    ]

    assert [get_errors(response) for response in answers] == [{"handle": ["has already been taken"]}] * 2


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"title": ["can't be blank"]}),
        ({"title": ""}, {"title": ["can't be blank"]}),
        ({"title": "   "}, {"title": ["can't be blank"]}),
        ({"title": "x", "commentable": "perhaps"}, {"commentable": ["is not included in the list"]}),
        ({"title": ["x"]}, {"title": ["is invalid"]}),
    ],
)
def test_invalid_blogs_are_refused(api: ApiClient, shop: Shop, body: object, errors: object) -> None:
    assert get_errors(api.post("blogs.json", {"blog": body})) == errors
    with shop_scope(shop):
        assert not Blog.objects.exists()
        assert not Event.objects.filter(topic__startswith="blogs").exists()


def test_blogs_are_listed_newest_first_and_take_the_filters(api: ApiClient) -> None:
    first, second = make_blog(api), make_blog(api, title="Recipes")

    def ids(**query: object) -> list[object]:
        return [blog["id"] for blog in api.get("blogs.json", **query).json()["blogs"]]

    assert ids() == [second["id"], first["id"]]
    assert ids(handle="recipes") == ids(since_id=first["id"]) == [second["id"]]
    assert api.get("blogs/count.json").json() == {"count": 2}


def test_tags_of_a_blog_are_those_of_its_articles(api: ApiClient) -> None:
    blog = make_blog(api)
    article = make_article(api, blog["id"], tags="Winter, bread")
    make_article(api, blog["id"], tags="winter, apple")
    path = f"blogs/{blog['id']}.json"

    before = api.get(path).json()["blog"]["tags"]
    api.put(f"blogs/{blog['id']}/articles/{article['id']}.json", {"article": {"tags": ""}})
    between = api.get(path).json()["blog"]["tags"]
    api.delete(f"blogs/{blog['id']}/articles/{article['id']}.json")

    assert before.lower() == "apple, bread, winter"
    assert between == api.get(path).json()["blog"]["tags"] == "apple, winter"


def test_a_deleted_blog_takes_the_articles_along_and_records_each(api: ApiClient, shop: Shop) -> None:
    blog, saved_blog = make_blog(api), make_blog(api, title="Kept")
    make_article(api, blog["id"], tags="a")
    make_article(api, blog["id"])
    make_article(api, saved_blog["id"])

    response = api.delete(f"blogs/{blog['id']}.json")

    assert (response.status_code, response.json()) == (200, {})
    with shop_scope(shop):
        assert list(Article.objects.values_list("blog_id", flat=True)) == [saved_blog["id"]]
        topics = list(Event.objects.order_by("-id").values_list("topic", flat=True)[:3])
    assert sorted(topics) == ["articles/delete", "articles/delete", "blogs/delete"]


def test_wire_of_every_route(api: ApiClient, shop: Shop, articles: str) -> None:
    make_member(shop, first_name="Ada", last_name="Berg")
    body: Attrs = {"title": "First snow", "author": "Ada Berg", "tags": "winter", "body_html": "<p>It snowed.</p>"}
    body |= {"published_at": "2026-03-01T10:00:00+00:00", "image": {"attachment": PICTURE, "alt": "Snow"}}

    created = api.post(f"{articles}.json", {"article": body})
    path = f"{articles}/{created.json()['article']['id']}.json"

    for route, answer in {
        "POST /blogs/{id}/articles.json": created,
        "GET /blogs/{id}/articles.json": api.get(f"{articles}.json"),
        "GET /blogs/{id}/articles/{id}.json": api.get(path),
        "PUT /blogs/{id}/articles/{id}.json": api.put(path, {"article": {"title": "Snow"}}),
        "GET /blogs/{id}/articles/count.json": api.get(f"{articles}/count.json"),
        "GET /blogs/{id}/articles/tags.json": api.get(f"{articles}/tags.json"),
        "GET /articles/tags.json": api.get("articles/tags.json"),
        "GET /articles/authors.json": api.get("articles/authors.json"),
    }.items():
        assert_fits("article", route, answer.json())
    assert isinstance(created.json()["article"]["user_id"], int)


@time_machine.travel(NOON, tick=False)
def test_a_plain_article_is_published_now_by_the_shop_without_a_picture(api: ApiClient, articles: str) -> None:
    article = post_article(api, articles, title="Hello")

    assert article["published_at"] == "2026-03-02T07:00:00-05:00"
    assert (article["author"], article["user_id"], article["body_html"]) == ("Acme", None, "")
    assert (article["summary_html"], article["handle"], article["tags"]) == (None, "hello", "")
    assert "image" not in article


@time_machine.travel(NOON, tick=False)
@pytest.mark.parametrize(
    ("before", "change", "expected_output"),
    [
        ({}, {"published": False}, None),
        ({"published": False}, {"published": True}, "2026-03-02T07:00:00-05:00"),
        ({"published": False}, {"title": "x"}, None),
        ({"published_at": "2026-01-01T00:00:00Z"}, {"published": True}, "2025-12-31T19:00:00-05:00"),
        ({"published_at": "2026-06-01T00:00:00Z"}, {"published": True}, "2026-03-02T07:00:00-05:00"),
        ({}, {"published_at": "2026-06-01 12:00 UTC"}, "2026-06-01T08:00:00-04:00"),
        ({}, {"published_at": None}, None),
        ({}, {"published": False, "published_at": "2026-06-01"}, None),
    ],
)
def test_publishing_follows_the_word_and_the_date(
    api: ApiClient, articles: str, before: JsonObject, change: JsonObject, expected_output: str | None
) -> None:
    article = post_article(api, articles, **before)

    assert put_article(api, articles, article, **change)["published_at"] == expected_output


def test_published_status_goes_by_the_clock(api: ApiClient, articles: str) -> None:
    now, ids = timezone.now(), partial(get_ids, api, articles)
    tomorrow = (now + timedelta(days=1)).isoformat()
    visible, hidden, later = (
        post_article(api, articles, **fields)["id"] for fields in ({}, {"published": False}, {"published_at": tomorrow})
    )

    assert ids() == ids(published_status="any") == [later, hidden, visible]
    assert ids(published_status="published") == [visible]
    assert ids(published_status="unpublished") == [later, hidden]
    assert ids(published_at_min=(now + timedelta(hours=1)).isoformat()) == [later]
    assert api.get(f"{articles}/count.json", published_status="published").json() == {"count": 1}
    assert api.get(f"{articles}.json", published_status="maybe").status_code == 400
    assert api.get(f"{articles}.json", published_at_min="soon").status_code == 400


def test_list_is_narrowed_by_author_handle_and_tag(api: ApiClient, articles: str) -> None:
    ids = partial(get_ids, api, articles)
    first = post_article(api, articles, title="First snow", author="Kim", tags="Bread, Snow")["id"]
    post_article(api, articles, author="Lou", tags="snowman")

    assert ids(author="Kim") == ids(handle="first-snow") == ids(tag="snow") == ids(tag="BREAD") == [first]
    assert ids(tag="snow", author="Lou") == []
    assert api.get(f"{articles}/count.json", tag="snow").json() == {"count": 1}


def test_author_links_the_staff_member(api: ApiClient, shop: Shop, other_shop: Shop, articles: str) -> None:
    member = make_member(shop, first_name="Ada", last_name="Berg")
    make_member(other_shop, first_name="Max", last_name="Fremd")

    linked = post_article(api, articles, author="Ada Berg")
    changes: list[Attrs] = [{"title": "y"}, {"author": "Max Fremd"}, {"author": ""}]
    shown = [linked, *(put_article(api, articles, linked, **change) for change in changes)]

    ada = ("Ada Berg", member.pk)
    assert [(row["author"], row["user_id"]) for row in shown] == [ada, ada, ("Max Fremd", None), ("Acme", None)]


def test_tags_are_trimmed_unique_sorted_and_bounded(api: ApiClient, articles: str) -> None:
    assert post_article(api, articles, tags=" b, A,a ,,b")["tags"].casefold() == "a, b"
    for text in (", ".join(f"t{number}" for number in range(251)), "a" * 256):
        assert api.post(f"{articles}.json", {"article": {"title": "x", "tags": text}}).status_code == 422
    # These letters become longer when their case is folded.
    for text in ("ß" * 255, "ΐ" * 255):
        article = post_article(api, articles, tags=text)
        assert get_ids(api, articles, tag=text) == [article["id"]]


def test_words_of_all_articles_are_listed_by_name_or_use(api: ApiClient, blog: JsonObject) -> None:
    other = make_blog(api, title="Other")
    make_article(api, blog["id"], author="Kim", tags="snow, bread")
    make_article(api, blog["id"], author="Ada", tags="snow")
    make_article(api, other["id"], author="Kim", tags="apple")

    assert api.get("articles/authors.json").json() == {"authors": ["Ada", "Kim"]}
    assert api.get("articles/tags.json").json() == {"tags": ["apple", "bread", "snow"]}
    assert api.get("articles/tags.json", popular=1, limit=1).json() == {"tags": ["snow"]}
    assert api.get(f"blogs/{blog['id']}/articles/tags.json").json() == {"tags": ["bread", "snow"]}
    assert api.get("articles/tags.json", limit=0).status_code == 400


def test_handles_are_unique_per_blog_only(api: ApiClient, blog: JsonObject) -> None:
    other = make_blog(api, title="Other")

    handles = [make_article(api, number)["handle"] for number in (blog["id"], blog["id"], other["id"])]

    assert handles == ["first-snow", "first-snow-1", "first-snow"]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"title": ""}, {"title": ["can't be blank"]}),
        ({"body_html": "x" * (512 * 1024 + 1)}, {"body_html": ["is too long (maximum is 512 KB)"]}),
        ({"body_html": "é" * (256 * 1024 + 1)}, {"body_html": ["is too long (maximum is 512 KB)"]}),
        ({"body_html": "<" * 10_001}, {"body_html": ["has too many tags (maximum is 10000)"]}),
        ({"summary_html": "<" * 10_001}, {"summary_html": ["has too many tags (maximum is 10000)"]}),
        ({"published_at": "soon"}, {"published_at": ["is invalid"]}),
        ({"published": "perhaps"}, {"published": ["is invalid"]}),
        ({"image": "logo.png"}, {"image": ["is invalid"]}),
        ({"image": {"attachment": "%%%"}}, {"image": ["attachment is not valid Base64"]}),
        ({"image": {"attachment": ""}}, {"image": ["attachment can't be blank"]}),
        ({"image": {"attachment": "data:image/png;base64,AA=="}},
         {"image": ["attachment must be plain Base64, without a data: prefix"]}),
        ({"image": {"attachment": "PHN2Zz48L3N2Zz4="}}, {"image": [WRONG_FORMAT]}),
        ({"image": {"attachment": "AAAA", "src": "https://x.example/a.png"}},
         {"image": ["cannot have both attachment and src"]}),
        ({"image": {"src": "http://169.254.169.254/a.png"}},
         {"image": ["Could not download image: address not allowed"]}),
        ({"image": {"alt": 5}}, {"image": ["alt is invalid"]}),
    ],
)  # fmt: skip
def test_invalid_articles_are_refused(
    api: ApiClient, shop: Shop, articles: str, fields: JsonObject, errors: object
) -> None:
    with shop_scope(shop):
        contents = FileContent.objects.count()

    response = api.post(f"{articles}.json", {"article": {"title": "x", **fields}})

    assert get_errors(response) == errors
    with shop_scope(shop):
        assert not Article.objects.exists()
        assert FileContent.objects.count() == contents
        assert not Event.objects.filter(topic__startswith="articles").exists()


def test_markup_at_the_limits_is_kept_byte_for_byte(api: ApiClient, articles: str) -> None:
    markup = "<div>" * 5000 + "<script>alert(1)</script>{{7*7}}" + "</div>" * 4998 + "ü" * 1000

    article = post_article(api, articles, body_html=markup)

    response = api.get(f"{articles}/{article['id']}.json")
    assert response.json()["article"]["body_html"] == markup
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_picture_is_stored_served_made_smaller_and_removed(api: ApiClient, articles: str) -> None:
    data = make_plain_image("PNG", (40, 30))
    body = {"attachment": base64.b64encode(data).decode(), "alt": "Snow", "filename": "First snow!.gif"}
    created = post_article(api, articles, image=body)
    image = created["image"]

    response = open_image(image["src"])
    smaller = open_image(image["src"].replace(".png", "_20x20.png"))
    missing = open_image(image["src"].replace(".png", "_20x20x20.png"))
    removed = put_article(api, articles, created, image="")

    assert (image["alt"], image["width"], image["height"]) == ("Snow", 40, 30)
    assert urlsplit(image["src"]).path.endswith("/First-snow.png")
    assert (response.status_code, response.content, response["Content-Type"]) == (200, data, "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    assert (smaller.status_code, int.from_bytes(smaller.content[16:20]), missing.status_code) == (200, 20, 404)
    assert ("image" in removed, open_image(image["src"]).status_code) == (False, 404)


def test_a_picture_is_fetched_from_its_source(api: ApiClient, articles: str, file_server: FileServer) -> None:
    src = file_server.offer("/pictures/snow%20man.png", make_plain_image("PNG", (8, 6)))

    image = post_article(api, articles, image={"src": src})["image"]

    assert (image["width"], image["alt"]) == (8, None)
    assert urlsplit(image["src"]).path.endswith("/snow-man.png")


def test_sending_an_article_back_whole_keeps_its_picture(api: ApiClient, articles: str) -> None:
    article = post_article(api, articles, image={"attachment": PICTURE, "alt": "Snow"})
    article["image"]["alt"] = "More snow"

    changed = put_article(api, articles, article, **article)

    assert changed == article | {"updated_at": changed["updated_at"]}


def test_article_of_another_blog_does_not_exist_here(api: ApiClient, blog: JsonObject) -> None:
    other = make_blog(api, title="Other")
    article = make_article(api, other["id"])
    path = f"blogs/{blog['id']}/articles/{article['id']}.json"

    body = {"article": {"title": "Mine", "image": {"attachment": PICTURE}}}

    assert [answer.status_code for answer in (api.get(path), api.put(path, body), api.delete(path))] == [404] * 3
    assert api.get(f"blogs/{other['id']}/articles/{article['id']}.json").json()["article"] == article
    assert api.get(f"blogs/{blog['id']}/articles.json").json() == {"articles": []}


def test_replaced_texts_are_limited(api: ApiClient, articles: str, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.content.domain.articles.MAX_VERSIONS", 2)
    article = post_article(api, articles, title="One")

    for title in ("One", "Two", "Three", "Four"):
        put_article(api, articles, article, title=title, tags=title)

    with shop_scope(shop):
        versions = ArticleVersion.objects.order_by("id")
        assert [version.title for version in versions] == ["Two", "Three"]
        assert versions[0].actor.startswith("app:")


def test_every_change_writes_one_event(api: ApiClient, shop: Shop, articles: str) -> None:
    article = post_article(api, articles)
    put_article(api, articles, article, title="y", published=False)
    api.delete(f"{articles}/{article['id']}.json")

    with shop_scope(shop):
        events = list(Event.objects.filter(subject_type="content.article").order_by("id"))
    assert [event.topic for event in events] == ["articles/create", "articles/update", "articles/delete"]
    assert events[1].changes["title"] == ["x", "y"]
    assert events[1].changes["published_at"][1] is None


def test_metafields_of_a_body_follow_the_article(api: ApiClient, shop: Shop, blog: JsonObject, articles: str) -> None:
    field = {"namespace": "reading", "key": "minutes", "value": "5", "type": "number_integer"}
    article = post_article(api, articles, metafields=[field])
    put_article(api, articles, article, metafields=[field | {"value": "7"}])
    api.put(f"blogs/{blog['id']}.json", {"blog": {"metafields": [field]}})

    of_article = api.get(f"articles/{article['id']}/metafields.json").json()["metafields"]
    of_blog = api.get(f"blogs/{blog['id']}/metafields.json").json()["metafields"]
    api.delete(f"blogs/{blog['id']}.json")

    assert "metafields" not in article
    assert [(row["key"], row["value"], row["owner_resource"]) for row in of_article] == [("minutes", 7, "article")]
    assert [row["owner_resource"] for row in of_blog] == ["blog"]
    with shop_scope(shop):
        assert not Metafield.objects.exists()


def test_a_metafield_that_does_not_fit_refuses_the_article(api: ApiClient, shop: Shop, articles: str) -> None:
    field = {"namespace": "n" * 21, "key": "k" * 31, "value": "5", "type": "number_integer"}

    response = api.post(f"{articles}.json", {"article": {"title": "x", "metafields": [field]}})

    assert get_errors(response).keys() == {"metafields.0.namespace", "metafields.0.key"}
    with shop_scope(shop):
        assert not Article.objects.exists()


def test_an_image_replaced_within_the_same_second_gets_another_url(api: ApiClient, articles: str) -> None:
    def of(colour: str) -> Attrs:
        data = encode_image(Image.new("RGB", (20, 20), colour), "PNG")
        return {"attachment": base64.b64encode(data).decode(), "filename": "snow.png"}

    with time_machine.travel(NOON, tick=False):
        article = post_article(api, articles, image=of("red"))
        replaced = put_article(api, articles, article, image=of("blue"))
    same = put_article(api, articles, article, image=replaced["image"])

    before, after = article["image"]["src"], replaced["image"]["src"]
    assert before.partition("?")[0] == after.partition("?")[0]
    assert before != after == same["image"]["src"]
    assert "max-age=31536000" in open_image(after)["Cache-Control"]
    assert "max-age=31536000" not in open_image(before)["Cache-Control"]


def test_deleting_a_blog_holds_few_texts_at_a_time(api: ApiClient, shop: Shop, articles: str) -> None:
    with shop_scope(shop):
        blog = Blog.objects.get(pk=int(articles.split("/")[1]))
        for number in range(8):
            attrs = {"title": f"t{number}", "body_html": "x" * 400_000, "tags": "a"}
            article = create_article(blog.pk, attrs, actor="system", at=timezone.now())
            update_article(article, {"body_html": "y" * 400_000}, actor="system", at=timezone.now())
        with CaptureQueriesContext(connection) as queries:
            delete_blog(blog, actor="system", at=timezone.now())

        texts = [query["sql"] for query in queries if query["sql"].startswith("SELECT") and "body_html" in query["sql"]]
        assert len(texts) <= 1, "the texts are read for their events, in pieces, and not again to be deleted"
        assert not Article.objects.exists()
        assert Event.objects.filter(topic="articles/delete").count() == 8
