"""The demo store's refunds: a unit that came back, money alone, a whole order, and a unit that was never sent."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import F

from apps.ground.money import rounded
from apps.orders.domain.loading import lines_of
from apps.orders.models import Order
from apps.refunds.domain import creating
from apps.refunds.domain.requests import Payback, Units, Wanted
from apps.refunds.models import Refund, RefundLineItem
from apps.shops.models import Shop

ACTOR = "system"
_Sent = Order.FulfillmentStatus
# What is younger shows the sending of orders, and stays as it is unless it was sent.
_SETTLED = timedelta(days=5)


def make(shop: Shop, at: datetime) -> None:
    """Refund a few orders of a fresh demo shop; none of one that has no paid orders."""
    paid = Order.objects.filter(
        status=Order.Status.OPEN,
        financial_status=Order.FinancialStatus.PAID,
        presentment_currency=F("currency"),
        total_price__gt=Decimal(20),
    ).order_by("-pk")
    waiting = paid.filter(fulfillment_status=_Sent.UNFULFILLED, created_at__lt=at - _SETTLED)
    for order in waiting[:1]:
        _give_units_back(order, 1, "Ordered twice by mistake.", at - timedelta(hours=12))
    sent = list(paid.filter(fulfillment_status=_Sent.FULFILLED)[:3])
    if len(sent) == 3:
        _give_units_back(sent[0], 1, "One arrived chipped.", at - timedelta(hours=2), restock=False)
        wanted = Wanted(paybacks=[Payback(Decimal(4))], note="For the delay.")
        creating.create_refund(sent[1], wanted, actor=ACTOR, at=at - timedelta(hours=5))
        _give_units_back(sent[2], None, "All of it came back.", at - timedelta(hours=9))


def _give_units_back(order: Order, count: int | None, note: str, at: datetime, *, restock: bool = True) -> Refund:
    """Refund so many units of the first line, or all of the order with its shipping, for what was paid for them.

    Units that are restocked go back to where they were taken.
    """
    lines = lines_of(order) if count is None else lines_of(order)[:1]
    kind = None if restock else RefundLineItem.RestockType.NO_RESTOCK
    units = [Units(line.pk, count or line.current_quantity, kind) for line in lines]
    wanted = Wanted(units=units, full_shipping=count is None, restock=restock, note=note)
    _, found, _ = creating.calculate(order, wanted)
    money = Payback(rounded(found.suggested, order.currency))
    return creating.create_refund(order, replace(wanted, paybacks=[money]), actor=ACTOR, at=at)
