"""The render cache: rendered objects and pages in process memory, keyed by row version.

A resource with a version column is read in two steps: first the ids and versions of the page, then only the objects
that are not cached. A version number is never reused, so cached bytes are never stale. When the cache exceeds the size
limit, it evicts the least recently used objects. ``benchmarks/README.md`` has measurements.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import orjson
from django.conf import settings

from apps.core.i18n.error_messages import response_larger_than
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.reading.query_plans import ReadPlan, RowValues, TooManyRows
from apps.core.rest.render_context import RenderContext
from apps.core.types import Rendered

T = TypeVar("T")
S = TypeVar("S")
_OVERHEAD = 200
# The maximum size of a response in bytes. A page with 250 products of the maximum size would be six times as large.
MAX_RESPONSE_BYTES = 64 * 2**20


class RenderCache:
    """A map of at most ``budget`` bytes from versioned keys to rendered objects."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._used = 0
        self._entries: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> bytes | None:
        content = self._entries.get(key)
        if content is not None:
            try:  # noqa: SIM105 - saves three calls on the hot path
                self._entries.move_to_end(key)
            except KeyError:
                # Another thread may have evicted the entry, but the bytes are still valid.
                pass
        return content

    def set(self, key: Hashable, value: bytes) -> None:
        # Copy the bytes, because the encoder's result occupies a buffer of eight kilobytes.
        value = bytes(memoryview(value))
        with self._lock:
            previous = self._entries.pop(key, None)
            if previous is not None:
                self._used -= len(previous) + _OVERHEAD
            self._entries[key] = value
            self._used += len(value) + _OVERHEAD
            while self._used > self.budget and self._entries:
                _, dropped = self._entries.popitem(last=False)
                self._used -= len(dropped) + _OVERHEAD

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._used = 0

    def __len__(self) -> int:
        return len(self._entries)


cache = RenderCache(settings.API_RENDER_CACHE_BYTES)


def get_page(key: Hashable) -> tuple[bytes, str] | None:
    """Return a cached page and its ``Link`` header, or None."""
    content = cache.get(key)
    if not content:
        return None
    links, _, body = content.partition(b"\n")
    return body, links.decode()


def set_page(key: Hashable, body: bytes, links: str) -> None:
    """Cache a page if it is requested for the second time. Large pages are not cached, because they evict objects.

    The key must contain everything that determines the page, including the versions of its rows.
    """
    if cache.get(key) is None:
        cache.set(key, b"")
    elif len(body) <= cache.budget // 8:
        cache.set(key, b"%b\n%b" % (links.encode(), body))


def render_objects(plan: ReadPlan, keys: Sequence[RowValues], context: RenderContext) -> list[bytes]:
    """Return the rendered objects of rows with the keys ``(id, *versions)``, in order, without deleted rows."""
    # Use the plan's key instead of the plan, so that the cache does not keep rarely used plans in memory.
    outer = (plan.key, context.shop.pk, context.shop.version, context.currencies)
    rendered_by_id: dict[int, bytes] = {}
    missing: list[RowValues] = []
    for key in keys:
        content = cache.get((outer, *key))
        if content is None:
            missing.append(key)
        else:
            rendered_by_id[key[0]] = content
    if missing:
        try:
            objects = plan.read_ids([key[0] for key in missing], context, bounded=True)
        except TooManyRows:
            _render_in_batches(plan, missing, context, outer, rendered_by_id)
        else:
            for key in missing:
                if key[0] in objects:
                    rendered_by_id[key[0]] = rendered = orjson.dumps(objects.pop(key[0]))
                    cache.set((outer, *key), rendered)
    check_response_size(rendered_by_id.values())
    return [rendered_by_id[key[0]] for key in keys if key[0] in rendered_by_id]


def render_rows(plan: ReadPlan, rows: Sequence[RowValues], context: RenderContext) -> list[bytes]:
    """Return the rendered objects of root rows that were read with the plan's columns, in the order of the rows."""
    try:
        return [orjson.dumps(objects) for objects in plan.build_objects(rows, context, bounded=True)]
    except TooManyRows:
        objects = _read_in_batches(rows, lambda batch, bounded: plan.build_objects(batch, context, bounded=bounded))
        return list(_limit_size(map(orjson.dumps, objects), 0))


def _render_in_batches(
    plan: ReadPlan, keys: Sequence[RowValues], context: RenderContext, outer: Hashable, rendered_by_id: dict[int, bytes]
) -> None:
    """Render objects with many related rows in batches into ``rendered_by_id``, up to the maximum size."""

    def read(batch: Sequence[RowValues], bounded: bool) -> Iterator[tuple[RowValues, Rendered]]:
        objects = plan.read_ids([key[0] for key in batch], context, bounded=bounded)
        return ((key, objects.pop(key[0])) for key in batch if key[0] in objects)

    def rendered() -> Iterator[bytes]:
        for key, rendered_object in _read_in_batches(keys, read):
            rendered_by_id[key[0]] = content = orjson.dumps(rendered_object)
            cache.set((outer, *key), content)
            yield content

    for _ in _limit_size(rendered(), sum(map(len, rendered_by_id.values()))):
        pass


def _read_in_batches(items: Sequence[T], read_batch: Callable[[Sequence[T], bool], Iterable[S]]) -> Iterator[S]:
    """Read items in batches and yield the results; shrink the batches on ``TooManyRows``.

    A batch with a single item cannot shrink, so the number of its related rows is not limited.
    """
    position, size = 0, _shrink(len(items))
    while position < len(items):
        try:
            batch = read_batch(items[position : position + size], size > 1)
        except TooManyRows:
            size = _shrink(size)
        else:
            yield from batch
            position += size


def _limit_size(objects: Iterator[bytes], used: int) -> Iterator[bytes]:
    """Yield objects until their total size, including ``used`` bytes, exceeds the maximum."""
    for content in objects:
        used += len(content)
        if used > MAX_RESPONSE_BYTES:
            raise _too_large_error()
        yield content


def _shrink(size: int) -> int:
    return max(size // 4, 1)


def check_response_size(objects: Iterable[bytes]) -> None:
    """Raise ``BadRequest`` with the parameter that makes the response smaller if these objects are too large."""
    if sum(map(len, objects)) > MAX_RESPONSE_BYTES:
        raise _too_large_error()


def _too_large_error() -> BadRequest:
    return BadRequest({"limit": response_larger_than(MAX_RESPONSE_BYTES)})
