"""Options and their values: every variant has one value of each option, and no two variants have the same."""

from collections import Counter
from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.catalog.domain.inputs import OptionInput
from apps.catalog.models import Product, ProductOption, Variant
from apps.catalog.models.products import MAX_OPTIONS
from apps.catalog.models.variants import DEFAULT_VALUE
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, too_many

DEFAULT_NAME = "Title"
COLUMNS = ("option1", "option2", "option3")


class OptionsRefused(DomainError):
    """The options and the variants do not fit together."""

    code = "options_refused"
    field = "options"


def check_inputs(wanted: Sequence[OptionInput]) -> None:
    """Refuse too many options, or two of one name.

    Raises:
        OptionsRefused: There are too many, or two have one name.
    """
    if len(wanted) > MAX_OPTIONS:
        raise OptionsRefused(too_many("options", MAX_OPTIONS))
    if len({option.name.casefold() for option in wanted}) < len(wanted):
        raise OptionsRefused(_("has two options of one name"))


def options_of(product: Product) -> list[ProductOption]:
    """The options of a product, in their order."""
    return list(ProductOption.objects.filter(product=product).order_by("position", "id"))


def matched(existing: Sequence[ProductOption], wanted: Sequence[OptionInput]) -> list[ProductOption | None]:
    """Which row each wanted option is: that of its id, else that of its name, else the next that is left; or a new one.

    Args:
        existing: The options of a product, in their order.
        wanted: The options as they should be.
    """
    left = {option.pk: option for option in existing}
    found: list[ProductOption | None] = [left.pop(item.id or 0, None) for item in wanted]
    for index, item in enumerate(wanted):
        if found[index] is None:
            same = next((pk for pk, option in left.items() if option.name.casefold() == item.name.casefold()), 0)
            found[index] = left.pop(same, None)
    return [option or (left.pop(next(iter(left))) if left else None) for option in found]


def carry_values(variants: Iterable[Variant], existing: Sequence[ProductOption], wanted: Sequence[OptionInput]) -> None:
    """Let the values that variants have follow the options that change their places, and go with those that go."""
    places = {option.pk: place for place, option in enumerate(existing)}
    sources = [places[option.pk] if option is not None else None for option in matched(existing, wanted)]
    if sources == list(range(len(existing))):
        return
    for variant in variants:
        values = [getattr(variant, column) for column in COLUMNS]
        for index, column in enumerate(COLUMNS):
            source = sources[index] if index < len(sources) else None
            setattr(variant, column, None if source is None else values[source])


def fill_values(variants: Sequence[Variant], wanted: Sequence[OptionInput]) -> None:
    """Give existing variants the first value of each new option, and drop their values of options that are gone."""
    for variant in variants:
        if variant._state.adding:
            continue
        for index, column in enumerate(COLUMNS):
            if index >= len(wanted):
                setattr(variant, column, None)
            elif not getattr(variant, column) and wanted[index].values:
                setattr(variant, column, wanted[index].values[0])


def check_variants(variants: Sequence[Variant], count: int, *, prefix: str = "variants.{}.") -> None:
    """Refuse variants that lack a value, have one too many, or equal another; set the titles of the others.

    Args:
        variants: All variants of a product, in their order.
        count: How many options it has.
        prefix: How the errors of one variant begin, with ``{}`` for its place in the list.

    Raises:
        OptionsRefused: ``{field: messages}`` of every variant that does not fit.
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
                errors[prefix.format(index) + column] = [
                    _("is given, but the product has {options}").format(options=_options(count))
                ]
        variant.title = " / ".join(variant.options)
    if errors:
        raise OptionsRefused(errors)
    seen = Counter(variant.options for variant in variants)
    double = next((options for options, times in seen.items() if times > 1), None)
    if double is not None:
        raise OptionsRefused(_("The variant '{name}' already exists.").format(name=" / ".join(double)), field="base")


def _options(count: int) -> str:
    return ngettext("{number} option", "{number} options", count).format(number=count)


def arrange(product: Product, wanted: Sequence[OptionInput] | None, variants: Sequence[Variant]) -> bool:
    """Write the options of a product so that they fit its variants.

    Args:
        product: The product, locked.
        wanted: The options as they should be; None for as they are.
        variants: All its variants.

    Returns:
        Whether anything changed.
    """
    existing = options_of(product)
    if wanted is None:
        wanted = [OptionInput(option.name, list(option.values), option.pk) for option in existing]
    wanted = wanted or [OptionInput(DEFAULT_NAME)]
    rows = matched(existing, wanted)
    changed = False
    for index, (item, option) in enumerate(zip(wanted, rows, strict=True)):
        values = _values(item.values, [getattr(variant, COLUMNS[index]) for variant in variants])
        if option is None:
            changed = True
            ProductOption.objects.create(
                shop_id=product.shop_id, product=product, name=item.name, position=index + 1, values=values
            )
        elif (option.name, option.position, option.values) != (item.name, index + 1, values):
            changed = True
            option.name, option.position, option.values = item.name, index + 1, values
            option.save(update_fields=["name", "position", "values"])
    kept = {option.pk for option in rows if option is not None}
    gone = [option.pk for option in existing if option.pk not in kept]
    ProductOption.objects.filter(pk__in=gone).delete()
    return changed or bool(gone)


def _values(listed: Sequence[str], used: Sequence[str]) -> list[str]:
    """The values in use: first in the order in which they are listed, then as the variants come."""
    in_use = set(used)
    return list(dict.fromkeys([*(value for value in listed if value in in_use), *used]))


def first_combination(wanted: Sequence[OptionInput]) -> dict[str, str]:
    """The values of the one variant of a product that is made without variants."""
    values = [option.values[0] if option.values else DEFAULT_VALUE for option in wanted]
    return dict(zip(COLUMNS, values or [DEFAULT_VALUE], strict=False))
