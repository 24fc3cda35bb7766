"""Read orders for an export: the objects of the REST API with everything that an import needs to restore them."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet

from apps.core.models import M
from apps.core.money import format_decimal
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.fulfillment.api.events import FulfillmentEventSerializer
from apps.fulfillment.api.fulfillment_orders import FulfillmentOrderSerializer
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentLine, FulfillmentOrder
from apps.imports_exports.domain.resources import ObjectData
from apps.imports_exports.resources.cells import file_context
from apps.inventory.models import Location
from apps.orders.api.fields import render_money_set
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.transactions import TransactionSerializer
from apps.orders.models import LineItem, Order, Transaction
from apps.refunds.models import Refund, RefundShippingLine

# Members of fulfillment orders that repeat other members of the order.
_REPEATED = ("supported_actions", "destination", "origin", "outgoing_requests", "order_name", "order_processed_at")


def read_orders(ids: Sequence[int]) -> list[ObjectData]:
    """Return the orders with their transactions, fulfillment orders and internal quantities."""
    context = file_context()
    objects_by_id = get_read_plan(OrderSerializer, context.version).read_ids(ids, context)
    orders = [objects_by_id[pk] for pk in ids if pk in objects_by_id]
    pks = [order["id"] for order in orders]
    rates = dict(Order.objects.filter(pk__in=pks).values_list("pk", "exchange_rate"))
    transactions = _read_by_order(TransactionSerializer, Transaction.objects.filter(order_id__in=pks), context)
    rows = FulfillmentOrder.objects.filter(order_id__in=pks)
    fulfillment_orders = _read_by_order(FulfillmentOrderSerializer, rows, context)
    for order in orders:
        order["transactions"] = transactions.get(order["id"], [])
        order["exchange_rate"] = format(rates.get(order["id"], Decimal(1)).normalize(), "f")
        order["fulfillment_orders"] = [
            {name: value for name, value in row.items() if name not in _REPEATED}
            for row in fulfillment_orders.get(order["id"], [])
        ]
    _add_shop_amounts(pks, orders)
    _add_quantities(pks, orders)
    _complete_refunds(pks, orders)
    _complete_fulfillments(pks, orders, context)
    _add_locations(orders)
    return orders


def _read_by_order(
    serializer: type[ResourceSerializer[M]], rows: "QuerySet[M]", context: RenderContext
) -> dict[int, list[ObjectData]]:
    groups: dict[int, list[ObjectData]] = {}
    for item in get_read_plan(serializer, context.version).read_queryset(rows.order_by("pk"), context):
        groups.setdefault(item["order_id"], []).append(item)
    return groups


def _add_shop_amounts(pks: Sequence[int], orders: Iterable[ObjectData]) -> None:
    amounts = dict(Transaction.objects.filter(order_id__in=pks).values_list("pk", "shop_amount"))
    for order in orders:
        refund_transactions = [row for refund in order["refunds"] for row in refund["transactions"]]
        for row in [*order["transactions"], *refund_transactions]:
            row["shop_amount"] = format_decimal(amounts[row["id"]], order["currency"])


def _add_quantities(pks: Sequence[int], orders: Iterable[ObjectData]) -> None:
    columns = ("fulfilled_quantity", "unrestocked_quantity")
    rows = LineItem.objects.filter(order_id__in=pks).values_list("pk", *columns)
    quantities = {pk: dict(zip(columns, values, strict=True)) for pk, *values in rows}
    for order in orders:
        for line in order["line_items"]:
            line |= quantities[line["id"]]


def _complete_refunds(pks: Sequence[int], orders: Iterable[ObjectData]) -> None:
    """Add the reasons and the taxes on shipping, and remove the copies of rows of the order."""
    if not any(order["refunds"] for order in orders):
        return
    reasons = dict(Refund.objects.filter(order_id__in=pks).values_list("pk", "reason"))
    rows = RefundShippingLine.objects.filter(refund__order_id__in=pks)
    taxes = {pk: (tax, presentment) for pk, tax, presentment in rows.values_list("pk", "tax", "presentment_tax")}
    for order in orders:
        currencies = (order["currency"], order["presentment_currency"], Decimal(order["exchange_rate"]))
        for refund in order["refunds"]:
            refund["reason"] = reasons[refund["id"]] or None
            for row in refund["refund_line_items"]:
                row.pop("line_item", None)
            for row in refund["refund_shipping_lines"]:
                row.pop("shipping_line", None)
                tax, presentment_tax = taxes[row["id"]]
                row["tax_amount_set"] = render_money_set(tax, *currencies, presentment_tax)


def _complete_fulfillments(pks: Sequence[int], orders: Iterable[ObjectData], context: RenderContext) -> None:
    """Add the messages, events and fulfillment orders, and remove the copies of line items."""
    if not any(order["fulfillments"] for order in orders):
        return
    messages = dict(Fulfillment.objects.filter(order_id__in=pks).values_list("pk", "message"))
    rows = FulfillmentLine.objects.filter(fulfillment__order_id__in=pks)
    sources = dict(rows.values_list("pk", "fulfillment_order_id"))
    events: dict[int, list[ObjectData]] = {}
    event_rows = FulfillmentEvent.objects.filter(fulfillment__order_id__in=pks).order_by("pk")
    for event in get_read_plan(FulfillmentEventSerializer, context.version).read_queryset(event_rows, context):
        events.setdefault(event["fulfillment_id"], []).append(event)
    for order in orders:
        for fulfillment in order["fulfillments"]:
            fulfillment["message"] = messages[fulfillment["id"]] or None
            fulfillment["events"] = events.get(fulfillment["id"], [])
            fulfillment["line_items"] = [
                {
                    "id": line["id"],
                    "quantity": line["quantity"],
                    "fulfillment_order_id": sources[line["fulfillment_line_item_id"]],
                }
                for line in fulfillment["line_items"]
            ]


def _add_locations(orders: Iterable[ObjectData]) -> None:
    """Add the names of all locations that an order refers to, because ids are different in another shop."""
    ids_by_order = {order["id"]: set(_find_location_ids(order)) for order in orders}
    ids = set().union(*ids_by_order.values())
    names = dict(Location.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    for order in orders:
        order["locations"] = [{"id": pk, "name": names[pk]} for pk in sorted(ids_by_order[order["id"]]) if pk in names]


def _find_location_ids(order: ObjectData) -> Iterable[int]:
    yield from (row["assigned_location_id"] for row in order["fulfillment_orders"])
    yield from (row["location_id"] for row in order["fulfillments"])
    rows: Iterable[Any] = (row for refund in order["refunds"] for row in refund["refund_line_items"])
    yield from (row["location_id"] for row in rows if row["location_id"] is not None)
