"""What is asked for when lines of an order are edited, and what of it can be."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.ground.attrs import Attrs, Errors, Given
from apps.ground.errors import DomainError
from apps.ground.money import ZERO, fits, text_of
from apps.ground.phrases import INVALID, at_least, at_most, too_long
from apps.orders.domain import items, pricing
from apps.orders.models import LineItem, Order

# What more units of a line have in common with it.
_SAME = (
    "title",
    "variant_title",
    "name",
    "sku",
    "vendor",
    "grams",
    "price",
    "properties",
    "requires_shipping",
    "taxable",
    "gift_card",
    "fulfillment_service",
    "variant_inventory_management",
)


class EditRefused(DomainError):
    """The lines cannot be edited so."""

    code = "edit_refused"
    field = "line_items"


@dataclass(frozen=True, slots=True)
class LineEdit:
    """What becomes of a line.

    Attributes:
        units: How many of it there are to be, in all; None for as many as there are.
        discount: A further discount for the whole line, in the order's currency.
    """

    units: int | None = None
    discount: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class Edit:
    """What is asked for.

    Attributes:
        lines: By the line's id.
        added: New lines: ``variant_id``, or ``title`` and ``price``; ``quantity``; ``total_discount``, ``taxable`` and
            ``requires_shipping`` as needed.
        seen_version: The version of the order that the caller saw; None for whatever there is.
    """

    lines: Mapping[int, LineEdit] = field(default_factory=dict)
    added: Sequence[Given] = ()
    seen_version: int | None = None


def removable(line: LineItem) -> int:
    """How many units of a line can leave the order: those that are neither sent nor refunded."""
    return min(line.current_quantity, line.fulfillable_quantity)


def discountable(line: LineItem) -> Decimal:
    """How much discount a line can have besides what it has; none once units of it left the order or were refunded."""
    whole = line.current_quantity == line.quantity and not line.refunded_quantity
    return pricing.net(line) if whole else ZERO


def asked(
    order: Order, lines: Sequence[LineItem], edit: Edit
) -> tuple[dict[LineItem, int], dict[LineItem, Decimal], dict[LineItem, int]]:
    """By line how many units leave it, how much discount it gets, and how many more of it are wanted.

    Raises:
        EditRefused: ``{field: [messages]}`` of what cannot be.
    """
    errors: Errors = {}
    fewer: dict[LineItem, int] = {}
    discounts: dict[LineItem, Decimal] = {}
    more: dict[LineItem, int] = {}
    by_id = {line.pk: line for line in lines}
    for pk, wanted in edit.lines.items():
        line = by_id.get(pk)
        if line is None:
            errors[f"line_items.{pk}"] = [INVALID]
            continue
        change = 0 if wanted.units is None else wanted.units - line.current_quantity
        if wrong := _wrong_units(line, change):
            errors[f"line_items.{pk}.quantity"] = [wrong]
        elif change:
            (more if change > 0 else fewer)[line] = abs(change)
        if wrong := _wrong_discount(order, line, wanted.discount, change):
            errors[f"line_items.{pk}.total_discount"] = [wrong]
        elif wanted.discount:
            discounts[line] = wanted.discount
    if errors:
        raise EditRefused(errors)
    return fewer, discounts, more


def _wrong_units(line: LineItem, change: int) -> str:
    if change > items.MAX_UNITS:
        return at_most(items.MAX_UNITS)
    if change >= -removable(line):
        return ""
    least = line.current_quantity - removable(line)
    if not least:
        return at_least(0)
    return _("must be at least {least}: units that were sent or refunded cannot be removed").format(least=least)


def _wrong_discount(order: Order, line: LineItem, discount: Decimal, change: int) -> str:
    most = discountable(line) if change >= 0 else ZERO
    if not discount:
        return ""
    if discount < 0 or not fits(discount, order.currency):
        return INVALID
    if not most:
        return _("cannot be given on a line of which units leave, left or were refunded, or that costs nothing")
    return at_most(text_of(most, order.currency)) if discount > most else ""


def added(order: Order, lines: Sequence[LineItem], edit: Edit, more: Mapping[LineItem, int]) -> list[LineItem]:
    """The new lines, priced and taxed; not saved, and not taken from stock.

    Raises:
        EditRefused: ``{field: [messages]}`` of what cannot be.
    """
    if len(lines) + len(edit.added) + len(more) > items.MAX_LINES:
        raise EditRefused(too_long(items.MAX_LINES, "lines"))
    rows: list[LineItem] = []
    if edit.added:
        rows, errors = items.build(order, edit.added)
        if errors := errors or pricing.price_added(order, rows, _usual_taxes(lines)):
            raise EditRefused(errors)
    again = [_again(line, count) for line, count in more.items()]
    errors = {}
    for row, line in zip(again, more, strict=True):
        errors |= pricing.price_added(order, [row], _rates(line))
    if errors:
        raise EditRefused(errors)
    made = [*again, *rows]
    last = max((line.position for line in lines), default=-1)
    for place, row in enumerate(made, last + 1):
        row.order, row.position = order, place
    return made


def _again(line: LineItem, count: int) -> LineItem:
    """More units of a line, as it was sold, without its discounts."""
    same = {name: getattr(line, name) for name in _SAME}
    return LineItem(
        shop=line.shop,
        variant=line.variant,
        product_id=line.product_id,
        quantity=count,
        current_quantity=count,
        fulfillable_quantity=count,
        **same,
    )


def _rates(line: LineItem) -> list[Attrs]:
    """The taxes of a line that go by a rate."""
    return [
        {
            "title": tax["title"],
            "rate": Decimal(tax["rate"]),
            "price": None,
            "channel_liable": tax.get("channel_liable"),
        }
        for tax in line.tax_lines
        if Decimal(tax["rate"])
    ]


def _usual_taxes(lines: Iterable[LineItem]) -> list[Attrs]:
    """The taxes that most taxable lines of an order have; nobody else knows what is due of a new one."""
    by_key = {repr(rates): rates for rates in (_rates(line) for line in lines if line.taxable)}
    counts = Counter(repr(_rates(line)) for line in lines if line.taxable)
    return by_key[counts.most_common(1)[0][0]] if counts else []
