"""The three statuses of an order, each derived in one place from what happened to it.

Nothing else writes them: whoever changes lines or transactions calls ``follow``.
Rule: decisions, Orders.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from apps.ground.money import ZERO
from apps.orders.models import LineItem, Order, Transaction

Financial = Order.FinancialStatus
Fulfillment = Order.FulfillmentStatus
Kind = Transaction.Kind
COLUMNS = ("status", "financial_status", "fulfillment_status", "total_paid", "total_refunded", "payment_gateway_names")


def status_of(order: Order) -> Order.Status:
    """Open, closed or cancelled."""
    if order.cancelled_at is not None:
        return Order.Status.CANCELLED
    return Order.Status.CLOSED if order.closed_at is not None else Order.Status.OPEN


def financial_status_of(order: Order, transactions: Sequence[Transaction]) -> Financial:
    """How far an order is paid, in its own currency; what was refunded before it was paid is not owed any more."""
    done = [row for row in transactions if row.status == Transaction.Status.SUCCESS]
    paid = _sum(done, Kind.SALE, Kind.CAPTURE)
    refunded = _sum(done, Kind.REFUND)
    if refunded:
        return Financial.REFUNDED if refunded >= paid else Financial.PARTIALLY_REFUNDED
    if paid >= order.total_price or (paid and not order.cancelled_at and paid >= order.current_total_price):
        return Financial.PAID
    if paid:
        return Financial.PARTIALLY_PAID
    if any(row.unsettled for row in done):
        return Financial.AUTHORIZED
    return Financial.VOIDED if any(row.kind == Kind.VOID for row in done) else Financial.PENDING


def fulfillment_status_of(order: Order, lines: Sequence[LineItem]) -> Fulfillment:
    """How far an order is sent: restocked means cancelled, with all its units back in stock."""
    if lines and not any(
        line.current_quantity or line.fulfillable_quantity or line.fulfilled_quantity for line in lines
    ):
        return Fulfillment.RESTOCKED
    sent = sum(line.fulfilled_quantity for line in lines)
    waiting = sum(line.fulfillable_quantity for line in lines)
    if not sent:
        return Fulfillment.UNFULFILLED
    return Fulfillment.PARTIAL if waiting else Fulfillment.FULFILLED


def line_status_of(quantity: int, current: int, fulfillable: int, fulfilled: int) -> str | None:
    """How far a line is sent, as the interface names it."""
    if not fulfilled:
        return None if current or fulfillable else "restocked"
    return "partial" if fulfillable else "fulfilled"


def follow(order: Order, lines: Sequence[LineItem], transactions: Sequence[Transaction]) -> None:
    """Set what follows from an order's lines and transactions; the caller saves ``COLUMNS``."""
    done = [row for row in transactions if row.status == Transaction.Status.SUCCESS]
    order.total_paid = _sum(done, Kind.SALE, Kind.CAPTURE)
    order.total_refunded = _sum(done, Kind.REFUND)
    order.payment_gateway_names = list(dict.fromkeys(row.gateway for row in transactions))
    order.status = status_of(order)
    order.financial_status = financial_status_of(order, transactions)
    order.fulfillment_status = fulfillment_status_of(order, lines)


def _sum(rows: Iterable[Transaction], *kinds: str) -> Decimal:
    return sum((row.shop_amount for row in rows if row.kind in kinds), ZERO)
