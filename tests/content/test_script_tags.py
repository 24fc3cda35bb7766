"""Tests of script tags: REST, the loader, and copies of scripts."""

import json
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from apps.content.domain import assets, blob_store, script_tags
from apps.content.models import ScriptCopy, ScriptTag, Theme
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain import app_installation
from tests.support.api_client import ApiClient, ClientWith
from tests.support.factories import ScriptTagFactory
from tests.support.servers.files import FileServer
from tests.support.types import JsonObject

SRC = "https://scripts.example/a.js"


def create_script_tag(api: ApiClient, **fields: object) -> JsonObject:
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


LOADER = "/storefront/acme.example/scripts.js"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def get_sources(**query: str) -> list[str]:
    response = Client().get(LOADER, query)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/javascript; charset=utf-8"
    match = re.search(r"var sources = (\[.*?\]);", response.content.decode(), re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def make_tag(api: ApiClient, shop: Shop, src: str, **fields: object) -> ScriptTag:
    with shop_scope(shop):
        return ScriptTagFactory.create(shop=shop, app=api.installation.app, src=src, **fields)


def test_the_loader_lists_the_tags_of_its_scope_in_order(api: ApiClient, shop: Shop) -> None:
    make_tag(api, shop, "https://s.example/2.js", display_scope="all")
    make_tag(api, shop, "https://s.example/1.js")
    make_tag(api, shop, "https://s.example/3.js", display_scope="order_status")

    assert get_sources() == ["https://s.example/2.js", "https://s.example/1.js"]
    assert get_sources(scope="online_store") == get_sources()
    assert get_sources(scope="order_status") == ["https://s.example/2.js", "https://s.example/3.js"]
    assert Client().get(LOADER, {"scope": "elsewhere"}).status_code == 400
    assert Client().get("/storefront/nobody.example/scripts.js").status_code == 404
    assert Client().post(LOADER).status_code == 405


def test_the_loader_is_not_sent_again_while_it_stays_the_same(api: ApiClient, shop: Shop) -> None:
    make_tag(api, shop, "https://s.example/1.js")
    first = Client().get(LOADER)

    same = Client().get(LOADER, headers={"If-None-Match": first["ETag"]})
    make_tag(api, shop, "https://s.example/2.js")
    other = Client().get(LOADER, headers={"If-None-Match": first["ETag"]})

    assert (same.status_code, same.content) == (304, b"")
    assert other.status_code == 200
    assert "max-age=60" in first["Cache-Control"]


def test_a_source_cannot_break_out_of_the_loader(api: ApiClient, shop: Shop) -> None:
    src = 'https://s.example/</script><script>alert("1")</script>'
    make_tag(api, shop, src)

    assert get_sources() == [src]
    assert b"</script>" not in Client().get(LOADER).content


def test_script_tags_load_only_while_the_theme_is_vintage(api: ApiClient, shop: Shop) -> None:
    make_tag(api, shop, "https://s.example/1.js")
    with shop_scope(shop):
        main = Theme.objects.get(role="main")
        assets.save_asset(
            main, "templates/index.json", blob_store.store_blob(b"{}"), actor="staff:1", at=timezone.now()
        )
    with_json = get_sources()
    with shop_scope(shop):
        assets.delete_asset(main, "templates/index.json", actor="staff:1", at=timezone.now())

    assert with_json == []
    assert get_sources() == ["https://s.example/1.js"]


@pytest.fixture
def tag(api: ApiClient, shop: Shop, secure_file_server: FileServer) -> ScriptTag:
    """Create a tag with a stored copy of its script."""
    return make_tag(api, shop, secure_file_server.offer("/a.js", b"first()"), cache=True)


def read_script(shop: Shop, tag: ScriptTag, minutes: float = 0) -> bytes:
    with shop_scope(shop):
        return script_tags.get_cached_script(ScriptTag.objects.get(pk=tag.pk), at=NOON + timedelta(minutes=minutes))


def test_a_cached_script_is_served_by_us(api: ApiClient, tag: ScriptTag) -> None:
    (source,) = get_sources()

    served = Client().get(urlsplit(source).path)

    assert urlsplit(source).path == f"/storefront/acme.example/scripts/{tag.pk}.js"
    assert (served.status_code, served.content) == (200, b"first()")
    assert served["Content-Type"] == "application/javascript; charset=utf-8"
    assert served["X-Content-Type-Options"] == "nosniff"


def test_a_copy_is_fresh_for_15_minutes(shop: Shop, tag: ScriptTag, secure_file_server: FileServer) -> None:
    read_script(shop, tag)
    secure_file_server.files["/a.js"] = b"second()"

    assert read_script(shop, tag, minutes=14.9) == b"first()"
    assert len(secure_file_server.requests) == 1
    assert read_script(shop, tag, minutes=15) == b"second()"
    assert len(secure_file_server.requests) == 2


def test_the_last_good_copy_is_served_meanwhile(shop: Shop, tag: ScriptTag, secure_file_server: FileServer) -> None:
    read_script(shop, tag)
    secure_file_server.status = 500

    assert read_script(shop, tag, minutes=20) == b"first()"
    assert read_script(shop, tag, minutes=20.1) == b"first()"
    assert len(secure_file_server.requests) == 2
    secure_file_server.status = 200
    secure_file_server.files["/a.js"] = b"back()"
    assert read_script(shop, tag, minutes=21) == b"back()"


def test_a_script_without_any_copy_is_unavailable(shop: Shop, tag: ScriptTag, secure_file_server: FileServer) -> None:
    secure_file_server.status = 500

    response = Client().get(f"/storefront/acme.example/scripts/{tag.pk}.js")

    assert (response.status_code, response["Retry-After"]) == (503, "30")


def test_a_changed_tag_never_serves_the_old_script(shop: Shop, tag: ScriptTag, secure_file_server: FileServer) -> None:
    read_script(shop, tag)
    with shop_scope(shop):
        ScriptTag.objects.filter(pk=tag.pk).update(src=secure_file_server.offer("/b.js", b"other()"))

    assert read_script(shop, tag, minutes=1) == b"other()"


def test_scripts_that_ask_for_no_copy_are_not_served(api: ApiClient, shop: Shop) -> None:
    tag = make_tag(api, shop, "https://s.example/1.js")

    assert Client().get(f"/storefront/acme.example/scripts/{tag.pk}.js").status_code == 404


def test_a_tag_takes_its_copy_along(shop: Shop, tag: ScriptTag) -> None:
    read_script(shop, tag)
    with shop_scope(shop):
        ScriptTag.objects.get(pk=tag.pk).delete()

        assert not ScriptCopy.objects.exists()
