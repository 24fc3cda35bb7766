"""Tests for memory limits: for the cache of rendered objects and for a single response."""

import gc
import tracemalloc

import orjson
import pytest

from apps.core.rest.reading import render_cache
from apps.core.rest.reading.render_cache import RenderCache
from apps.core.tenancy.models import Shop
from tests.support.api_client import ApiClient
from tests.support.factories import ScriptTagFactory

ENTRIES = 1000


def test_cached_rows_take_the_memory_that_is_counted() -> None:
    cache = RenderCache(10_000_000)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(ENTRIES):
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


def test_a_page_beyond_a_bound_is_refused(api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    tags = [ScriptTagFactory.create(shop=shop, app=api.installation.app) for _ in range(5)]
    assert api.get("script_tags.json").status_code == 200

    monkeypatch.setattr(render_cache, "MAX_RESPONSE_BYTES", 2**9)
    first_response = api.get("script_tags.json")
    render_cache.cache.clear()
    second_response = api.get("script_tags.json")

    message = "makes the response larger than 512 bytes; request fewer rows or fields"
    assert [(response.status_code, response.json()) for response in (first_response, second_response)] == [
        (400, {"errors": {"limit": message}})
    ] * 2
    assert api.get("script_tags.json?limit=2").status_code == 200
    assert len(api.get("script_tags.json?fields=id").json()["script_tags"]) == len(tags)
