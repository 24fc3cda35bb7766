"""The cache of rendered objects takes no more memory than its budget says."""

import gc
import tracemalloc

import orjson

from apps.api.rows.rendering import RenderCache

ENTRIES = 1000


def test_what_is_kept_takes_the_memory_that_is_counted() -> None:
    cache = RenderCache(10_000_000)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(ENTRIES):
            cache.put(("customer", number), orjson.dumps({"id": number, "note": "n" * 1400}))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert taken < 1.5 * cache.spent


def test_the_least_recently_used_leave_when_the_budget_is_spent() -> None:
    cache = RenderCache(10_000)

    for number in range(50):
        cache.put(number, b"x" * 1000)
        cache.get(0)

    assert cache.get(0) == b"x" * 1000
    assert cache.get(1) is None
    assert cache.spent <= 10_000
