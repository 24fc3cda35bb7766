"""Handles: the readable part of a URL, made from a title and unique within a shop's rows; duplicates get a number.

``save_with_handle`` lets the database's constraint detect duplicates, and finds a free number by doubling and halving,
so a thousand products with the same title need about a dozen lookups each. ``find_free_handle`` fills gaps in the
numbers, for callers that prevent concurrent inserts.
"""

import re
import secrets
from collections.abc import Callable, Collection

from django.db import IntegrityError, models, transaction
from slugify import slugify

from apps.ground.base_models import M

MAX_LENGTH = 255
MAX_STEM = 240
_MAX_TRIES = 25
_POWERS = tuple(2**exponent for exponent in range(32))


def build_handle(text: str) -> str:
    """Convert a text to a handle of at most the maximum length; return "" if no character can be used."""
    return slugify_text(text)[:MAX_LENGTH].strip("-")


def build_handle_stem(text: str, fallback: str) -> str:
    """Convert a title to a handle with room for a number, or return ``fallback`` if no character can be used."""
    return slugify_text(text)[:MAX_STEM].strip("-") or fallback


def slugify_text(text: str) -> str:
    """Transliterate a text of any length to lower case with hyphens; return "" if no character can be used."""
    return slugify(text[:1000], entities=False, decimal=False, hexadecimal=False)


def find_free_handle(rows: models.QuerySet[M], text: str, *, fallback: str) -> str:
    """Return a handle that no row has yet, with a number if necessary.

    Args:
        rows: The rows among which the handle must be unique; the caller must prevent concurrent inserts.
        text: The title.
        fallback: The handle for a title without a letter or digit.
    """
    base = build_handle(text) or fallback
    stem = base[: MAX_LENGTH - 12].strip("-")
    pattern = re.compile(rf"{re.escape(stem)}-([1-9][0-9]{{0,9}})")
    used = set(rows.filter(handle__startswith=stem).values_list("handle", flat=True))
    if base not in used:
        return base
    numbers = {int(match[1]) for handle in used if (match := pattern.fullmatch(handle))}
    return f"{stem}-{next(number for number in range(1, len(numbers) + 2) if number not in numbers)}"


def save_with_handle(instance: models.Model, base: str, *, update_fields: Collection[str] | None = None) -> None:
    """Save a row with a handle; add a number if another row of the shop has the handle.

    Args:
        instance: A row with ``shop`` and ``handle`` fields; its handle is set here.
        base: The preferred handle.
        update_fields: The columns to update; None inserts a new row.
    """
    new = update_fields is None
    candidate = base
    for attempt in range(_MAX_TRIES):
        setattr(instance, "handle", candidate)  # noqa: B010 - the models share no base that declares it
        try:
            with transaction.atomic():
                instance.save(force_insert=new, update_fields=update_fields)
        except IntegrityError:
            if not _is_used(instance, candidate):
                raise
            if new:
                instance.pk = None
            candidate = (
                _find_free_handle(instance, base) if attempt < _MAX_TRIES - 2 else f"{base}-{secrets.randbelow(10**12)}"
            )
        else:
            return
    raise IntegrityError(f"Found no free handle for {base!r}")  # pragma: no cover - a trillion to one


def _is_used(instance: models.Model, handle: str) -> bool:
    rows: models.Manager[models.Model] = type(instance)._base_manager
    return rows.filter(shop_id=instance.shop_id, handle=handle).exists()  # type: ignore[attr-defined]


def _find_free_handle(instance: models.Model, base: str) -> str:
    """Return the base with a free number.

    The first free power of two is searched first. The returned number is above half of this power (a number already in
    use) and at most this power.
    """
    rows = type(instance)._base_manager.filter(shop_id=instance.shop_id)  # type: ignore[attr-defined]
    power_by_handle = {f"{base}-{power}": power for power in _POWERS}
    used = {
        power_by_handle[handle] for handle in rows.filter(handle__in=power_by_handle).values_list("handle", flat=True)
    }
    high = next(power for power in _POWERS if power not in used)
    return (
        f"{base}-{_bisect_free_number(high // 2, high, lambda number: rows.filter(handle=f'{base}-{number}').exists())}"
    )


def _bisect_free_number(low: int, high: int, is_used: Callable[[int], bool]) -> int:
    """Return a free number in ``(low, high]`` that directly follows a used number."""
    while high - low > 1:
        middle = (low + high) // 2
        if is_used(middle):
            low = middle
        else:
            high = middle
    return high
