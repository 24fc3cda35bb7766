"""Handles: the readable part of an address, made from a title and unique in the shop.

The database tells whether a handle is taken; a taken one is numbered. The free number is found by doubling and halving,
so a thousand products of one title cost a dozen lookups each, not a thousand.
"""

import secrets
from collections.abc import Callable, Collection

from django.db import IntegrityError, models, transaction
from slugify import slugify

MAX_LENGTH = 255
MAX_STEM = 240
_ROUNDS = 25
_POWERS = tuple(2**exponent for exponent in range(32))


def handle_of(text: str, fallback: str) -> str:
    """The handle of a title: transliterated, in lower case, with hyphens; ``fallback`` where nothing is left."""
    return as_handle(text)[:MAX_STEM].strip("-") or fallback


def as_handle(text: str) -> str:
    """A text in the form that handles have, however long it becomes; blank where nothing is left."""
    return slugify(text[:1000], entities=False, decimal=False, hexadecimal=False)


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
