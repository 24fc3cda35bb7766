"""Handles: the names of blogs and articles in addresses.

Rule: decisions, Conventions (Handles).
"""

import re
from typing import Any

from django.db.models import QuerySet
from slugify import slugify

MAX_LENGTH = 255


def handle_of(text: str) -> str:
    """A text as a handle: transliterated, lower case, hyphens; may be empty."""
    return slugify(text[:1000], entities=False, decimal=False, hexadecimal=False)[:MAX_LENGTH].strip("-")


def free_handle(rows: QuerySet[Any, Any], text: str, *, fallback: str) -> str:
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
