"""The variants that values of options make."""

from collections.abc import Collection, Sequence
from itertools import product
from math import prod

from django.utils.translation import gettext as _

from apps.catalog.domain.inputs import OptionInput
from apps.catalog.domain.variants import MAX_VARIANTS, TooManyVariants

Combination = tuple[str, ...]


def added_by(
    options: Sequence[OptionInput], present: Sequence[Combination], fresh: Sequence[Collection[str]]
) -> list[Combination]:
    """The combinations that new values add: each holds at least one of them; those that were left out before stay out.

    Args:
        options: The options as they should be, each with its values in their order; without values it has those that
            the variants have.
        present: The values of the variants that there are.
        fresh: Of each option the values that are new.

    Raises:
        TooManyVariants: There would be more than a product can have.
    """
    columns = [
        list(dict.fromkeys([*option.values, *(row[place] for row in present if row[place])]))
        for place, option in enumerate(options)
    ]
    if not any(fresh):
        return []
    known = set(present)
    old = prod(len(set(values) - set(new)) for values, new in zip(columns, fresh, strict=True))
    if prod(map(len, columns)) - old > MAX_VARIANTS:
        raise TooManyVariants(_("A product can have at most {limit} variants.").format(limit=MAX_VARIANTS))
    return [
        row
        for row in product(*columns)
        if row not in known and any(value in new for value, new in zip(row, fresh, strict=True))
    ]
