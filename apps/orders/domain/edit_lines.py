"""Edit the line items of an existing order in one step: change quantities, add items and apply discounts.

Removed items are treated like canceled items: the line keeps its ordered quantity, and its current quantity is reduced.
Added items become new lines, even if an existing line has the same variant, so that payments, taxes and refunds of the
existing line stay unchanged. No money moves: a balance due is paid later, and an overpayment is refunded later.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID, at_least, at_most, too_long
from apps.core.i18n.messages import Amount, Message, define_message
from apps.core.money import ZERO, format_decimal, has_valid_precision
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.orders.domain import hooks, payments, stock_reservation
from apps.orders.domain.create.lines import MAX_LINES, MAX_QUANTITY, build_lines
from apps.orders.domain.pricing import prices, taxes, totals
from apps.orders.domain.selectors import get_line_items, get_shipping_lines, get_transactions, lock_order
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
_TOTAL_COLUMNS = {
    gettext_noop("Subtotal"): "current_subtotal_price",
    gettext_noop("Discounts"): "current_total_discounts",
    gettext_noop("Tax"): "current_total_tax",
    gettext_noop("Total"): "current_total_price",
    gettext_noop("Balance"): "outstanding",
}
# The columns of a line item that an edit saves.
_LINE_COLUMNS = (
    "current_quantity",
    "fulfillable_quantity",
    "taken_from",
    "total_discount",
    "discount",
    "discount_allocations",
    "tax",
    "tax_lines",
)
_MAX_MOVES_IN_MESSAGE = 5
_REMOVED = define_message("order_edits.removed", "{count} × {name} removed")
_ADDED = define_message("order_edits.added", "{count} × {name} added")
_DISCOUNTED = define_message("order_edits.discounted", "{money} off {name}")
_EDITED_MORE = define_message("order_edits.edited_more", "Edited: {moves}; and {count} more")
_EDITED = define_message("order_edits.edited", "Edited: {moves}")
_COLUMNS = (*totals.TOTAL_COLUMNS, "tax_lines", "discount_applications")


class EditRefused(DomainError):
    field = "line_items"


class EditConflict(EditRefused):
    """Raised when the order has changed since the caller read it."""

    field = "base"
    status = 409


@dataclass(frozen=True, slots=True)
class LineEdit:
    """An edit of one line item. ``discount`` is an additional discount on the whole line, in the order's currency."""

    quantity: int | None = None
    discount: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class OrderEdit:
    """A requested edit of an order's line items, keyed by line id.

    A new line needs either ``variant_id`` or both ``title`` and ``price``. ``quantity``, ``total_discount``,
    ``taxable`` and ``requires_shipping`` are optional. ``seen_version`` is the order version that the caller read, or
    None to skip the version check.
    """

    lines: Mapping[int, LineEdit] = field(default_factory=dict)
    new_lines: Sequence[ReadOnlyAttrs] = ()
    seen_version: int | None = None


def get_removable_quantity(line: LineItem) -> int:
    return min(line.current_quantity, line.fulfillable_quantity)


def get_max_discount(line: LineItem) -> Decimal:
    """Return the largest additional discount, which is zero if items of the line were removed or refunded."""
    is_complete = line.current_quantity == line.quantity and not line.refunded_quantity
    return line.net_price if is_complete else ZERO


def _resolve_line_edits(
    order: Order, lines: Sequence[LineItem], edit: OrderEdit
) -> tuple[dict[LineItem, int], dict[LineItem, Decimal], dict[LineItem, int]]:
    """Return three dicts keyed by line: removed quantities, discounts and added quantities."""
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
    if change > MAX_QUANTITY:
        return at_most(MAX_QUANTITY)
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


def _build_added_lines(
    order: Order, lines: Sequence[LineItem], edit: OrderEdit, increased: Mapping[LineItem, int]
) -> list[LineItem]:
    """Build the new lines with prices and taxes, without saving them or deducting stock."""
    if len(lines) + len(edit.new_lines) + len(increased) > MAX_LINES:
        raise EditRefused(too_long(MAX_LINES, "lines"))
    rows: list[LineItem] = []
    if edit.new_lines:
        rows, errors = build_lines(order, edit.new_lines)
        if errors := errors or prices.price_added_lines(order, rows, _most_common_taxes(lines)):
            raise EditRefused(errors)
    repeated = [_copy_line(line, count) for line, count in increased.items()]
    errors = {}
    for row, line in zip(repeated, increased, strict=True):
        errors |= prices.price_added_lines(order, [row], _taxes_with_rate(line))
    if errors:
        raise EditRefused(errors)
    new_lines = [*repeated, *rows]
    last_position = max((line.position for line in lines), default=-1)
    for position, row in enumerate(new_lines, last_position + 1):
        row.order, row.position = order, position
    return new_lines


def _copy_line(line: LineItem, count: int) -> LineItem:
    """Build a new line for additional items of an existing line, without that line's discounts."""
    return LineItem(
        shop=line.shop,
        variant=line.variant,
        product_id=line.product_id,
        quantity=count,
        current_quantity=count,
        fulfillable_quantity=count,
        **{name: getattr(line, name) for name in _COPIED_COLUMNS},
    )


def _taxes_with_rate(line: LineItem) -> list[Attrs]:
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
    all_taxes = [_taxes_with_rate(line) for line in lines if line.taxable]
    counts = Counter(map(repr, all_taxes))
    return max(all_taxes, key=lambda taxes: counts[repr(taxes)], default=[])


@dataclass(frozen=True, slots=True)
class EditResult:
    """The order after an edit, and what changed.

    ``changed_totals`` are the English name, old amount and new amount of each changed total. ``outstanding`` is
    negative if the shop owes the customer money.
    """

    order: Order
    changed_totals: Sequence[tuple[str, Decimal, Decimal]]
    changes: Sequence[Message]
    outstanding: Decimal


def preview_edit(order: Order, edit: OrderEdit, *, actor: str, at: datetime) -> EditResult:
    """Return the result of an edit without saving it. The edit runs in a transaction that is rolled back."""
    with transaction.atomic():
        outcome = edit_lines(order, edit, actor=actor, at=at)
        transaction.set_rollback(True)
    return outcome


@transaction.atomic
def edit_lines(order: Order, edit: OrderEdit, *, actor: str, at: datetime) -> EditResult:
    """Edit the line items of an order, and update stock, fulfillment orders, taxes, totals and statuses.

    Raises:
        EditRefused: The order is canceled or closed, the edit changes nothing, or a value is invalid.
        EditConflict: The order has changed since the caller read it.
        NotEnoughStock: A variant has too little stock and must not be oversold.
        AcceptedByService: A fulfillment service has accepted items that the edit removes.
    """
    order = lock_order(order)
    _check_editable(order, edit)
    lines, shipping, transactions = get_line_items(order), get_shipping_lines(order), get_transactions(order)
    before = _get_totals(order)
    removed, discounts, increased = _resolve_line_edits(order, lines, edit)
    added = _build_added_lines(order, lines, edit, increased)
    if not (removed or discounts or added):
        raise EditRefused(_("Nothing was changed"), field="base")
    fewer = {line.pk: count for line, count in removed.items()}
    sources: dict[int, Mapping[int, int]] = {}
    for hook in hooks.edit_hooks.values():
        sources |= hook(order, fewer, more=bool(added), actor=actor, at=at)
    all_lines = [*lines, *added]
    stock_reservation.exchange_stock(
        order, all_lines, added=added, removed=removed, sources=sources, actor=actor, at=at
    )
    for line, count in removed.items():
        line.current_quantity -= count
        line.fulfillable_quantity -= count
    for line, amount in discounts.items():
        prices.add_line_discount(order, line, amount)
    taxes.set_order_taxes(order, all_lines, shipping)
    totals.set_totals(order, all_lines, shipping)
    if errors := totals.check_limits(order):
        raise EditRefused(errors)
    changed_lines = sorted({*removed, *discounts}, key=lambda line: line.pk)
    LineItem.objects.bulk_update(changed_lines, _LINE_COLUMNS)
    hooks.notify_line_listeners(changed_lines, actor=actor, at=at)
    LineItem.objects.bulk_create(added)
    if order.units_counted:
        payments.count_sold_units(added)
    payments.recalculate_order(order, all_lines, transactions, actor=actor, at=at, columns=_COLUMNS)
    after = _get_totals(order)
    sums = [(name, old, after[name]) for name, old in before.items() if old != after[name]]
    moves = list(_describe_moves(order, removed, discounts, added))
    hidden = len(moves) - _MAX_MOVES_IN_MESSAGE
    record_event(
        "orders/edited",
        order,
        actor=actor,
        at=at,
        changes={
            column: [format_decimal(totals_by_name[name], order.currency) for totals_by_name in (before, after)]
            for name, column in _TOTAL_COLUMNS.items()
        },
        message=_EDITED_MORE(moves=moves[:_MAX_MOVES_IN_MESSAGE], count=hidden) if hidden > 0 else _EDITED(moves=moves),
    )
    return EditResult(order, sums, moves, order.outstanding)


def _check_editable(order: Order, edit: OrderEdit) -> None:
    if edit.seen_version is not None and edit.seen_version != order.version:
        raise EditConflict(
            _("Someone else changed this order. Nothing was saved. Reload the page and edit the items again.")
        )
    if order.cancelled_at is not None:
        raise EditRefused(_("The order is canceled. Its items can't be edited."), field="base")
    if order.closed_at is not None:
        raise EditRefused(_("The order is closed. Reopen it to edit its items."), field="base")


def _get_totals(order: Order) -> dict[str, Decimal]:
    return {name: getattr(order, column) for name, column in _TOTAL_COLUMNS.items()}


def _describe_moves(
    order: Order, removed: Mapping[LineItem, int], discounts: Mapping[LineItem, Decimal], added: Sequence[LineItem]
) -> Iterator[Message]:
    for line, count in removed.items():
        yield _REMOVED(count=count, name=line.name)
    for line in added:
        yield _ADDED(count=line.quantity, name=line.name)
    all_discounts = {**discounts, **{line: line.discount for line in added if line.discount}}
    for line, amount in all_discounts.items():
        yield _DISCOUNTED(money=Amount(format_decimal(amount, order.currency), order.currency), name=line.name)
