"""Edit the line items of an existing order in one step: change quantities, add items and apply discounts.

Removed items are treated like canceled items: the line keeps its ordered quantity, and its current quantity is reduced.
Added items become new lines, even if an existing line has the same variant, so that payments, taxes and refunds of the
existing line stay unchanged. No money moves: a balance due is paid later, and an overpayment is refunded later.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.events.domain.recording import record_event
from apps.ground import languages
from apps.ground.money import format_decimal
from apps.ground.stored_messages import register_message, translate_stored
from apps.orders.domain import hooks, order_edits, payments, pricing, stock_reservation
from apps.orders.domain.order_edits import EditRefused, OrderEdit
from apps.orders.domain.selectors import get_line_items, get_shipping_lines, get_transactions, lock_order
from apps.orders.models import LineItem, Order

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


def _localize_moves(text: str) -> str:
    """Translate a stored list of changes into the active language."""
    return "; ".join(translate_stored(move) for move in text.split("; "))


_REMOVED = register_message(gettext_noop("{count} × {name} removed"))
_ADDED = register_message(gettext_noop("{count} × {name} added"))
_DISCOUNTED = register_message(gettext_noop("{money} off {name}"), money=languages.localize_stored_amount)
_EDITED_MORE = register_message(gettext_noop("Edited: {moves}; and {count} more"), moves=_localize_moves)
_EDITED = register_message(gettext_noop("Edited: {moves}"), moves=_localize_moves)
_COLUMNS = (*pricing.TOTAL_COLUMNS, "tax_lines", "discount_applications")


class EditConflict(EditRefused):
    """Raised when the order has changed since the caller read it."""

    code = "order_changed_meanwhile"
    field = "base"
    status = 409


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of an edit.

    Attributes:
        order: The order after the edit.
        changed_totals: The English name, old amount and new amount of each changed total.
        changes: The changes as English phrases.
        outstanding: The balance due after the edit, which is negative if the shop owes the customer money.
    """

    order: Order
    changed_totals: Sequence[tuple[str, Decimal, Decimal]]
    changes: Sequence[str]
    outstanding: Decimal


def preview_edit(order: Order, edit: OrderEdit, *, actor: str, at: datetime) -> EditResult:
    """Return the result of an edit without saving it. The edit runs in a transaction that is rolled back.

    Raises:
        DomainError: See ``edit_lines``.
    """
    with transaction.atomic():
        outcome = edit_lines(order, edit, actor=actor, at=at)
        transaction.set_rollback(True)
    return outcome


@transaction.atomic
def edit_lines(order: Order, edit: OrderEdit, *, actor: str, at: datetime) -> EditResult:
    """Edit the line items of an order, and update stock, fulfillment orders, taxes, totals and statuses.

    Args:
        order: The order, which this function locks and reloads.
        edit: The requested changes.
        actor: The actor of the events.
        at: The current time.

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
    removed, discounts, increased = order_edits.resolve_line_edits(order, lines, edit)
    added = order_edits.build_added_lines(order, lines, edit, increased)
    if not (removed or discounts or added):
        raise EditRefused(_("Nothing was changed"), field="base")
    for hook in hooks.edit_hooks:
        hook(order, {line.pk: count for line, count in removed.items()}, more=bool(added), actor=actor, at=at)
    all_lines = [*lines, *added]
    stock_reservation.exchange_stock(order, all_lines, added=added, removed=removed, actor=actor, at=at)
    for line, count in removed.items():
        line.current_quantity -= count
        line.fulfillable_quantity -= count
    for line, amount in discounts.items():
        pricing.add_line_discount(order, line, amount)
    pricing.set_order_taxes(order, all_lines, shipping)
    pricing.set_totals(order, all_lines, shipping)
    if errors := pricing.check_limits(order):
        raise EditRefused(errors)
    _save_lines({*removed, *discounts}, added)
    if order.units_counted:
        payments.count_sold_units(added)
    payments.recalculate_order(order, all_lines, transactions, actor=actor, at=at, columns=_COLUMNS)
    after = _get_totals(order)
    sums = [(name, old, after[name]) for name, old in before.items() if old != after[name]]
    moves = list(_describe_moves(order, removed, discounts, added))
    record_event(
        "orders/edited",
        order,
        actor=actor,
        at=at,
        changes={
            column: [_format_amount(order, before[name]), _format_amount(order, after[name])]
            for name, column in _TOTAL_COLUMNS.items()
        },
        message=_event_message(moves),
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


def _save_lines(changed: Iterable[LineItem], added: Sequence[LineItem]) -> None:
    LineItem.objects.bulk_update(sorted(changed, key=lambda line: line.pk), _LINE_COLUMNS)
    LineItem.objects.bulk_create(added)


def _describe_moves(
    order: Order, removed: Mapping[LineItem, int], discounts: Mapping[LineItem, Decimal], added: Sequence[LineItem]
) -> Iterator[str]:
    for line, count in removed.items():
        yield _REMOVED.format(count=count, name=line.name)
    for line in added:
        yield _ADDED.format(count=line.quantity, name=line.name)
    all_discounts = {**discounts, **{line: line.discount for line in added if line.discount}}
    for line, amount in all_discounts.items():
        yield _DISCOUNTED.format(money=f"{format_decimal(amount, order.currency)} {order.currency}", name=line.name)


def _format_amount(order: Order, amount: Decimal) -> str:
    return format_decimal(amount, order.currency)


def _event_message(moves: Sequence[str]) -> str:
    """Return the event message, which lists at most ``_MAX_MOVES_IN_MESSAGE`` changes."""
    template, joined_moves = (
        (_EDITED_MORE if len(moves) > _MAX_MOVES_IN_MESSAGE else _EDITED),
        "; ".join(move[:100] for move in moves[:_MAX_MOVES_IN_MESSAGE]),
    )
    return template.format(moves=joined_moves, count=len(moves) - _MAX_MOVES_IN_MESSAGE)
