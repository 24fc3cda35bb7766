"""Check that the quantities of line items, fulfillment orders and fulfillments are consistent."""

from collections.abc import Iterator

from django.db.models import F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import UNFINISHED
from apps.orders.models import LineItem


def find_wrong_fulfillable_quantities() -> Iterator[str]:
    """Yield line items that do not match their fulfillment orders, and finished fulfillment orders with open items."""
    rows = FulfillmentOrderLine.objects.filter(line_item=OuterRef("pk"))
    lines = LineItem.objects.annotate(waiting=_subquery_sum(rows, "fulfillable_quantity"))
    wrong = lines.filter(
        Q(waiting__gt=F("fulfillable_quantity")) | Q(waiting__gt=0, waiting__lt=F("fulfillable_quantity"))
    )
    for shop, pk, quantity, waiting in wrong.order_by("pk").values_list(
        "shop", "pk", "fulfillable_quantity", "waiting"
    ):
        yield f"shop {shop}, line item {pk}: fulfillable quantity {quantity}, but {waiting} in fulfillment orders"
    finished = FulfillmentOrder.objects.exclude(status__in=UNFINISHED).filter(lines__fulfillable_quantity__gt=0)
    for shop, pk in finished.order_by("pk").values_list("shop", "pk").distinct():
        yield f"shop {shop}, fulfillment order {pk} is finished, but has unfulfilled items"


def find_wrong_fulfilled_quantities() -> Iterator[str]:
    """Yield fulfillment order lines with a fulfilled quantity that differs from the sum over their fulfillments."""
    not_cancelled = ~Q(fulfillment__status=Fulfillment.Status.CANCELLED)
    rows = FulfillmentLine.objects.filter(
        not_cancelled, fulfillment_order=OuterRef("fulfillment_order"), line_item=OuterRef("line_item")
    )
    wrong = FulfillmentOrderLine.objects.annotate(sent=_subquery_sum(rows, "quantity")).exclude(
        sent=F("fulfilled_quantity")
    )
    for shop, pk, quantity, count in wrong.order_by("pk").values_list("shop", "pk", "fulfilled_quantity", "sent"):
        yield f"shop {shop}, fulfillment order line {pk}: fulfilled quantity {quantity}, but {count} in fulfillments"


def _subquery_sum(rows: "QuerySet[FulfillmentOrderLine] | QuerySet[FulfillmentLine]", column: str) -> Coalesce:
    total = rows.order_by().values("line_item").annotate(total=Sum(column)).values("total")
    return Coalesce(Subquery(total, output_field=IntegerField()), 0)
