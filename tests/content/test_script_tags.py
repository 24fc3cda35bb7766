import json
import re
from collections.abc import Callable
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
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.factories import ScriptTagFactory
from tests.support.servers.files import FileServer
from tests.support.types import JsonObject

Read = Callable[[float], bytes]
SRC = "https://scripts.example/a.js"


def create_script_tag(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("script_tags.json", {"script_tag": {"src": SRC, "event": "onload", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["script_tag"]


def test_create_answers_the_whole_tag_and_where_it_is(api: ApiClient) -> None:
    response = api.post("script_tags.json", {"script_tag": {"src": SRC, "event": "onload", "cache": True}})

    tag = response.json()["script_tag"]
    assert response.status_code == 201
    assert response["Location"].endswith(f"/admin/api/2026-10/script_tags/{tag['id']}.json")
    assert tag == {
        **{name: tag[name] for name in ("id", "created_at", "updated_at")},
        "src": SRC,
        "event": "onload",
        "display_scope": "online_store",
        "cache": True,
    }


def test_create_with_nothing_names_all_that_is_missing(api: ApiClient) -> None:
    errors = {"src": ["can't be blank", "must be secure (HTTPS)"], "event": ["can't be blank", "is invalid"]}
    assert get_errors(api.post("script_tags.json", {"script_tag": {}})) == errors


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
    response = api.post("script_tags.json", {"script_tag": {"src": SRC, "event": "onload", field: value}})

    assert message in get_errors(response)[field]
    with shop_scope(shop):
        assert not ScriptTag.objects.exists()
        assert not Event.objects.filter(topic__startswith="script_tags").exists()


def test_update_changes_what_the_body_names_and_nothing_else(api: ApiClient) -> None:
    tag = create_script_tag(api, display_scope="all")

    response = api.put(f"script_tags/{tag['id']}.json", {"script_tag": {"id": 1, "cache": True, "created_at": "x"}})

    changed = response.json()["script_tag"]
    assert (response.status_code, changed) == (200, tag | {"cache": True, "updated_at": changed["updated_at"]})


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

    assert api.get("script_tags.json", src=SRC).json() == {"script_tags": [first]}
    assert api.get("script_tags/count.json", src=SRC).json() == {"count": 1}
    assert api.get("script_tags/count.json").json() == {"count": 2}


def test_count_is_deprecated_and_says_why(api: ApiClient) -> None:
    header = "X-Platform-API-Deprecated-Reason"
    assert "deprecations/#script-tag-count" in api.get("script_tags/count.json")[header]
    assert header not in api.get("script_tags.json")


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
    deleted = api.delete(f"script_tags/{tag['id']}.json")

    assert (deleted.status_code, deleted.json()) == (200, {})
    assert api.get(f"script_tags/{tag['id']}.json").status_code == 404
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
    assert (response.status_code, response["Content-Type"]) == (200, "application/javascript; charset=utf-8")
    match = re.search(r"var sources = (\[.*?\]);", response.content.decode(), re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def make_tag(api: ApiClient, shop: Shop, src: str, **fields: object) -> ScriptTag:
    with shop_scope(shop):
        return ScriptTagFactory.create(shop=shop, app=api.installation.app, src=src, **fields)


def test_the_loader_lists_the_tags_of_its_scope_in_order(api: ApiClient, shop: Shop) -> None:
    two, one, three = (f"https://s.example/{number}.js" for number in (2, 1, 3))
    for src, scope in ((two, "all"), (one, "online_store"), (three, "order_status")):
        make_tag(api, shop, src, display_scope=scope)

    assert get_sources() == get_sources(scope="online_store") == [two, one]
    assert get_sources(scope="order_status") == [two, three]
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
        main, content = Theme.objects.get(role="main"), blob_store.store_blob(b"{}")
        assets.save_asset(main, "templates/index.json", content, actor="staff:1", at=timezone.now())
    with_json = get_sources()
    with shop_scope(shop):
        assets.delete_asset(main, "templates/index.json", actor="staff:1", at=timezone.now())

    assert with_json == []
    assert get_sources() == ["https://s.example/1.js"]


@pytest.fixture
def tag(api: ApiClient, shop: Shop, secure_file_server: FileServer) -> ScriptTag:
    return make_tag(api, shop, secure_file_server.offer("/a.js", b"first()"), cache=True)


@pytest.fixture
def read(shop: Shop, tag: ScriptTag) -> Read:
    """Return a function that returns the script as it is served the given number of minutes after noon."""

    def read_script(minutes: float) -> bytes:
        with shop_scope(shop):
            return script_tags.get_cached_script(ScriptTag.objects.get(pk=tag.pk), at=NOON + timedelta(minutes=minutes))

    return read_script


def test_a_cached_script_is_served_by_us(tag: ScriptTag) -> None:
    (source,) = get_sources()

    served = Client().get(urlsplit(source).path)

    assert urlsplit(source).path == f"/storefront/acme.example/scripts/{tag.pk}.js"
    assert (served.status_code, served.content) == (200, b"first()")
    assert served["Content-Type"] == "application/javascript; charset=utf-8"
    assert served["X-Content-Type-Options"] == "nosniff"


def test_a_copy_is_fresh_for_15_minutes(read: Read, secure_file_server: FileServer) -> None:
    read(0)
    secure_file_server.files["/a.js"] = b"second()"

    assert (read(14.9), len(secure_file_server.requests)) == (b"first()", 1)
    assert (read(15), len(secure_file_server.requests)) == (b"second()", 2)


def test_a_copy_made_by_a_fast_clock_is_not_served_for_longer(read: Read, secure_file_server: FileServer) -> None:
    read(60)
    secure_file_server.files["/a.js"] = b"second()"

    assert (read(0), len(secure_file_server.requests)) == (b"second()", 2)


def test_the_last_good_copy_is_served_meanwhile(read: Read, secure_file_server: FileServer) -> None:
    read(0)
    secure_file_server.status = 500

    assert (read(20), read(20.1), len(secure_file_server.requests)) == (b"first()", b"first()", 2)
    secure_file_server.status = 200
    secure_file_server.files["/a.js"] = b"back()"
    assert read(21) == b"back()"


def test_a_script_without_any_copy_is_unavailable(tag: ScriptTag, secure_file_server: FileServer) -> None:
    secure_file_server.status = 500

    response = Client().get(f"/storefront/acme.example/scripts/{tag.pk}.js")

    assert (response.status_code, response["Retry-After"]) == (503, "30")


def test_a_changed_tag_never_serves_the_old_script(
    shop: Shop, tag: ScriptTag, read: Read, secure_file_server: FileServer
) -> None:
    read(0)
    with shop_scope(shop):
        ScriptTag.objects.filter(pk=tag.pk).update(src=secure_file_server.offer("/b.js", b"other()"))

    assert read(1) == b"other()"


def test_scripts_that_ask_for_no_copy_are_not_served(api: ApiClient, shop: Shop) -> None:
    tag = make_tag(api, shop, "https://s.example/1.js")

    assert Client().get(f"/storefront/acme.example/scripts/{tag.pk}.js").status_code == 404


def test_a_tag_takes_its_copy_along(shop: Shop, tag: ScriptTag, read: Read) -> None:
    read(0)
    with shop_scope(shop):
        ScriptTag.objects.get(pk=tag.pk).delete()

        assert not ScriptCopy.objects.exists()
