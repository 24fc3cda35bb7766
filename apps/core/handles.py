"""Creates handles: readable, unique parts of URLs that are derived from titles. Duplicates get a number.

``save_with_handle`` relies on the database constraint to detect duplicates, and finds an unused number with a binary
search. If a thousand products have the same title, a search needs about a dozen lookups. ``find_free_handle`` returns
the lowest unused number, but the caller must prevent concurrent inserts.
"""

import re
import secrets
import string
import unicodedata
from collections.abc import Collection

from django.db import IntegrityError, models, transaction
from slugify import slugify

from apps.core.models import M

MAX_LENGTH = 255
MAX_STEM = 240
# ASCII punctuation that has a meaning in URLs or that browsers escape.
_RESERVED = frozenset(string.punctuation) - frozenset("-_.~")
_MAX_TRIES = 25
_POWERS = tuple(2**exponent for exponent in range(32))


def normalize_handle(text: str) -> str:
    """Return a given handle in lower case. A handle that a URL can't contain is converted like a title."""
    handle = fold_handle(text)
    return handle if is_usable(handle) else slugify_text(text)


def fold_handle(text: str) -> str:
    """Return a handle in lower case and in Unicode's composed form, so that equal-looking handles are equal.

    The lower case of ``İ`` is an ``i`` with a combining dot, which is removed.
    """
    return unicodedata.normalize("NFC", text.strip().lower().replace("i\N{COMBINING DOT ABOVE}", "i"))


def is_usable(handle: str) -> bool:
    """Return True if a URL can contain a handle: letters of all scripts, digits, ``-_.~`` and signs such as ``™``."""
    return (
        len(handle) <= MAX_LENGTH
        and handle.isprintable()
        and not _RESERVED.intersection(handle)
        and bool(handle.strip("-_.~"))
        and handle == "".join(handle.split())
    )


def build_handle(text: str) -> str:
    """Convert a string to a handle, and truncate long handles. Return "" if no character can be used."""
    return slugify_text(text)[:MAX_LENGTH].strip("-")


def build_handle_stem(text: str, fallback: str) -> str:
    """Convert a title to a handle that leaves room for a number. Return ``fallback`` if no character can be used."""
    return slugify_text(text)[:MAX_STEM].strip("-") or fallback


def slugify_text(text: str) -> str:
    """Transliterate a string of any length to lowercase ASCII with hyphens. Return "" if no character can be used."""
    return slugify(text[:1000], entities=False, decimal=False, hexadecimal=False)


def find_free_handle(rows: models.QuerySet[M], text: str, *, fallback: str) -> str:
    """Return an unused handle, with a number if necessary. The caller must prevent concurrent inserts into ``rows``."""
    base = build_handle(text) or fallback
    stem = base[: MAX_LENGTH - 12].strip("-")
    pattern = re.compile(rf"{re.escape(stem)}-([1-9][0-9]{{0,9}})")
    used = set(rows.filter(handle__startswith=stem).values_list("handle", flat=True))
    if base not in used:
        return base
    numbers = {int(match[1]) for handle in used if (match := pattern.fullmatch(handle))}
    return f"{stem}-{next(number for number in range(1, len(numbers) + 2) if number not in numbers)}"


def save_with_handle(instance: models.Model, base: str, *, update_fields: Collection[str] | None = None) -> None:
    """Save a row with ``shop`` and ``handle`` fields. Add a number if another row of the shop already uses the handle.

    ``update_fields`` contains the columns to update, or is None to insert a new row.
    """
    new = update_fields is None
    candidate = base
    for attempt in range(_MAX_TRIES):
        setattr(instance, "handle", candidate)  # noqa: B010 - the models share no base that declares it
        try:
            with transaction.atomic():
                instance.save(force_insert=new, update_fields=update_fields)
        except IntegrityError:
            rows = type(instance)._base_manager.filter(shop_id=instance.shop_id)  # type: ignore[attr-defined]
            if not rows.filter(handle=candidate).exists():
                raise
            if new:
                instance.pk = None
            is_random = attempt >= _MAX_TRIES - 2
            candidate = f"{base}-{secrets.randbelow(10**12)}" if is_random else _find_free_handle(rows, base)
        else:
            return
    raise IntegrityError(f"Found no free handle for {base!r}")  # pragma: no cover - a trillion to one


def _find_free_handle(rows: models.QuerySet[M], base: str) -> str:
    """Return the base with an unused number, found with a binary search below the lowest unused power of two."""
    power_by_handle = {f"{base}-{power}": power for power in _POWERS}
    used = {
        power_by_handle[handle] for handle in rows.filter(handle__in=power_by_handle).values_list("handle", flat=True)
    }
    high = next(power for power in _POWERS if power not in used)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if rows.filter(handle=f"{base}-{middle}").exists():
            low = middle
        else:
            high = middle
    return f"{base}-{high}"
