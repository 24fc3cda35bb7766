"""Check that line items, fulfillment orders, fulfillments and reserved stock are consistent."""

from collections.abc import Iterator
from datetime import timedelta

from django.db import connection
from django.db.models import Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import UNFINISHED
from apps.orders.models import LineItem, Order

# Added items are routed by a background job. After this time, they must be in a fulfillment order.
_ROUTED_AFTER = timedelta(hours=6)
# The items that wait at a location were taken from its stock, if the line item took stock. A line item took stock for
# all of its items or for none. ``{taken}`` is the quantity taken from the location.
_STOCK_LOCATIONS = """
SELECT w.shop_id, l.order_id, w.line_item_id, w.location_id, w.waiting, coalesce({taken}, 0)
FROM (
    SELECT f.shop_id, r.line_item_id, f.assigned_location_id AS location_id, sum(r.fulfillable_quantity) AS waiting
    FROM fulfillment_fulfillmentorderline r
    JOIN fulfillment_fulfillmentorder f ON f.id = r.fulfillment_order_id
    WHERE r.fulfillable_quantity > 0
    GROUP BY f.shop_id, r.line_item_id, f.assigned_location_id
) w JOIN orders_lineitem l ON l.id = w.line_item_id
WHERE l.variant_id IS NOT NULL AND {took_stock} AND w.waiting > coalesce({taken}, 0)
ORDER BY w.line_item_id, w.location_id
"""
_STOCK_QUANTITIES = """
SELECT l.shop_id, l.order_id, l.id, {all_taken}, l.current_quantity + l.unrestocked_quantity
FROM orders_lineitem l
WHERE l.variant_id IS NOT NULL AND {took_stock} AND {all_taken} <> l.current_quantity + l.unrestocked_quantity
ORDER BY l.id
"""
_SQL_PARTS = {
    "postgresql": {
        "taken": "(l.taken_from ->> w.location_id::text)::int",
        "all_taken": "(SELECT sum(value::bigint) FROM jsonb_each_text(l.taken_from))",
        "took_stock": "l.taken_from <> '{}'::jsonb",
    },
    "sqlite": {
        "taken": "(SELECT value FROM json_each(l.taken_from) WHERE key = CAST(w.location_id AS text))",
        "all_taken": "(SELECT sum(value) FROM json_each(l.taken_from))",
        "took_stock": "l.taken_from <> '{}'",
    },
}


def find_wrong_fulfillable_quantities() -> Iterator[str]:
    """Yield line items that do not match their fulfillment orders, and finished fulfillment orders with open items."""
    rows = FulfillmentOrderLine.objects.filter(line_item=OuterRef("pk"))
    lines = LineItem.objects.annotate(waiting=_subquery_sum(rows, "fulfillable_quantity"))
    wrong = lines.filter(
        Q(waiting__gt=F("fulfillable_quantity")) | Q(waiting__gt=0, waiting__lt=F("fulfillable_quantity"))
    )
    for shop, order, pk, quantity, waiting in wrong.order_by("pk").values_list(
        "shop", "order", "pk", "fulfillable_quantity", "waiting"
    ):
        yield (
            f"shop {shop}, order {order}, line item {pk}: fulfillable quantity {quantity},"
            f" but {waiting} in fulfillment orders"
        )
    yield from _find_stranded_items()
    finished = FulfillmentOrder.objects.exclude(status__in=UNFINISHED).filter(lines__fulfillable_quantity__gt=0)
    for shop, order, pk in finished.order_by("pk").values_list("shop", "order", "pk").distinct():
        yield f"shop {shop}, order {order}: fulfillment order {pk} is finished, but has unfulfilled items"


def _find_stranded_items() -> Iterator[str]:
    """Yield unfulfilled line items of routed orders that are in no fulfillment order."""
    waiting = FulfillmentOrderLine.objects.filter(line_item=OuterRef("pk"), fulfillable_quantity__gt=0)
    stranded = LineItem.objects.filter(
        ~Exists(waiting),
        Exists(FulfillmentOrder.objects.filter(order=OuterRef("order"))),
        fulfillable_quantity__gt=0,
        updated_at__lt=timezone.now() - _ROUTED_AFTER,
        order__cancelled_at=None,
    )
    for shop, order, pk, quantity in stranded.order_by("pk").values_list("shop", "order", "pk", "fulfillable_quantity"):
        yield (
            f"shop {shop}, order {order}, line item {pk}: fulfillable quantity {quantity}, but none in fulfillment"
            " orders"
        )


def find_wrong_fulfilled_quantities() -> Iterator[str]:
    """Yield fulfilled quantities that differ from the fulfillments.

    A line item can have more fulfilled items than its fulfillment orders, because orders can be created as fulfilled.
    """
    not_cancelled = ~Q(fulfillment__status=Fulfillment.Status.CANCELLED)
    rows = FulfillmentLine.objects.filter(
        not_cancelled, fulfillment_order=OuterRef("fulfillment_order"), line_item=OuterRef("line_item")
    )
    wrong = FulfillmentOrderLine.objects.annotate(sent=_subquery_sum(rows, "quantity")).exclude(
        sent=F("fulfilled_quantity")
    )
    columns = ("shop", "fulfillment_order__order", "pk", "fulfilled_quantity", "sent")
    for shop, order, pk, quantity, count in wrong.order_by("pk").values_list(*columns):
        yield (
            f"shop {shop}, order {order}, fulfillment order line {pk}: fulfilled quantity {quantity},"
            f" but {count} in fulfillments"
        )
    rows_of_line = FulfillmentOrderLine.objects.filter(line_item=OuterRef("pk"))
    lines = LineItem.objects.annotate(sent=_subquery_sum(rows_of_line, "fulfilled_quantity"))
    too_few = lines.filter(sent__gt=F("fulfilled_quantity")).order_by("pk")
    for shop, order, pk, quantity, count in too_few.values_list("shop", "order", "pk", "fulfilled_quantity", "sent"):
        yield (
            f"shop {shop}, order {order}, line item {pk}: fulfilled quantity {quantity},"
            f" but {count} in fulfillment orders"
        )


def find_wrong_states() -> Iterator[str]:
    """Yield unfinished fulfillment orders without unfulfilled items or of canceled orders, and items of these."""
    waiting = FulfillmentOrderLine.objects.filter(fulfillment_order=OuterRef("pk"), fulfillable_quantity__gt=0)
    unfinished = FulfillmentOrder.objects.filter(status__in=UNFINISHED)
    columns = ("shop", "order", "pk", "status", "request_status")
    for shop, order, pk, *states in unfinished.filter(~Exists(waiting)).order_by("pk").values_list(*columns):
        yield (
            f"shop {shop}, order {order}: fulfillment order {pk} is {' / '.join(states)}, but has no unfulfilled items"
        )
    canceled = unfinished.filter(order__cancelled_at__isnull=False)
    for shop, order, pk, *states in canceled.order_by("pk").values_list(*columns):
        yield f"shop {shop}, order {order}: fulfillment order {pk} is {' / '.join(states)}, but the order is canceled"
    lines = LineItem.objects.filter(fulfillable_quantity__gt=0, order__status=Order.Status.CANCELLED)
    for shop, order, pk, quantity in lines.order_by("pk").values_list("shop", "order", "pk", "fulfillable_quantity"):
        yield (
            f"shop {shop}, order {order}, line item {pk}: fulfillable quantity {quantity}, but the order is canceled"
        )


def find_wrong_stock_locations() -> Iterator[str]:
    """Yield line items that took a wrong quantity from stock, and items that wait where they were not taken from."""
    parts = _SQL_PARTS[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(_STOCK_QUANTITIES.format(**parts))
        while rows := cursor.fetchmany(1000):
            for shop, order, line, taken, kept in rows:
                yield (
                    f"shop {shop}, order {order}, line item {line}: {int(taken)} taken from stock, but {kept} are"
                    " current or not restocked"
                )
        cursor.execute(_STOCK_LOCATIONS.format(**parts))
        while rows := cursor.fetchmany(1000):
            for shop, order, line, location, waiting, taken in rows:
                yield (
                    f"shop {shop}, order {order}, line item {line}, location {location}: {int(waiting)} in fulfillment"
                    f" orders, but {taken} taken from stock there"
                )


def _subquery_sum(rows: "QuerySet[FulfillmentOrderLine] | QuerySet[FulfillmentLine]", column: str) -> Coalesce:
    total = rows.order_by().values("line_item").annotate(total=Sum(column)).values("total")
    return Coalesce(Subquery(total, output_field=IntegerField()), 0)
