"""Tests for script tags on storefront pages: the loader and the stored copies of scripts."""

import json
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from apps.content.domain import assets, blob_store, script_loader
from apps.content.models import ScriptCopy, ScriptTag, Theme
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.conftest import ApiClient
from tests.content.conftest import FileServer
from tests.factories import ScriptTagFactory

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
        return script_loader.get_cached_script(ScriptTag.objects.get(pk=tag.pk), at=NOON + timedelta(minutes=minutes))


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


def test_the_last_good_copy_is_served_while_the_origin_is_down(
    shop: Shop, tag: ScriptTag, secure_file_server: FileServer
) -> None:
    read_script(shop, tag)
    secure_file_server.status = 500

    assert read_script(shop, tag, minutes=20) == b"first()"
    assert read_script(shop, tag, minutes=20.1) == b"first()"
    assert len(secure_file_server.requests) == 2
    secure_file_server.status = 200
    secure_file_server.files["/a.js"] = b"back()"
    assert read_script(shop, tag, minutes=21) == b"back()"


def test_without_any_copy_the_script_is_unavailable(shop: Shop, tag: ScriptTag, secure_file_server: FileServer) -> None:
    secure_file_server.status = 500

    response = Client().get(f"/storefront/acme.example/scripts/{tag.pk}.js")

    assert (response.status_code, response["Retry-After"]) == (503, "30")


def test_a_tag_that_moves_on_never_serves_the_old_script(
    shop: Shop, tag: ScriptTag, secure_file_server: FileServer
) -> None:
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
