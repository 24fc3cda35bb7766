"""Tests for articles over REST: publishing, authors, tags, images."""

import base64
from datetime import UTC, datetime, timedelta
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
from tests.content.test_blogs import make_article, make_blog
from tests.support.api_client import ApiClient
from tests.support.factories import make_member
from tests.support.files.images import encode_image, make_plain_image
from tests.support.servers.files import FileServer
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def blog(api: ApiClient) -> JsonObject:
    return make_blog(api)


@pytest.fixture
def articles(blog: Attrs) -> str:
    return f"blogs/{blog['id']}/articles"


def create_image(width: int = 4, height: int = 3) -> str:
    return base64.b64encode(make_plain_image("PNG", (width, height))).decode()


def get_local_path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def test_wire_of_every_route(api: ApiClient, shop: Shop, blog: JsonObject, articles: str) -> None:
    make_member(shop, first_name="Ada", last_name="Berg")
    body = {
        "title": "First snow",
        "author": "Ada Berg",
        "tags": "winter, walks",
        "body_html": "<p>It snowed.</p>",
        "published_at": "2026-03-01T10:00:00+00:00",
        "image": {"attachment": create_image(), "alt": "Snow"},
    }

    created = api.post(f"{articles}.json", {"article": body})
    path = f"{articles}/{created.json()['article']['id']}.json"

    assert_fits("article", "POST /blogs/{id}/articles.json", created.json())
    assert_fits("article", "GET /blogs/{id}/articles.json", api.get(f"{articles}.json").json())
    assert_fits("article", "GET /blogs/{id}/articles/{id}.json", api.get(path).json())
    assert_fits("article", "PUT /blogs/{id}/articles/{id}.json", api.put(path, {"article": {"title": "Snow"}}).json())
    assert_fits("article", "GET /blogs/{id}/articles/count.json", api.get(f"{articles}/count.json").json())
    assert_fits("article", "GET /blogs/{id}/articles/tags.json", api.get(f"{articles}/tags.json").json())
    assert_fits("article", "GET /articles/tags.json", api.get("articles/tags.json").json())
    assert_fits("article", "GET /articles/authors.json", api.get("articles/authors.json").json())
    assert isinstance(created.json()["article"]["user_id"], int)


@time_machine.travel(NOON, tick=False)
def test_a_plain_article_is_published_now_by_the_shop_without_a_picture(api: ApiClient, articles: str) -> None:
    article = api.post(f"{articles}.json", {"article": {"title": "Hello"}}).json()["article"]

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
    article = api.post(f"{articles}.json", {"article": {"title": "Hello", **before}}).json()["article"]

    changed = api.put(f"{articles}/{article['id']}.json", {"article": change}).json()["article"]

    assert changed["published_at"] == expected_output


def test_published_status_goes_by_the_clock(api: ApiClient, blog: JsonObject, articles: str) -> None:
    now = timezone.now()
    visible = make_article(api, blog["id"])
    hidden_article = make_article(api, blog["id"], published=False)
    later = make_article(api, blog["id"], published_at=(now + timedelta(days=1)).isoformat())

    def ids(**query: object) -> list[object]:
        return [article["id"] for article in api.get(f"{articles}.json", **query).json()["articles"]]

    assert ids() == ids(published_status="any") == [later["id"], hidden_article["id"], visible["id"]]
    assert ids(published_status="published") == [visible["id"]]
    assert ids(published_status="unpublished") == [later["id"], hidden_article["id"]]
    assert ids(published_at_min=(now + timedelta(hours=1)).isoformat()) == [later["id"]]
    assert api.get(f"{articles}/count.json", published_status="published").json() == {"count": 1}
    assert api.get(f"{articles}.json", published_status="maybe").status_code == 400
    assert api.get(f"{articles}.json", published_at_min="soon").status_code == 400


def test_list_is_narrowed_by_author_handle_and_tag(api: ApiClient, blog: JsonObject, articles: str) -> None:
    first_article = make_article(api, blog["id"], author="Kim", tags="Bread, Snow")
    make_article(api, blog["id"], author="Lou", tags="snowman")

    def ids(**query: object) -> list[object]:
        return [article["id"] for article in api.get(f"{articles}.json", **query).json()["articles"]]

    assert ids(author="Kim") == ids(handle="first-snow") == ids(tag="snow") == ids(tag="BREAD") == [first_article["id"]]
    assert ids(tag="snow", author="Lou") == []
    assert api.get(f"{articles}/count.json", tag="snow").json() == {"count": 1}


def test_author_links_the_staff_member(api: ApiClient, shop: Shop, other_shop: Shop, articles: str) -> None:
    member = make_member(shop, first_name="Ada", last_name="Berg")
    make_member(other_shop, first_name="Max", last_name="Fremd")
    path = f"{articles}/%s.json"

    linked = api.post(f"{articles}.json", {"article": {"title": "x", "author": "Ada Berg"}}).json()["article"]
    article = api.put(path % linked["id"], {"article": {"title": "y"}}).json()["article"]
    stranger = api.put(path % linked["id"], {"article": {"author": "Max Fremd"}}).json()["article"]
    back = api.put(path % linked["id"], {"article": {"author": ""}}).json()["article"]

    assert linked["user_id"] == article["user_id"] == member.pk
    assert (stranger["author"], stranger["user_id"]) == ("Max Fremd", None)
    assert (back["author"], back["user_id"]) == ("Acme", None)


def test_tags_are_trimmed_unique_sorted_and_bounded(api: ApiClient, articles: str) -> None:
    article = api.post(f"{articles}.json", {"article": {"title": "x", "tags": " b, A,a ,,b"}}).json()["article"]
    many_text = ", ".join(f"t{number}" for number in range(251))

    assert article["tags"].casefold() == "a, b"
    assert api.post(f"{articles}.json", {"article": {"title": "x", "tags": many_text}}).status_code == 422
    assert api.post(f"{articles}.json", {"article": {"title": "x", "tags": "a" * 256}}).status_code == 422


@pytest.mark.parametrize("letter", "ßΐ")
def test_tags_may_grow_when_their_case_is_folded(api: ApiClient, articles: str, letter: str) -> None:
    text = letter * 255
    response = api.post(f"{articles}.json", {"article": {"title": "Long", "tags": text}})

    assert response.status_code == 201, response.content
    matching_articles = api.get(f"{articles}.json", tag=text).json()["articles"]
    assert [row["id"] for row in matching_articles] == [response.json()["article"]["id"]]


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
        ({"image": {"attachment": "PHN2Zz48L3N2Zz4="}}, {"image": ["is invalid"]}),
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

    assert (response.status_code, response.json()) == (422, {"errors": errors})
    with shop_scope(shop):
        assert not Article.objects.exists()
        assert FileContent.objects.count() == contents
        assert not Event.objects.filter(topic__startswith="articles").exists()


def test_markup_at_the_limits_is_kept_byte_for_byte(api: ApiClient, articles: str) -> None:
    markup = "<div>" * 5000 + "<script>alert(1)</script>{{7*7}}" + "</div>" * 4998 + "ü" * 1000

    article = api.post(f"{articles}.json", {"article": {"title": "x", "body_html": markup}}).json()["article"]

    response = api.get(f"{articles}/{article['id']}.json")
    assert response.json()["article"]["body_html"] == markup
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_picture_is_stored_served_made_smaller_and_removed(api: ApiClient, articles: str) -> None:
    data = make_plain_image("PNG", (40, 30))
    body = {"attachment": base64.b64encode(data).decode(), "alt": "Snow", "filename": "First snow!.gif"}
    created = api.post(f"{articles}.json", {"article": {"title": "x", "image": body}}).json()["article"]
    image = created["image"]

    response = Client().get(get_local_path(image["src"]))
    smaller = Client().get(get_local_path(image["src"].replace(".png", "_20x20.png")))
    missing = Client().get(get_local_path(image["src"].replace(".png", "_20x20x20.png")))
    removed = api.put(f"{articles}/{created['id']}.json", {"article": {"image": ""}}).json()["article"]

    assert (image["alt"], image["width"], image["height"]) == ("Snow", 40, 30)
    assert urlsplit(image["src"]).path.endswith("/First-snow.png")
    assert (response.status_code, response.content, response["Content-Type"]) == (200, data, "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    assert smaller.status_code == 200
    assert int.from_bytes(smaller.content[16:20]) == 20
    assert missing.status_code == 404
    assert "image" not in removed
    assert Client().get(get_local_path(image["src"])).status_code == 404


def test_a_picture_is_fetched_from_its_source(api: ApiClient, articles: str, file_server: FileServer) -> None:
    src = file_server.offer("/pictures/snow%20man.png", make_plain_image("PNG", (8, 6)))

    article = api.post(f"{articles}.json", {"article": {"title": "x", "image": {"src": src}}}).json()["article"]

    assert (article["image"]["width"], article["image"]["alt"]) == (8, None)
    assert urlsplit(article["image"]["src"]).path.endswith("/snow-man.png")


def test_sending_an_article_back_whole_keeps_its_picture(api: ApiClient, articles: str) -> None:
    body = {"title": "x", "image": {"attachment": create_image(), "alt": "Snow"}}
    article = api.post(f"{articles}.json", {"article": body}).json()["article"]
    article["image"]["alt"] = "More snow"

    answered = api.put(f"{articles}/{article['id']}.json", {"article": article})

    assert answered.status_code == 200, answered.content
    assert answered.json()["article"] == article | {"updated_at": answered.json()["article"]["updated_at"]}


def test_article_of_another_blog_does_not_exist_here(api: ApiClient, blog: JsonObject) -> None:
    other = make_blog(api, title="Other")
    article = make_article(api, other["id"])
    path = f"blogs/{blog['id']}/articles/{article['id']}.json"

    answers = [
        api.get(path),
        api.put(path, {"article": {"title": "Mine", "image": {"attachment": create_image()}}}),
        api.delete(path),
    ]

    assert [response.status_code for response in answers] == [404, 404, 404]
    assert api.get(f"blogs/{other['id']}/articles/{article['id']}.json").json()["article"] == article
    assert api.get(f"blogs/{blog['id']}/articles.json").json() == {"articles": []}


def test_replaced_texts_are_limited(api: ApiClient, articles: str, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.content.domain.articles.MAX_VERSIONS", 2)
    article = api.post(f"{articles}.json", {"article": {"title": "One"}}).json()["article"]

    for title in ("One", "Two", "Three", "Four"):
        api.put(f"{articles}/{article['id']}.json", {"article": {"title": title, "tags": title}})

    with shop_scope(shop):
        versions = ArticleVersion.objects.order_by("id")
        assert [version.title for version in versions] == ["Two", "Three"]
        assert versions[0].actor.startswith("app:")


def test_every_change_writes_one_event(api: ApiClient, shop: Shop, articles: str) -> None:
    article = api.post(f"{articles}.json", {"article": {"title": "x"}}).json()["article"]
    path = f"{articles}/{article['id']}.json"
    api.put(path, {"article": {"title": "y", "published": False}})
    api.delete(path)

    with shop_scope(shop):
        events = list(Event.objects.filter(subject_type="content.article").order_by("id"))
    assert [event.topic for event in events] == ["articles/create", "articles/update", "articles/delete"]
    assert events[1].changes["title"] == ["x", "y"]
    assert events[1].changes["published_at"][1] is None


def test_metafields_of_a_body_follow_the_article(api: ApiClient, shop: Shop, blog: JsonObject, articles: str) -> None:
    field = {"namespace": "reading", "key": "minutes", "value": "5", "type": "number_integer"}
    article = api.post(f"{articles}.json", {"article": {"title": "x", "metafields": [field]}}).json()["article"]
    api.put(f"{articles}/{article['id']}.json", {"article": {"metafields": [field | {"value": "7"}]}})
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

    assert response.status_code == 422
    assert response.json()["errors"].keys() == {"metafields.0.namespace", "metafields.0.key"}
    with shop_scope(shop):
        assert not Article.objects.exists()


def test_an_image_replaced_within_the_same_second_gets_another_url(api: ApiClient, articles: str) -> None:
    def of(colour: str) -> Attrs:
        data = encode_image(Image.new("RGB", (20, 20), colour), "PNG")
        return {"attachment": base64.b64encode(data).decode(), "filename": "snow.png"}

    with time_machine.travel(NOON, tick=False):
        article = api.post(f"{articles}.json", {"article": {"title": "x", "image": of("red")}}).json()["article"]
        replaced = api.put(f"{articles}/{article['id']}.json", {"article": {"image": of("blue")}}).json()["article"]
    same = api.put(f"{articles}/{article['id']}.json", {"article": {"image": replaced["image"]}}).json()["article"]

    before, after = article["image"]["src"], replaced["image"]["src"]
    assert before.partition("?")[0] == after.partition("?")[0]
    assert before != after == same["image"]["src"]
    assert "max-age=31536000" in Client().get(get_local_path(after))["Cache-Control"]
    assert "max-age=31536000" not in Client().get(get_local_path(before))["Cache-Control"]


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
