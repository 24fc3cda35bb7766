"""Cached rendered objects are bounded and never stale, and conditional requests match by entity tag."""

import gc
import os
import subprocess
import sys
import tracemalloc
import weakref

import orjson
import pytest

from apps.content.api.script_tags import ScriptTagSerializer
from apps.content.models import ScriptTag
from apps.core.rest.reading import render_cache
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.reading.render_cache import RenderCache
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from tests.support.api_client import ApiClient
from tests.support.factories import ScriptTagFactory


@pytest.fixture
def tag(api: ApiClient, shop: Shop) -> ScriptTag:
    return ScriptTagFactory.create(shop=shop, app=api.installation.app)


@pytest.fixture
def path(tag: ScriptTag) -> str:
    return f"script_tags/{tag.pk}.json"


def test_a_change_through_any_face_is_seen_at_once(api: ApiClient, shop: Shop, tag: ScriptTag, path: str) -> None:
    assert api.get(path).json()["script_tag"]["cache"] is False

    with shop_scope(shop):
        ScriptTag.objects.filter(pk=tag.pk).update(cache=True)
    by_update = api.get(path).json()["script_tag"]["cache"]
    tag.cache = False
    tag.save(update_fields=["cache"])
    by_save = api.get(path).json()["script_tag"]["cache"]

    assert (by_update, by_save) == (True, False)


def test_the_shops_time_zone_is_part_of_what_is_kept(api: ApiClient, shop: Shop, path: str) -> None:
    before = api.get(path).json()["script_tag"]["created_at"]

    with all_shops_scope():
        Shop.objects.filter(pk=shop.pk).update(timezone="Asia/Tokyo")
    after = api.get(path).json()["script_tag"]["created_at"]

    assert before[-6:] in {"-05:00", "-04:00"}
    assert after.endswith("+09:00")


def test_a_known_tag_is_304_until_something_changes(api: ApiClient, tag: ScriptTag, path: str) -> None:
    for url in (api.path(path), api.path("script_tags.json")):
        etag = api.get(url)["ETag"]
        response = api.http.get(url, headers={"If-None-Match": etag})
        tag.save()
        changed = api.http.get(url, headers={"If-None-Match": etag})

        assert (response.status_code, response.content) == (304, b"")
        assert changed.status_code == 200
        assert changed["ETag"] != etag


def test_a_tag_is_known_in_every_form_in_which_clients_send_it(api: ApiClient, path: str) -> None:
    etag = api.get(path)["ETag"]

    for header in (etag, etag.removeprefix("W/"), f'"other", {etag}', f'{etag},"other"'):
        response = api.http.get(api.path(path), headers={"If-None-Match": header})
        assert response.status_code == 304, header
        assert response["Content-Type"] == "application/json; charset=utf-8"
        assert "Content-Length" not in response
    assert api.http.get(api.path(path), headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_tag_depends_on_the_fields_and_not_on_their_order(api: ApiClient, path: str) -> None:
    assert api.get(path, fields="id,src")["ETag"] == api.get(path, fields="src,id")["ETag"]
    assert api.get(path, fields="id,src")["ETag"] != api.get(path, fields="id")["ETag"]


def test_a_tag_is_the_same_in_every_process() -> None:
    """Compare tags under two hash seeds, because the iteration order of sets differs between processes."""
    program = (
        "from types import SimpleNamespace as N; import django; django.setup(); "
        "from apps.core.rest.viewsets import ShopViewSet as V; v = V(); v.plural = 'things'; v.version = '2026-10'; "
        "v.access = N(shop=N(pk=1, version=2)); v.requested_fields = frozenset('abcdefgh'); "
        "V.context = N(currencies=frozenset('ijklm')); print(v._build_etag(3, 4))"
    )

    def build_tag(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "DJANGO_SETTINGS_MODULE": "backoffice.settings"}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert build_tag("1") == build_tag("2")


def test_pages_that_are_requested_again_are_cached_until_a_row_changes(
    api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = [ScriptTagFactory.create(shop=shop, app=api.installation.app) for _ in range(3)]
    ids = [tag.pk for tag in tags]
    first, second = api.get("script_tags.json", limit=2), api.get("script_tags.json", limit=2)
    with monkeypatch.context() as patch:
        patch.setattr(render_cache, "render_objects", None)
        third = api.get("script_tags.json", limit=2)
    other_url = api.get("script_tags.json", limit=2, fields="id")
    tags[0].save()
    changed = api.get("script_tags.json", limit=2)
    tags[1].delete()
    shorter = api.get("script_tags.json", limit=2)

    assert first.content == second.content == third.content
    assert first["ETag"] == second["ETag"] == third["ETag"]
    assert second["Link"] == third["Link"]
    assert other_url.json() == {"script_tags": [{"id": pk} for pk in ids[:2]]}
    assert changed["ETag"] != first["ETag"]
    assert [row["id"] for row in shorter.json()["script_tags"]] == [ids[0], ids[2]]
    assert "Link" not in shorter


def test_rare_sets_of_fields_leave_no_compiled_code_behind(api: ApiClient, tag: ScriptTag) -> None:
    api.get("script_tags.json", fields="id,cache")
    plan = weakref.ref(get_read_plan(ScriptTagSerializer, "2026-10", frozenset({"id", "cache"})))

    get_read_plan.cache_clear()
    gc.collect()

    assert len(render_cache.cache) == 2  # the object, and the mark of a page that was requested once
    assert plan() is None


def test_two_shops_share_no_kept_object(
    api: ApiClient, other_shop_api: ApiClient, other_shop: Shop, tag: ScriptTag
) -> None:
    ScriptTagFactory.create(shop=other_shop, app=other_shop_api.installation.app)

    own = api.get("script_tags.json").json()["script_tags"]
    foreign = other_shop_api.get("script_tags.json").json()["script_tags"]

    assert [row["id"] for row in own] == [tag.pk]
    assert tag.pk not in [row["id"] for row in foreign]


def test_cached_rows_take_the_memory_that_is_counted() -> None:
    cache = RenderCache(10_000_000)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(1000):
            cache.set(("customer", number), orjson.dumps({"id": number, "note": "n" * 1400}))
        used_bytes = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert used_bytes < 1.5 * cache._used


def test_the_least_recently_used_leave_when_the_budget_is_spent() -> None:
    cache = RenderCache(10_000)

    for number in range(50):
        cache.set(number, b"x" * 1000)
        cache.get(0)

    assert cache.get(0) == b"x" * 1000
    assert cache.get(1) is None
    assert cache._used <= 10_000


def test_responses_say_who_may_store_them(api: ApiClient, path: str) -> None:
    for url in (api.path(path), api.path("script_tags.json")):
        first = api.http.get(url)
        unchanged = api.http.get(url, headers={"If-None-Match": first["ETag"]})
        assert (first.status_code, unchanged.status_code) == (200, 304)
        for response in (first, unchanged):
            assert response["Cache-Control"] == "private, no-cache"
            assert response["Vary"] == "X-Platform-Access-Token, Authorization"


def test_responses_without_a_validator_are_not_stored(api: ApiClient, path: str) -> None:
    tag = {"script_tag": {"src": "https://a.example/b.js", "event": "onload"}}
    responses = [
        api.post("script_tags.json", tag),
        api.get("script_tags/0.json"),
        api.get("script_tags/count.json"),
        api.get("script_tags.json", limit="x"),
        api.post("graphql.json", {"query": "{ shop { id } }"}),
        api.http.get(api.path(path), headers={"X-Platform-Access-Token": "bko_none"}),
        api.http.get("/admin/api/2026-10/nothing.json"),
    ]

    assert {response["Cache-Control"] for response in responses} == {"no-store"}
    assert {response["Vary"] for response in responses} == {"X-Platform-Access-Token, Authorization"}
