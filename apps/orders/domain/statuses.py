"""Derive the three statuses of an order from its rows, and build the order status page.

Only ``update_statuses`` sets the statuses. All code that changes lines or transactions must call this function.

The link to the order status page alone grants access, and emails are often forwarded. The page therefore contains no
address, name, email or phone number.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.money import ZERO
from apps.core.types import Attrs
from apps.orders.domain.pricing.presentment import get_presentment_lines
from apps.orders.domain.pricing.totals import format_totals, get_presentment_formatter
from apps.orders.domain.selectors import get_line_items, get_shipping_lines
from apps.orders.models import LineItem, Order, Transaction
from apps.shops.domain.countries import localize_country

FinancialStatus = Order.FinancialStatus
FulfillmentStatus = Order.FulfillmentStatus
Kind = Transaction.Kind
STATUS_COLUMNS = (
    "status",
    "financial_status",
    "fulfillment_status",
    "total_paid",
    "total_refunded",
    "payment_gateway_names",
)
FULFILLMENT_LABELS = {
    Order.FulfillmentStatus.UNFULFILLED: gettext_lazy("Not shipped yet"),
    Order.FulfillmentStatus.PARTIAL: gettext_lazy("Partially shipped"),
    Order.FulfillmentStatus.FULFILLED: gettext_lazy("Shipped"),
    Order.FulfillmentStatus.RESTOCKED: gettext_lazy("Not shipped"),
}


def get_order_status(order: Order) -> Order.Status:
    if order.cancelled_at is not None:
        return Order.Status.CANCELLED
    return Order.Status.CLOSED if order.closed_at is not None else Order.Status.OPEN


def get_financial_status(order: Order, transactions: Sequence[Transaction]) -> FinancialStatus:
    """Return the financial status. If items were removed, the order is paid once the current total is paid.

    A canceled order without payments is voided, because nothing is owed for it.
    """
    successful = [row for row in transactions if row.status == Transaction.Status.SUCCESS]
    paid_amount = _sum(successful, Kind.SALE, Kind.CAPTURE)
    refunded = _sum(successful, Kind.REFUND)
    if refunded:
        return FinancialStatus.REFUNDED if refunded >= paid_amount else FinancialStatus.PARTIALLY_REFUNDED
    if paid_amount >= order.total_price or (
        paid_amount and not order.cancelled_at and paid_amount >= order.current_total_price
    ):
        return FinancialStatus.PAID
    if paid_amount:
        return FinancialStatus.PARTIALLY_PAID
    if any(row.unsettled for row in successful):
        return FinancialStatus.AUTHORIZED
    is_voided = order.cancelled_at is not None or any(row.kind == Kind.VOID for row in successful)
    return FinancialStatus.VOIDED if is_voided else FinancialStatus.PENDING


def get_order_fulfillment_status(order: Order, lines: Sequence[LineItem]) -> FulfillmentStatus:
    """Return the fulfillment status of the order, which is "restocked" if all items left the order with restocking."""
    if lines and not any(
        line.current_quantity or line.fulfillable_quantity or line.fulfilled_quantity or line.unrestocked_quantity
        for line in lines
    ):
        return FulfillmentStatus.RESTOCKED
    fulfilled = sum(line.fulfilled_quantity for line in lines)
    unfulfilled = sum(line.fulfillable_quantity for line in lines)
    if not fulfilled:
        return FulfillmentStatus.UNFULFILLED
    return FulfillmentStatus.PARTIAL if unfulfilled else FulfillmentStatus.FULFILLED


def get_line_status(current: int, fulfillable: int, fulfilled: int, unrestocked: int) -> str | None:
    if not fulfilled:
        return None if current or fulfillable or unrestocked else "restocked"
    return "partial" if fulfillable else "fulfilled"


def update_statuses(order: Order, lines: Sequence[LineItem], transactions: Sequence[Transaction]) -> None:
    """Set the columns in ``STATUS_COLUMNS``, which depend on lines and transactions. The caller saves the order."""
    successful = [row for row in transactions if row.status == Transaction.Status.SUCCESS]
    order.total_paid = _sum(successful, Kind.SALE, Kind.CAPTURE)
    order.total_refunded = _sum(successful, Kind.REFUND)
    order.set_presentment(
        total_paid=_sum_presentment(order, successful, Kind.SALE, Kind.CAPTURE),
        total_refunded=_sum_presentment(order, successful, Kind.REFUND),
    )
    order.payment_gateway_names = list(dict.fromkeys(row.gateway for row in transactions))
    order.status = get_order_status(order)
    order.financial_status = get_financial_status(order, transactions)
    order.fulfillment_status = get_order_fulfillment_status(order, lines)


def _sum(rows: Iterable[Transaction], *kinds: str) -> Decimal:
    return sum((row.shop_amount for row in rows if row.kind in kinds), ZERO)


def _sum_presentment(order: Order, rows: Sequence[Transaction], *kinds: str) -> Decimal:
    converted = order.to_presentment(_sum((row for row in rows if row.currency == order.currency), *kinds))
    amounts = (row.amount for row in rows if row.kind in kinds and row.currency != order.currency)
    return sum(amounts, converted)


def get_status_page_url(shop_id: int, token: str) -> str:
    return f"{settings.BASE_URL}/orders/{shop_id}/{token}"


def get_status_page_context(order: Order) -> Attrs:
    """Return the context of the order status page and of emails."""
    money = get_presentment_formatter(order)
    outstanding, lines, shipping = order.presentment_outstanding, get_line_items(order), get_shipping_lines(order)
    presentment_lines = get_presentment_lines(order, lines, shipping)
    balance_row = [(_("Balance due"), money(outstanding))] if outstanding > 0 else []
    address = order.shipping_address or {}
    country = localize_country(address.get("country_code"), address.get("country"))
    return {
        "order": order,
        "lines": [
            {
                "name": line.name,
                "quantity": line.quantity,
                "removed": line.quantity - line.current_quantity,
                "amount": money(presentment_lines[id(line)].net_price),
            }
            for line in lines
        ],
        "sums": [*format_totals(order, in_presentment=True), *balance_row],
        "sent": FULFILLMENT_LABELS[Order.FulfillmentStatus(order.fulfillment_status)],
        "shipping": ", ".join(row.title for row in shipping if not row.is_removed),
        "destination": ", ".join(part for part in (address.get("city"), country) if part),
        "status_url": get_status_page_url(order.shop_id, order.token),
    }
