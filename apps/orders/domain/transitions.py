"""Cancel, close and reopen orders. No other code writes ``cancelled_at`` and ``closed_at``."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError, TransitionRefused
from apps.core.i18n.messages import Message, define_text
from apps.core.jobs.queue import enqueue
from apps.core.money import ZERO
from apps.core.types import ReadOnlyAttrs
from apps.inventory.domain.movements import StockChange
from apps.orders.domain import customer_totals, hooks, payments, statuses, stock_reservation
from apps.orders.domain.pricing import totals
from apps.orders.domain.selectors import get_line_items, get_shipping_lines, get_transactions, lock_order
from apps.orders.models import LineItem, Order, ShippingLine, Transaction

_ALREADY_CANCELED = define_text("orders.already_canceled", "The order is already canceled")
_HAS_FULFILLED_ITEMS = define_text("orders.has_fulfilled_items", "An order with fulfilled items cannot be canceled")

_CLOSED = define_text("orders.closed", "Order closed")
_REOPENED = define_text("orders.reopened", "Order reopened")


class NotCancellable(TransitionRefused):
    pass


class NotReopenable(TransitionRefused):
    pass


class RefundsUnavailable(DomainError):
    field = "amount"


@transaction.atomic
def cancel_order(
    order: Order,
    *,
    actor: str,
    at: datetime,
    reason: str = Order.CancelReason.OTHER,
    restock: bool = True,
    refund: ReadOnlyAttrs | None = None,
    notify: bool = False,
) -> Order:
    """Cancel an unfulfilled order, and void its open authorizations. Payments are only refunded with ``refund``.

    ``restock`` removes the items from the order and returns them to their locations. ``refund`` is either ``amount``
    and ``currency``, or ``refund`` as in the request body of a refund. ``notify`` emails the customer.

    Raises:
        NotCancellable: The order is already canceled or has fulfilled items.
        RefundsUnavailable: A refund is requested, but no app has registered a refund hook.
        DomainError: A hook refuses the cancellation.
    """
    order = lock_order(order)
    if order.cancelled_at is not None:
        raise NotCancellable(_ALREADY_CANCELED)
    lines = get_line_items(order)
    if any(line.fulfilled_quantity for line in lines):
        raise NotCancellable(_HAS_FULFILLED_ITEMS)
    customer_totals.lock_order_customer(order.customer_id)
    for hook in hooks.cancellation_hooks.values():
        hook(order, actor=actor, at=at)
    order.cancelled_at, order.cancel_reason = at, reason
    moves: Sequence[StockChange] = ()
    if refund is not None:
        # Save the order first, because the refund hook locks and reloads it.
        order.status = statuses.get_order_status(order)
        order.save(update_fields=["cancelled_at", "cancel_reason", "status"])
        if (refund_order := hooks.get_refund_hook()) is None:
            raise RefundsUnavailable(_("cannot be refunded because refunds are not available in this installation"))
        moves = refund_order(order, refund, restock=restock, actor=actor, at=at)
        order, lines = lock_order(order), get_line_items(order)
    transactions = get_transactions(order)
    _void_authorizations(order, transactions, actor=actor, at=at)
    _release_items(order, lines, restock=restock, other_moves=moves, actor=actor, at=at)
    payments.recalculate_order(
        order,
        lines,
        transactions,
        actor=actor,
        at=at,
        columns=["cancelled_at", "cancel_reason", *totals.CURRENT_TOTAL_COLUMNS],
    )
    changes = {"cancelled_at": [None, at.isoformat()], "cancel_reason": ["", reason]}
    record_event("orders/cancelled", order, actor=actor, at=at, changes=changes)
    if notify and order.email:
        enqueue("orders.send_cancellation", actor=actor, order_id=order.pk)
    return order


def _void_authorizations(order: Order, transactions: list[Transaction], *, actor: str, at: datetime) -> None:
    """Void authorizations without captures, and set the remaining amount of partly captured authorizations to zero.

    An authorization with a pending capture stays open, because the result of the capture is recorded later.
    """
    open_rows = [row for row in transactions if row.unsettled]
    hooks.lock_money(order, open_rows)
    for row in open_rows:
        captures = payments.get_captures(row, transactions)
        if any(capture.status == Transaction.Status.PENDING for capture in captures):
            continue
        if captures:
            amount, row.unsettled = row.unsettled, ZERO
            row.save(update_fields=["unsettled"])
            hooks.release_money(row, amount, transaction=row, actor=actor, at=at)
            continue
        void = payments.build_transaction(
            order, transactions, {"kind": Transaction.Kind.VOID, "parent_id": row.pk}, at=at
        )
        payments.save_transactions([void])
        hooks.move_money(void, actor=actor, at=at)
        transactions.append(void)
        record_event("order_transactions/create", void, actor=actor, at=at)


def _release_items(
    order: Order, lines: list[LineItem], *, restock: bool, other_moves: Sequence[StockChange], actor: str, at: datetime
) -> None:
    """Set the unfulfilled quantities to zero and, with ``restock``, remove the items from the order."""
    units = {line: line.current_quantity for line in lines} if restock else {}
    stock_reservation.return_order_stock(order, units, other_moves=other_moves, actor=actor, at=at)
    for line in lines:
        line.fulfillable_quantity = 0
        if restock:
            line.current_quantity = 0
    LineItem.objects.bulk_update(lines, ["fulfillable_quantity", "current_quantity", "taken_from"])
    hooks.notify_line_listeners(lines, actor=actor, at=at)
    if restock:
        ShippingLine.objects.filter(order=order).update(is_removed=True)
    totals.set_current_totals(order, lines, get_shipping_lines(order))


@transaction.atomic
def close_order(order: Order, *, actor: str, at: datetime) -> Order:
    order = lock_order(order)
    if order.closed_at is None:
        _set_closed_at(order, closed_at=at, actor=actor, at=at, message=_CLOSED)
    return order


@transaction.atomic
def reopen_order(order: Order, *, actor: str, at: datetime) -> Order:
    order = lock_order(order)
    if order.cancelled_at is not None:
        raise NotReopenable(_("A canceled order cannot be reopened"))
    if order.closed_at is not None:
        _set_closed_at(order, closed_at=None, actor=actor, at=at, message=_REOPENED)
    return order


def _set_closed_at(order: Order, *, closed_at: datetime | None, actor: str, at: datetime, message: Message) -> None:
    before = order.closed_at
    order.closed_at = closed_at
    order.status = statuses.get_order_status(order)
    order.save(update_fields=["closed_at", "status"])
    moments = [moment.isoformat() if moment else None for moment in (before, closed_at)]
    record_event("orders/updated", order, actor=actor, at=at, message=message, changes={"closed_at": moments})
