"""Tests for blogs over REST."""

import pytest

from apps.content.models import Article, Blog
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import ApiClient
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits


def make_blog(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("blogs.json", {"blog": {"title": "Field notes", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["blog"]


def make_article(api: ApiClient, blog_id: object, **fields: object) -> JsonObject:
    response = api.post(f"blogs/{blog_id}/articles.json", {"article": {"title": "First snow", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["article"]


def test_every_route_answers_in_the_shape_that_clients_know(api: ApiClient) -> None:
    created = api.post("blogs.json", {"blog": {"title": "Field notes"}})
    path = f"blogs/{created.json()['blog']['id']}.json"

    assert_fits("blog", "POST /blogs.json", created.json())
    assert_fits("blog", "GET /blogs.json", api.get("blogs.json").json())
    assert_fits("blog", "GET /blogs/count.json", api.get("blogs/count.json").json())
    assert_fits("blog", "GET /blogs/{id}.json", api.get(path).json())
    assert_fits("blog", "PUT /blogs/{id}.json", api.put(path, {"blog": {"commentable": "moderate"}}).json())


def test_blog_shows_what_the_body_says_and_neutral_values_for_the_rest(api: ApiClient) -> None:
    blog = make_blog(api, commentable="yes", template_suffix="wide")

    assert blog | {"id": 0, "created_at": "", "updated_at": "", "admin_graphql_api_id": ""} == {
        "id": 0,
        "handle": "field-notes",
        "title": "Field notes",
        "updated_at": "",
        "commentable": "yes",
        "feedburner": None,
        "feedburner_location": None,
        "created_at": "",
        "template_suffix": "wide",
        "tags": "",
        "admin_graphql_api_id": "",
    }
    assert blog["admin_graphql_api_id"] == f"gid://platform/Blog/{blog['id']}"


def test_handles_are_numbered_if_taken_and_stay_when_the_title_changes(api: ApiClient) -> None:
    first, second, third = make_blog(api), make_blog(api), make_blog(api, title="Fïeld — NOTES!")
    renamed = api.put(f"blogs/{first['id']}.json", {"blog": {"title": "Other"}}).json()["blog"]

    assert [first["handle"], second["handle"], third["handle"]] == ["field-notes", "field-notes-1", "field-notes-2"]
    assert renamed["handle"] == "field-notes"
    assert make_blog(api, title="☃")["handle"] == "blog"


def test_a_handle_that_is_given_and_taken_is_refused(api: ApiClient) -> None:
    make_blog(api)
    other = make_blog(api, title="Other")

    answers = [
        api.post("blogs.json", {"blog": {"title": "New", "handle": "field-notes"}}),
        api.put(f"blogs/{other['id']}.json", {"blog": {"handle": "Field Notes"}}),
    ]

    assert [response.status_code for response in answers] == [422, 422]
    assert all(response.json() == {"errors": {"handle": ["has already been taken"]}} for response in answers)


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"title": ["can't be blank"]}),
        ({"title": ""}, {"title": ["can't be blank"]}),
        ({"title": "   "}, {"title": ["can't be blank"]}),
        ({"title": "a" * 256}, {"title": ["is too long (maximum is 255 characters)"]}),
        ({"title": "x", "commentable": "perhaps"}, {"commentable": ["is not included in the list"]}),
        ({"title": ["x"]}, {"title": ["is invalid"]}),
    ],
)
def test_create_refuses_what_does_not_fit(api: ApiClient, shop: Shop, body: object, errors: object) -> None:
    response = api.post("blogs.json", {"blog": body})

    assert (response.status_code, response.json()) == (422, {"errors": errors})
    with shop_scope(shop):
        assert not Blog.objects.exists()
        assert not Event.objects.filter(topic__startswith="blogs").exists()


def test_list_is_newest_first_and_takes_the_filters(api: ApiClient) -> None:
    first, second = make_blog(api), make_blog(api, title="Recipes")

    def ids(**query: object) -> list[object]:
        return [blog["id"] for blog in api.get("blogs.json", **query).json()["blogs"]]

    assert ids() == [second["id"], first["id"]]
    assert ids(handle="recipes") == [second["id"]]
    assert ids(since_id=first["id"]) == [second["id"]]
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
    assert between == "apple, winter"
    assert api.get(path).json()["blog"]["tags"] == "apple, winter"


def test_delete_takes_the_articles_along_and_records_each(api: ApiClient, shop: Shop) -> None:
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
