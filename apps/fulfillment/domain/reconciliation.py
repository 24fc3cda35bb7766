"""Are the units of orders conserved: what is to be sent, what was sent, and what lines say of both?"""

from collections.abc import Iterator

from django.db.models import F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import UNFINISHED
from apps.orders.models import LineItem


def units() -> Iterator[str]:
    """Lines of which more is to be sent than they say, or, once routed, another number; finished work that has some."""
    rows = FulfillmentOrderLine.objects.filter(line_item=OuterRef("pk"))
    lines = LineItem.objects.annotate(waiting=_sum(rows, "fulfillable_quantity"))
    wrong = lines.filter(
        Q(waiting__gt=F("fulfillable_quantity")) | Q(waiting__gt=0, waiting__lt=F("fulfillable_quantity"))
    )
    for shop, pk, said, waiting in wrong.order_by("pk").values_list("shop", "pk", "fulfillable_quantity", "waiting"):
        yield f"shop {shop}, line {pk} has {said} units to be sent, its fulfillment orders {waiting}"
    finished = FulfillmentOrder.objects.exclude(status__in=UNFINISHED).filter(lines__fulfillable_quantity__gt=0)
    for shop, pk in finished.order_by("pk").values_list("shop", "pk").distinct():
        yield f"shop {shop}, fulfillment order {pk} is finished and has units to be sent"


def sent() -> Iterator[str]:
    """Lines of fulfillment orders of which another number was sent than they say."""
    alive = ~Q(fulfillment__status=Fulfillment.Status.CANCELLED)
    rows = FulfillmentLine.objects.filter(
        alive, fulfillment_order=OuterRef("fulfillment_order"), line_item=OuterRef("line_item")
    )
    wrong = FulfillmentOrderLine.objects.annotate(sent=_sum(rows, "quantity")).exclude(sent=F("fulfilled_quantity"))
    for shop, pk, said, count in wrong.order_by("pk").values_list("shop", "pk", "fulfilled_quantity", "sent"):
        yield f"shop {shop}, line {pk} of a fulfillment order has {said} units sent, its fulfillments {count}"


def _sum(rows: "QuerySet[FulfillmentOrderLine] | QuerySet[FulfillmentLine]", column: str) -> Coalesce:
    total = rows.order_by().values("line_item").annotate(total=Sum(column)).values("total")
    return Coalesce(Subquery(total, output_field=IntegerField()), 0)
