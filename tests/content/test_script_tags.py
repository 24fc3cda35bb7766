"""Tests for script tags over REST: access, validation, paging, events, deletion with the app."""

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.content.models import ScriptTag
from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.shops.domain import app_installation
from apps.shops.models import Shop
from tests.conftest import ApiClient, ClientWith
from tests.factories import ScriptTagFactory

SRC = "https://scripts.example/a.js"


def create_script_tag(api: ApiClient, **fields: object) -> dict[str, Any]:
    response = api.post("script_tags.json", {"script_tag": {"src": SRC, "event": "onload", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["script_tag"]


def test_create_answers_the_whole_tag_and_where_it_is(api: ApiClient) -> None:
    response = api.post("script_tags.json", {"script_tag": {"src": SRC, "event": "onload", "cache": True}})

    tag = response.json()["script_tag"]
    assert response.status_code == 201
    assert response["Location"].endswith(f"/admin/api/2026-07/script_tags/{tag['id']}.json")
    assert tag | {"id": 0, "created_at": "", "updated_at": ""} == {
        "id": 0,
        "src": SRC,
        "event": "onload",
        "created_at": "",
        "updated_at": "",
        "display_scope": "online_store",
        "cache": True,
    }


def test_create_with_nothing_names_all_that_is_missing(api: ApiClient) -> None:
    response = api.post("script_tags.json", {"script_tag": {}})

    assert response.status_code == 422
    assert response.json() == {
        "errors": {"src": ["can't be blank", "must be secure (HTTPS)"], "event": ["can't be blank", "is invalid"]}
    }


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("src", "http://scripts.example/a.js", "must be secure (HTTPS)"),
        ("src", "no url", "is invalid"),
        ("src", "https://scripts.example/" + "a" * 2025, "is too long (maximum is 2048 characters)"),
        ("src", {"a": 1}, "is invalid"),
        ("event", "onclick", "is invalid"),
        ("display_scope", "nowhere", "is not included in the list"),
        ("cache", 2, "is invalid"),
    ],
)
def test_create_refuses_what_does_not_fit(api: ApiClient, shop: Shop, field: str, value: object, message: str) -> None:
    body = {"src": SRC, "event": "onload", field: value}

    response = api.post("script_tags.json", {"script_tag": body})

    assert response.status_code == 422
    assert message in response.json()["errors"][field]
    with shop_scope(shop):
        assert not ScriptTag.objects.exists()
        assert not Event.objects.filter(topic__startswith="script_tags").exists()


def test_update_changes_what_the_body_names_and_nothing_else(api: ApiClient) -> None:
    tag = create_script_tag(api, display_scope="all")

    response = api.put(f"script_tags/{tag['id']}.json", {"script_tag": {"id": 1, "cache": True, "created_at": "x"}})

    changed = response.json()["script_tag"]
    assert response.status_code == 200
    assert changed | {"updated_at": tag["updated_at"]} == tag | {"cache": True}


def test_delete_removes_the_tag(api: ApiClient) -> None:
    tag = create_script_tag(api)

    response = api.delete(f"script_tags/{tag['id']}.json")

    assert (response.status_code, response.json()) == (200, {})
    assert api.get(f"script_tags/{tag['id']}.json").status_code == 404


def test_tags_of_another_app_do_not_exist(api: ApiClient, client_with: ClientWith) -> None:
    tag = create_script_tag(api)
    stranger = client_with("write_script_tags")

    path = f"script_tags/{tag['id']}.json"
    answers = [stranger.get(path), stranger.put(path, {"script_tag": {"cache": True}}), stranger.delete(path)]

    assert [response.status_code for response in answers] == [404, 404, 404]
    assert stranger.get("script_tags.json").json() == {"script_tags": []}
    assert stranger.get("script_tags/count.json").json() == {"count": 0}
    assert api.get(path).json()["script_tag"] == tag


def test_list_and_count_take_the_filters(api: ApiClient) -> None:
    first = create_script_tag(api)
    create_script_tag(api, src="https://scripts.example/b.js")

    script_tags = api.get("script_tags.json", src=SRC).json()["script_tags"]

    assert [tag["id"] for tag in script_tags] == [first["id"]]
    assert api.get("script_tags/count.json", src=SRC).json() == {"count": 1}
    assert api.get("script_tags/count.json").json() == {"count": 2}


def test_count_is_deprecated_and_says_why(api: ApiClient) -> None:
    response = api.get("script_tags/count.json")

    assert "deprecations/#script-tag-count" in response["X-Platform-API-Deprecated-Reason"]
    assert "X-Platform-API-Deprecated-Reason" not in api.get("script_tags.json")


def test_uninstall_removes_the_tags_and_records_it(api: ApiClient, shop: Shop, client_with: ClientWith) -> None:
    create_script_tag(api)
    keeper = client_with("write_script_tags")
    script_tag = create_script_tag(keeper)

    app_installation.uninstall_app(api.installation, actor="staff:1", at=timezone.now())

    with shop_scope(shop):
        assert list(ScriptTag.objects.values_list("id", flat=True)) == [script_tag["id"]]
        topics = list(Event.objects.order_by("id").values_list("topic", flat=True))
    # The uninstallation is recorded first, so that the app can still receive this event.
    assert topics[-2:] == ["app/uninstalled", "script_tags/delete"]


def test_every_change_writes_one_event(api: ApiClient, shop: Shop) -> None:
    tag = create_script_tag(api)
    api.put(f"script_tags/{tag['id']}.json", {"script_tag": {"cache": True}})
    api.delete(f"script_tags/{tag['id']}.json")

    with shop_scope(shop):
        events = list(Event.objects.filter(subject_type="content.scripttag").order_by("id"))
    assert [event.topic for event in events] == ["script_tags/create", "script_tags/update", "script_tags/delete"]
    assert {event.actor for event in events} == {f"app:{api.installation.app_id}"}
    assert events[1].changes == {"cache": [False, True]}
    assert all(event.request_id and event.payload is None for event in events)


@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_the_same_queries_however_many_rows(
    api: ApiClient, shop: Shop, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ScriptTagFactory.create_batch(count, shop=shop, app=api.installation.app)
    api.get("shop.json")

    with django_assert_num_queries(4):  # Queries: token, range end, page, rows.
        response = api.get("script_tags.json")

    assert len(response.json()["script_tags"]) == count
