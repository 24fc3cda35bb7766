"""Validate edits of line items."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.ground.error_messages import INVALID, at_least, at_most, too_long
from apps.ground.exceptions import DomainError
from apps.ground.money import ZERO, format_decimal, has_valid_precision
from apps.ground.types import Attrs, Errors, ReadOnlyAttrs
from apps.orders.domain import draft_lines, pricing
from apps.orders.models import LineItem, Order

# The columns that a new line copies from an existing line when the quantity is increased.
_COPIED_COLUMNS = (
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
    """Raised when an edit is not possible."""

    code = "edit_refused"
    field = "line_items"


@dataclass(frozen=True, slots=True)
class LineEdit:
    """An edit of one line item.

    Attributes:
        quantity: The new quantity, or None to keep the current quantity.
        discount: An additional discount on the whole line, in the order's currency.
    """

    quantity: int | None = None
    discount: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class OrderEdit:
    """A requested edit of an order's line items.

    Attributes:
        lines: The edits, keyed by line id.
        new_lines: The values of each new line. A line needs either ``variant_id`` or both ``title`` and ``price``.
            ``quantity``, ``total_discount``, ``taxable`` and ``requires_shipping`` are optional.
        seen_version: The order version that the caller read, or None to skip the version check.
    """

    lines: Mapping[int, LineEdit] = field(default_factory=dict)
    new_lines: Sequence[ReadOnlyAttrs] = ()
    seen_version: int | None = None


def get_removable_quantity(line: LineItem) -> int:
    """Return the quantity that is neither fulfilled nor refunded and can therefore be removed."""
    return min(line.current_quantity, line.fulfillable_quantity)


def get_max_discount(line: LineItem) -> Decimal:
    """Return the largest additional discount, which is zero if items of the line were removed or refunded."""
    is_complete = line.current_quantity == line.quantity and not line.refunded_quantity
    return pricing.get_net_price(line) if is_complete else ZERO


def resolve_line_edits(
    order: Order, lines: Sequence[LineItem], edit: OrderEdit
) -> tuple[dict[LineItem, int], dict[LineItem, Decimal], dict[LineItem, int]]:
    """Return three dicts keyed by line: removed quantities, discounts and added quantities.

    Raises:
        EditRefused: Values are invalid. The errors are ``{field: [messages]}``.
    """
    errors: Errors = {}
    removed: dict[LineItem, int] = {}
    discounts: dict[LineItem, Decimal] = {}
    increased: dict[LineItem, int] = {}
    by_id = {line.pk: line for line in lines}
    for pk, line_edit in edit.lines.items():
        line = by_id.get(pk)
        if line is None:
            errors[f"line_items.{pk}"] = [INVALID]
            continue
        change = 0 if line_edit.quantity is None else line_edit.quantity - line.current_quantity
        if message := _check_quantity(line, change):
            errors[f"line_items.{pk}.quantity"] = [message]
        elif change:
            (increased if change > 0 else removed)[line] = abs(change)
        if message := _check_discount(order, line, line_edit.discount, change):
            errors[f"line_items.{pk}.total_discount"] = [message]
        elif line_edit.discount:
            discounts[line] = line_edit.discount
    if errors:
        raise EditRefused(errors)
    return removed, discounts, increased


def _check_quantity(line: LineItem, change: int) -> str:
    if change > draft_lines.MAX_QUANTITY:
        return at_most(draft_lines.MAX_QUANTITY)
    if change >= -get_removable_quantity(line):
        return ""
    least = line.current_quantity - get_removable_quantity(line)
    if not least:
        return at_least(0)
    return _("must be at least {least}: fulfilled or refunded items cannot be removed").format(least=least)


def _check_discount(order: Order, line: LineItem, discount: Decimal, change: int) -> str:
    most = get_max_discount(line) if change >= 0 else ZERO
    if not discount:
        return ""
    if discount < 0 or not has_valid_precision(discount, order.currency):
        return INVALID
    if not most:
        return _("is not possible if the item is free or refunded, or if you reduce the quantity")
    return at_most(format_decimal(most, order.currency)) if discount > most else ""


def build_added_lines(
    order: Order, lines: Sequence[LineItem], edit: OrderEdit, increased: Mapping[LineItem, int]
) -> list[LineItem]:
    """Build the new lines with prices and taxes, without saving them or deducting stock.

    Raises:
        EditRefused: Values are invalid. The errors are ``{field: [messages]}``.
    """
    if len(lines) + len(edit.new_lines) + len(increased) > draft_lines.MAX_LINES:
        raise EditRefused(too_long(draft_lines.MAX_LINES, "lines"))
    rows: list[LineItem] = []
    if edit.new_lines:
        rows, errors = draft_lines.build_lines(order, edit.new_lines)
        if errors := errors or pricing.price_added_lines(order, rows, _most_common_taxes(lines)):
            raise EditRefused(errors)
    repeated = [_copy_line(line, count) for line, count in increased.items()]
    errors = {}
    for row, line in zip(repeated, increased, strict=True):
        errors |= pricing.price_added_lines(order, [row], _taxes_with_rate(line))
    if errors:
        raise EditRefused(errors)
    new_lines = [*repeated, *rows]
    last_position = max((line.position for line in lines), default=-1)
    for position, row in enumerate(new_lines, last_position + 1):
        row.order, row.position = order, position
    return new_lines


def _copy_line(line: LineItem, count: int) -> LineItem:
    """Build a new line for additional items of an existing line, without that line's discounts."""
    columns = {name: getattr(line, name) for name in _COPIED_COLUMNS}
    return LineItem(
        shop=line.shop,
        variant=line.variant,
        product_id=line.product_id,
        quantity=count,
        current_quantity=count,
        fulfillable_quantity=count,
        **columns,
    )


def _taxes_with_rate(line: LineItem) -> list[Attrs]:
    """Return a line's taxes that have a rate, without the amounts."""
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


def _most_common_taxes(lines: Iterable[LineItem]) -> list[Attrs]:
    """Return the most common taxes of the order's taxable lines, as the best guess for a new line."""
    by_key = {repr(rates): rates for rates in (_taxes_with_rate(line) for line in lines if line.taxable)}
    counts = Counter(repr(_taxes_with_rate(line)) for line in lines if line.taxable)
    return by_key[counts.most_common(1)[0][0]] if counts else []
