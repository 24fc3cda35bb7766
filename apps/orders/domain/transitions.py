"""The moves of an order as a whole: cancelled, closed, opened again. Nothing else writes these moments."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.events.domain.recording import record_event
from apps.ground.attrs import Given
from apps.ground.errors import DomainError, TransitionRefused
from apps.ground.money import ZERO
from apps.inventory.domain.movements import Move
from apps.jobs.domain.queue import enqueue
from apps.orders.domain import buyers, hooks, payments, pricing, statuses, stocking
from apps.orders.domain.loading import lines_of, lock, shipping_of, transactions_of
from apps.orders.models import LineItem, Order, ShippingLine, Transaction

CURRENT = (
    "current_subtotal_price",
    "current_total_discounts",
    "current_total_tax",
    "current_total_duties",
    "current_total_price",
    "total_removed",
)


class NotCancellable(TransitionRefused):
    """The order is cancelled already, or on its way."""

    code = "order_not_cancellable"


class NotOpenable(TransitionRefused):
    """A cancelled order stays cancelled."""

    code = "order_not_openable"


class NoRefunds(DomainError):
    """Money cannot be given back here."""

    code = "no_refunds"
    field = "amount"


@transaction.atomic
def cancel(
    order: Order,
    *,
    actor: str,
    at: datetime,
    reason: str = Order.CancelReason.OTHER,
    restock: bool = True,
    refund: Given | None = None,
    notify: bool = False,
) -> Order:
    """Cancel an order that was not sent: its open authorizations are voided, its units go back to stock if asked for.

    Money that was paid stays where it is unless ``refund`` says so.

    Args:
        order: Read again under a lock.
        actor: Who.
        at: When.
        reason: Why.
        restock: Whether the units leave the order and go back to the stock that they were taken from.
        refund: ``amount`` and ``currency``, or ``refund`` as in the body of a refund; None for none.
        notify: Whether the buyer gets a mail.

    Raises:
        NotCancellable: It is cancelled already, or units of it were sent.
        NoRefunds: A refund is asked for, and nothing here gives money back.
        DomainError: What a hook refuses.
    """
    order = lock(order)
    if order.cancelled_at is not None:
        raise NotCancellable(_("The order is cancelled already"))
    lines = lines_of(order)
    if any(line.fulfilled_quantity for line in lines):
        raise NotCancellable(_("An order of which items were sent cannot be cancelled"))
    if order.customer_id is not None:
        buyers.locked(order.customer_id)
    for cancelled in hooks.cancellations:
        cancelled(order, actor=actor, at=at)
    order.cancelled_at, order.cancel_reason = at, reason
    moves: Sequence[Move] = ()
    if refund is not None:
        # The refund locks and reads the order itself.
        order.status = statuses.status_of(order)
        order.save(update_fields=["cancelled_at", "cancel_reason", "status"])
        moves = _refund(order, refund, restock=restock, actor=actor, at=at)
        order, lines = lock(order), lines_of(order)
    known = transactions_of(order)
    _void(order, known, actor=actor, at=at)
    _let_go(order, lines, restock=restock, besides=moves, actor=actor, at=at)
    payments.settle(order, lines, known, actor=actor, at=at, columns=["cancelled_at", "cancel_reason", *CURRENT])
    changes = {"cancelled_at": [None, at.isoformat()], "cancel_reason": ["", reason]}
    record_event("orders/cancelled", order, actor=actor, at=at, changes=changes)
    if notify and order.email:
        enqueue("orders.cancellation", actor=actor, order_id=order.pk)
    return order


def _refund(order: Order, parts: Given, *, restock: bool, actor: str, at: datetime) -> Sequence[Move]:
    refunder = hooks.refunder()
    if refunder is None:
        raise NoRefunds(_("cannot be refunded here"))
    return refunder(order, parts, restock=restock, actor=actor, at=at)


def _void(order: Order, known: list[Transaction], *, actor: str, at: datetime) -> None:
    """Void every authorization of which nothing was captured; what is left of others lapses.

    While a capture is pending, its authorization stays: what becomes of it is noted on the cancelled order, too.
    """
    for row in [row for row in known if row.unsettled]:
        captures = payments.captures_of(row, known)
        if any(capture.status == Transaction.Status.PENDING for capture in captures):
            continue
        if captures:
            row.unsettled = ZERO
            row.save(update_fields=["unsettled"])
            continue
        void = payments.draft(order, known, {"kind": Transaction.Kind.VOID, "parent_id": row.pk}, at=at)
        payments.save([void])
        known.append(void)
        record_event("order_transactions/create", void, actor=actor, at=at)


def _let_go(
    order: Order, lines: list[LineItem], *, restock: bool, besides: Sequence[Move], actor: str, at: datetime
) -> None:
    """Nothing is left to be sent; with ``restock`` nothing is left in the order either."""
    units = {line: line.current_quantity for line in lines} if restock else {}
    stocking.give_back(order, units, besides=besides, actor=actor, at=at)
    for line in lines:
        line.fulfillable_quantity = 0
        if restock:
            line.current_quantity = 0
    LineItem.objects.bulk_update(lines, ["fulfillable_quantity", "current_quantity", "taken_from"])
    if restock:
        ShippingLine.objects.filter(order=order).update(is_removed=True)
    pricing.total_currently(order, lines, shipping_of(order))


@transaction.atomic
def close(order: Order, *, actor: str, at: datetime) -> Order:
    """Put an order into the archive; nothing happens to one that is there."""
    order = lock(order)
    if order.closed_at is None:
        _move(order, closed_at=at, actor=actor, at=at, message=gettext_noop("Order closed"))
    return order


@transaction.atomic
def reopen(order: Order, *, actor: str, at: datetime) -> Order:
    """Take an order out of the archive; nothing happens to one that is open.

    Raises:
        NotOpenable: It is cancelled.
    """
    order = lock(order)
    if order.cancelled_at is not None:
        raise NotOpenable(_("A cancelled order cannot be opened again"))
    if order.closed_at is not None:
        _move(order, closed_at=None, actor=actor, at=at, message=gettext_noop("Order opened again"))
    return order


def _move(order: Order, *, closed_at: datetime | None, actor: str, at: datetime, message: str) -> None:
    before = order.closed_at
    order.closed_at = closed_at
    order.status = statuses.status_of(order)
    order.save(update_fields=["closed_at", "status"])
    moments = [moment.isoformat() if moment else None for moment in (before, closed_at)]
    record_event("orders/updated", order, actor=actor, at=at, message=message, changes={"closed_at": moments})
