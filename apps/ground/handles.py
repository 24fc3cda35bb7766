"""Handles: the readable part of an address, made from a title and unique among its like; a taken one is numbered.

``save_with_handle`` lets the database tell whether a handle is taken, and finds the free number by doubling and
halving, so a thousand products of one title cost a dozen lookups each. ``free_handle`` fills gaps in the numbers, for
callers who keep others from adding rows meanwhile. Rule: decisions, Conventions (Handles).
"""

import re
import secrets
from collections.abc import Callable, Collection

from django.db import IntegrityError, models, transaction
from slugify import slugify

from apps.ground.rows import M

MAX_LENGTH = 255
MAX_STEM = 240
_ROUNDS = 25
_POWERS = tuple(2**exponent for exponent in range(32))


def handle_of(text: str) -> str:
    """A text as a handle, cut to the length that handles may have; blank where nothing is left."""
    return as_handle(text)[:MAX_LENGTH].strip("-")


def stem_of(text: str, fallback: str) -> str:
    """The handle of a title with room for a number behind it; ``fallback`` where nothing is left."""
    return as_handle(text)[:MAX_STEM].strip("-") or fallback


def as_handle(text: str) -> str:
    """A text transliterated, in lower case, with hyphens, however long it becomes; blank where nothing is left."""
    return slugify(text[:1000], entities=False, decimal=False, hexadecimal=False)


def free_handle(rows: models.QuerySet[M], text: str, *, fallback: str) -> str:
    """A handle out of a text that none of the rows has; numbered where it is taken.

    Args:
        rows: The rows among which it is to be unique; the caller keeps others from adding to them meanwhile.
        text: The title.
        fallback: What is used where the title has no letter or digit.
    """
    base = handle_of(text) or fallback
    stem = base[: MAX_LENGTH - 12].strip("-")
    pattern = re.compile(rf"{re.escape(stem)}-([1-9][0-9]{{0,9}})")
    taken = set(rows.filter(handle__startswith=stem).values_list("handle", flat=True))
    if base not in taken:
        return base
    numbers = {int(match[1]) for handle in taken if (match := pattern.fullmatch(handle))}
    return f"{stem}-{next(number for number in range(1, len(numbers) + 2) if number not in numbers)}"


def save_with_handle(instance: models.Model, base: str, *, update_fields: Collection[str] | None = None) -> None:
    """Save a row under its handle, numbered where another row of the shop has it.

    Args:
        instance: A row with ``shop`` and ``handle`` fields; its handle is set here.
        base: The handle it should have.
        update_fields: The columns of a row that exists; None inserts a new one.
    """
    new = update_fields is None
    candidate = base
    for attempt in range(_ROUNDS):
        setattr(instance, "handle", candidate)  # noqa: B010 - the models share no base that declares it
        try:
            with transaction.atomic():
                instance.save(force_insert=new, update_fields=update_fields)
        except IntegrityError:
            if not _taken(instance, candidate):
                raise
            if new:
                instance.pk = None
            candidate = _free(instance, base) if attempt < _ROUNDS - 2 else f"{base}-{secrets.randbelow(10**12)}"
        else:
            return
    raise IntegrityError(f"No free handle for {base!r} was found")  # pragma: no cover - a trillion to one


def _taken(instance: models.Model, handle: str) -> bool:
    rows: models.Manager[models.Model] = type(instance)._base_manager
    return rows.filter(shop_id=instance.shop_id, handle=handle).exists()  # type: ignore[attr-defined]


def _free(instance: models.Model, base: str) -> str:
    """The base with a number that nobody has: behind the first free power of two's taken half."""
    rows = type(instance)._base_manager.filter(shop_id=instance.shop_id)  # type: ignore[attr-defined]
    named = {f"{base}-{power}": power for power in _POWERS}
    used = {named[handle] for handle in rows.filter(handle__in=named).values_list("handle", flat=True)}
    high = next(power for power in _POWERS if power not in used)
    return f"{base}-{_lowest(high // 2, high, lambda number: rows.filter(handle=f'{base}-{number}').exists())}"


def _lowest(low: int, high: int, taken: Callable[[int], bool]) -> int:
    """A free number in ``(low, high]`` whose neighbour below is taken."""
    while high - low > 1:
        middle = (low + high) // 2
        if taken(middle):
            low = middle
        else:
            high = middle
    return high
