"""Rendered objects, kept in the process under the version of their rows.

A resource whose aggregate has a version is read in two steps: the ids and versions of the page, then only those objects
whose bytes are not at hand. A version is never given twice, so kept bytes are never stale; they leave when the budget
of bytes is spent, the least recently used first.
Source: decisions on speed in ``docs/performance.md``.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import orjson
from django.conf import settings

from apps.api.context import Context
from apps.api.errors import BadRequest
from apps.api.rows.plans import Plan, TooManyRows, Values
from apps.api.shapes import Shown
from apps.ground.phrases import answer_larger_than

T = TypeVar("T")
S = TypeVar("S")
_OVERHEAD = 200
# The most bytes of one answer; a page of 250 of the largest products would have six times as many.
MOST_BYTES = 64 * 2**20


class RenderCache:
    """A bounded map from versioned keys to rendered objects."""

    def __init__(self, budget: int) -> None:
        """Keep at most ``budget`` bytes."""
        self._budget = budget
        self._spent = 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> bytes | None:
        """The bytes under a key."""
        found = self._kept.get(key)
        if found is not None:
            try:  # noqa: SIM105 — three calls less on the hot path
                self._kept.move_to_end(key)
            except KeyError:
                # Another thread has dropped it meanwhile; the bytes are good all the same.
                pass
        return found

    def put(self, key: Hashable, value: bytes) -> None:
        """Keep bytes under a key."""
        # A copy takes what it needs; the encoder's own result holds on to the eight kilobytes of its buffer.
        value = bytes(memoryview(value))
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._spent -= len(before) + _OVERHEAD
            self._kept[key] = value
            self._spent += len(value) + _OVERHEAD
            while self._spent > self._budget and self._kept:
                _, dropped = self._kept.popitem(last=False)
                self._spent -= len(dropped) + _OVERHEAD

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._spent = 0

    @property
    def spent(self) -> int:
        """The bytes that count against the budget."""
        return self._spent

    def __len__(self) -> int:
        """How many objects are kept."""
        return len(self._kept)


cache = RenderCache(settings.API_RENDER_CACHE_BYTES)


def render_many(plan: Plan, keys: Sequence[Values], context: Context) -> list[bytes]:
    """The rendered objects of rows that are named by ``(id, *versions)``, in their order.

    A row that was deleted since its key was read is left out.

    Raises:
        BadRequest: They are more than one answer may hold.
    """
    # The plan's key and not the plan: what is kept here must not keep compiled code of rare sets of fields alive.
    outer = (plan.key, context.shop.pk, context.shop.version, context.currencies)
    found: dict[int, bytes] = {}
    missing: list[Values] = []
    for key in keys:
        kept = cache.get((outer, *key))
        if kept is None:
            missing.append(key)
        else:
            found[key[0]] = kept
    if missing:
        try:
            objects = plan.read_ids([key[0] for key in missing], context, bounded=True)
        except TooManyRows:
            _render_in_pieces(plan, missing, context, outer, found)
        else:
            for key in missing:
                if key[0] in objects:
                    found[key[0]] = rendered = orjson.dumps(objects.pop(key[0]))
                    cache.put((outer, *key), rendered)
    refuse_too_large(found.values())
    return [found[key[0]] for key in keys if key[0] in found]


def render_rows(plan: Plan, rows: Sequence[Values], context: Context) -> list[bytes]:
    """The rendered objects of root rows that were read with the plan's columns, in their order.

    Raises:
        BadRequest: They have many related rows, and are more than one answer may hold.
    """
    try:
        return [orjson.dumps(shown) for shown in plan.assemble(rows, context, bounded=True)]
    except TooManyRows:
        shown = _pieces(rows, lambda some, bounded: plan.assemble(some, context, bounded=bounded))
        return list(_counted(map(orjson.dumps, shown), 0))


def _render_in_pieces(
    plan: Plan, keys: Sequence[Values], context: Context, outer: Hashable, found: dict[int, bytes]
) -> None:
    """Render objects that have many related rows, as few at a time as have not too many; gives them to ``found``.

    Raises:
        BadRequest: With what is found already they are more than one answer may hold; the rest is not read.
    """

    def read(some: Sequence[Values], bounded: bool) -> Iterator[tuple[Values, Shown]]:
        objects = plan.read_ids([key[0] for key in some], context, bounded=bounded)
        return ((key, objects.pop(key[0])) for key in some if key[0] in objects)

    def rendered() -> Iterator[bytes]:
        for key, shown in _pieces(keys, read):
            found[key[0]] = made = orjson.dumps(shown)
            cache.put((outer, *key), made)
            yield made

    for _ in _counted(rendered(), sum(map(len, found.values()))):
        pass


def _pieces(items: Sequence[T], read: Callable[[Sequence[T], bool], Iterable[S]]) -> Iterator[S]:
    """What is read of items, so few at a time as are not refused where that is bounded; a single one is not."""
    place, size = 0, _fewer(len(items))
    while place < len(items):
        try:
            some = read(items[place : place + size], size > 1)
        except TooManyRows:
            size = _fewer(size)
        else:
            yield from some
            place += size


def _counted(objects: Iterator[bytes], spent: int) -> Iterator[bytes]:
    """The same, until they are more than an answer may hold; with ``spent`` bytes of others.

    Raises:
        BadRequest: They are; no more are asked for.
    """
    for each in objects:
        spent += len(each)
        if spent > MOST_BYTES:
            raise _too_large()
        yield each


def _fewer(size: int) -> int:
    return max(size // 4, 1)


def refuse_too_large(objects: Iterable[bytes]) -> None:
    """Refuse an answer of these objects.

    Raises:
        BadRequest: They have more bytes than an answer may have; the parameter that helps is named.
    """
    if sum(map(len, objects)) > MOST_BYTES:
        raise _too_large()


def _too_large() -> BadRequest:
    return BadRequest({"limit": answer_larger_than(MOST_BYTES)})
