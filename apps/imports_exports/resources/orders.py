"""Export and import order files. ``order_import`` contains the import."""

from collections.abc import Sequence
from decimal import Decimal

from django.utils.translation import gettext_lazy

from apps.core.rest.reading.query_plans import get_read_plan
from apps.customers.models import Address
from apps.imports_exports.domain.resources import Exporter, Importer, ObjectData, Resource
from apps.imports_exports.domain.rows import RowResult
from apps.imports_exports.resources.cells import file_context, get_member_names
from apps.imports_exports.resources.order_import import BATCH_SIZE, get_order_key, import_orders, must_be_alone
from apps.imports_exports.resources.order_table import (
    ALIASES,
    COLUMNS,
    LINE_COLUMNS,
    convert_order_to_rows,
    parse_order_rows,
)
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.transactions import TransactionSerializer
from apps.orders.domain.create.lines import MAX_LINES
from apps.orders.models import LineItem, Order, ShippingLine, Transaction


def _read_orders(ids: Sequence[int]) -> list[ObjectData]:
    context = file_context()
    objects_by_id = get_read_plan(OrderSerializer, context.version).read_ids(ids, context)
    orders = [objects_by_id[pk] for pk in ids if pk in objects_by_id]
    # The REST representation has neither the transactions nor the exchange rate.
    rates = dict(Order.objects.filter(pk__in=[order["id"] for order in orders]).values_list("pk", "exchange_rate"))
    by_order: dict[int, list[ObjectData]] = {order["id"]: [] for order in orders}
    rows = Transaction.objects.filter(order_id__in=list(by_order)).order_by("pk")
    for transaction in get_read_plan(TransactionSerializer, context.version).read_queryset(rows, context):
        by_order[transaction["order_id"]].append(transaction)
    for order in orders:
        order["transactions"] = by_order[order["id"]]
        order["exchange_rate"] = format(rates.get(order["id"], Decimal(1)).normalize(), "f")
    return orders


ORDERS = Resource(
    name="orders",
    label=gettext_lazy("Orders"),
    singular="order",
    exporter=Exporter(
        model=Order,
        permission="orders.export_order",
        granted_by="export_orders",
        topic="orders/export",
        filters=("status", "financial_status"),
        columns=COLUMNS,
        read_objects=_read_orders,
        get_cells=convert_order_to_rows,
    ),
    importer=Importer(
        permission="orders.change_order",
        granted_by="edit_orders",
        models=(Order, LineItem, ShippingLine, Transaction, Address),
        columns=COLUMNS,
        aliases=ALIASES,
        members=get_member_names(OrderSerializer, "send_fulfillment_receipt", "client_details", "metafields"),
        group_by="order",
        identifying_columns=LINE_COLUMNS,
        max_rows=MAX_LINES,
        body=parse_order_rows,
        keys=lambda row, body: [get_order_key(row, body)],
        duplicate_result=RowResult.SKIPPED,
        import_rows=import_orders,
        batch_size=BATCH_SIZE,
        must_be_alone=must_be_alone,
        find=lambda names: {order.name: order for order in Order.objects.filter(name__in=names)},
    ),
)
