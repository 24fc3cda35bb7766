"""Combine option values into the variants of a product."""

from collections.abc import Collection, Sequence
from itertools import product
from math import prod

from django.utils.translation import gettext as _

from apps.catalog.domain.inputs import OptionInput
from apps.catalog.domain.variants import MAX_VARIANTS, TooManyVariants

Combination = tuple[str, ...]


def list_new_combinations(
    options: Sequence[OptionInput], present: Sequence[Combination], new_values: Sequence[Collection[str]]
) -> list[Combination]:
    """Return the combinations that contain at least one new value.

    Combinations of existing values are omitted, because staff may have removed those variants on purpose.

    Args:
        options: The requested options with their ordered values. If an option has no values, it keeps the values that
            the variants use.
        present: The option values of the existing variants.
        new_values: The new values of each option.

    Raises:
        TooManyVariants: The product would exceed the maximum number of variants.
    """
    columns = [
        list(dict.fromkeys([*option.values, *(row[index] for row in present if row[index])]))
        for index, option in enumerate(options)
    ]
    if not any(new_values):
        return []
    existing = set(present)
    old_count = prod(len(set(values) - set(new)) for values, new in zip(columns, new_values, strict=True))
    if prod(map(len, columns)) - old_count > MAX_VARIANTS:
        raise TooManyVariants(_("A product can have at most {limit} variants.").format(limit=MAX_VARIANTS))
    return [
        row
        for row in product(*columns)
        if row not in existing and any(value in new for value, new in zip(row, new_values, strict=True))
    ]
