"""Validate and save product options.

Every variant has one value per option, and no two variants of a product have the same combination of values.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from django.utils.translation import ngettext

from apps.catalog.domain.inputs import OptionInput
from apps.catalog.models import Product, ProductOption, Variant
from apps.catalog.models.products import MAX_OPTIONS
from apps.catalog.models.variants import DEFAULT_VALUE
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, too_many
from apps.core.i18n.messages import define_message, define_text

_SAME_NAME = define_text("options.same_name", "has two options with the same name")
_VARIANT_EXISTS = define_message("options.variant_exists", "The variant '{name}' already exists.")
_MUST_BE_BLANK = define_message("options.must_be_blank", "must be blank because the product has only {options}")

DEFAULT_NAME = "Title"
COLUMNS = ("option1", "option2", "option3")


class OptionsRefused(DomainError):
    field = "options"


def check_options(requested: Sequence[OptionInput]) -> None:
    """Check the number of options, and check that the option names are unique.

    Raises:
        OptionsRefused: There are too many options, or two options have the same name.
    """
    if len(requested) > MAX_OPTIONS:
        raise OptionsRefused(too_many("options", MAX_OPTIONS))
    if len({option.name.casefold() for option in requested}) < len(requested):
        raise OptionsRefused(_SAME_NAME)


def get_options(product: Product) -> list[ProductOption]:
    return list(ProductOption.objects.filter(product=product).order_by("position", "id"))


def match_options(existing: Sequence[ProductOption], requested: Sequence[OptionInput]) -> list[ProductOption | None]:
    """Match each requested option with an existing option, or with None.

    Options are matched by id first, then by name. The remaining options are matched in order.
    """
    unmatched = {option.pk: option for option in existing}
    matches: list[ProductOption | None] = [unmatched.pop(item.id or 0, None) for item in requested]
    for index, item in enumerate(requested):
        if matches[index] is None:
            same = next((pk for pk, option in unmatched.items() if option.name.casefold() == item.name.casefold()), 0)
            matches[index] = unmatched.pop(same, None)
    return [option or (unmatched.pop(next(iter(unmatched))) if unmatched else None) for option in matches]


def move_option_values(
    variants: Iterable[Variant], existing: Sequence[ProductOption], requested: Sequence[OptionInput]
) -> None:
    """Move the option values of variants if options were reordered, and clear the values of removed options."""
    indexes = {option.pk: number for number, option in enumerate(existing)}
    sources = [indexes[option.pk] if option is not None else None for option in match_options(existing, requested)]
    if sources == list(range(len(existing))):
        return
    for variant in variants:
        values = [getattr(variant, column) for column in COLUMNS]
        for index, column in enumerate(COLUMNS):
            source = sources[index] if index < len(sources) else None
            setattr(variant, column, None if source is None else values[source])


def fill_option_values(variants: Sequence[Variant], requested: Sequence[OptionInput]) -> None:
    """Set the first value of each new option in existing variants, and clear the values of removed options."""
    for variant in variants:
        if variant._state.adding:
            continue
        for index, column in enumerate(COLUMNS):
            if index >= len(requested):
                setattr(variant, column, None)
            elif not getattr(variant, column) and requested[index].values:
                setattr(variant, column, requested[index].values[0])


def check_option_values(variants: Sequence[Variant], count: int, *, prefix: str = "variants.{}.") -> None:
    """Check that each variant has one value per option and a unique combination, and set the variant titles.

    ``prefix`` is the prefix of error keys, with ``{}`` for the index of the variant.

    Raises:
        OptionsRefused: A variant is invalid. The exception contains ``{field: messages}``.
    """
    errors: dict[str, list[str]] = {}
    for index, variant in enumerate(variants):
        if variant._state.adding and not variant.option1 and count == 1:
            variant.option1 = DEFAULT_VALUE
        for number, column in enumerate(COLUMNS, start=1):
            value = getattr(variant, column)
            if number <= count and not value:
                errors[prefix.format(index) + column] = [BLANK]
            elif number > count and value:
                options = ngettext("{number} option", "{number} options", count).format(number=count)
                errors[prefix.format(index) + column] = [_MUST_BE_BLANK(options=options)]
        variant.title = " / ".join(variant.options)
    if errors:
        raise OptionsRefused(errors)
    counts = Counter(variant.options for variant in variants)
    double = next((options for options, times in counts.items() if times > 1), None)
    if double is not None:
        raise OptionsRefused(_VARIANT_EXISTS(name=" / ".join(double)), field="base")


def save_options(product: Product, requested: Sequence[OptionInput] | None, variants: Sequence[Variant]) -> bool:
    """Save the options of a locked product so that they match all its variants. Return True if anything changed."""
    existing = get_options(product)
    if requested is None:
        requested = [OptionInput(option.name, list(option.values), option.pk) for option in existing]
    requested = requested or [OptionInput(DEFAULT_NAME)]
    rows = match_options(existing, requested)
    changed = False
    for index, (item, option) in enumerate(zip(requested, rows, strict=True)):
        values = _order_values(item.values, [getattr(variant, COLUMNS[index]) for variant in variants])
        if option is None:
            changed = True
            _build_option(product, item, index, variants).save(force_insert=True)
        elif (option.name, option.position, option.values) != (item.name, index + 1, values):
            changed = True
            option.name, option.position, option.values = item.name, index + 1, values
            option.save(update_fields=["name", "position", "values"])
    remaining_ids = {option.pk for option in rows if option is not None}
    removed_ids = [option.pk for option in existing if option.pk not in remaining_ids]
    ProductOption.objects.filter(pk__in=removed_ids).delete()
    return changed or bool(removed_ids)


def build_options(
    product: Product, requested: Sequence[OptionInput] | None, variants: Sequence[Variant]
) -> list[ProductOption]:
    """Return the unsaved options of a new product with these variants."""
    return [
        _build_option(product, item, index, variants)
        for index, item in enumerate(requested or [OptionInput(DEFAULT_NAME)])
    ]


def _build_option(product: Product, item: OptionInput, index: int, variants: Sequence[Variant]) -> ProductOption:
    values = _order_values(item.values, [getattr(variant, COLUMNS[index]) for variant in variants])
    return ProductOption(shop_id=product.shop_id, product=product, name=item.name, position=index + 1, values=values)


def _order_values(ordered_values: Sequence[str], used: Sequence[str]) -> list[str]:
    """Return the used values in the order of ``ordered_values``, followed by other used values in variant order."""
    in_use = set(used)
    return list(dict.fromkeys([*(value for value in ordered_values if value in in_use), *used]))


def get_first_combination(requested: Sequence[OptionInput]) -> dict[str, str]:
    """Return the option values of the default variant of a product that is created without variants."""
    values = [option.values[0] if option.values else DEFAULT_VALUE for option in requested]
    return dict(zip(COLUMNS, values or [DEFAULT_VALUE], strict=False))
