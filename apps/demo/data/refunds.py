"""Demo data: four refunds of different kinds."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import F

from apps.core.money import round_money
from apps.core.tenancy.models import Shop
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import Order
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundLineInput, RefundRequest, RefundTransactionInput
from apps.refunds.models import RefundLineItem

ACTOR = "system"
_FulfillmentStatus = Order.FulfillmentStatus
# Newer unfulfilled orders are not refunded, because they demonstrate fulfillment.
_MIN_AGE = timedelta(days=5)


def create_demo_refunds(shop: Shop, at: datetime) -> None:
    paid_orders = Order.objects.filter(
        status=Order.Status.OPEN,
        financial_status=Order.FinancialStatus.PAID,
        presentment_currency=F("currency"),
        total_price__gt=Decimal(20),
    ).order_by("-pk")
    waiting = paid_orders.filter(fulfillment_status=_FulfillmentStatus.UNFULFILLED, created_at__lt=at - _MIN_AGE)
    for order in waiting[:1]:
        _refund_items(order, 1, "Ordered twice by mistake.", at - timedelta(hours=12))
    fulfilled = list(paid_orders.filter(fulfillment_status=_FulfillmentStatus.FULFILLED)[:3])
    if len(fulfilled) == 3:
        _refund_items(fulfilled[0], 1, "One arrived chipped.", at - timedelta(hours=2), restock=False)
        refund_request = RefundRequest(transaction_inputs=[RefundTransactionInput(Decimal(4))], note="For the delay.")
        create.create_refund(fulfilled[1], refund_request, actor=ACTOR, at=at - timedelta(hours=5))
        _refund_items(fulfilled[2], None, "All of it came back.", at - timedelta(hours=9))


def _refund_items(order: Order, count: int | None, note: str, at: datetime, *, restock: bool = True) -> None:
    """Refund ``count`` items of the first line item, or the whole order with shipping if ``count`` is None.

    The suggested amount is refunded. Restocked items return to the location they were taken from.
    """
    lines = get_line_items(order) if count is None else get_line_items(order)[:1]
    restock_type = None if restock else RefundLineItem.RestockType.NO_RESTOCK
    units = [RefundLineInput(line.pk, count or line.current_quantity, restock_type) for line in lines]
    refund_request = RefundRequest(line_inputs=units, full_shipping=count is None, restock=restock, note=note)
    _, result, _ = create.calculate_refund(order, refund_request)
    transaction_input = RefundTransactionInput(round_money(result.suggested, order.currency))
    create.create_refund(order, replace(refund_request, transaction_inputs=[transaction_input]), actor=ACTOR, at=at)
