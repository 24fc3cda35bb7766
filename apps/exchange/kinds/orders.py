"""Orders in files: how they go out; ``order_taking`` has how they come in."""

from collections.abc import Sequence
from decimal import Decimal

from django.utils.translation import gettext_lazy

from apps.api.context import Context
from apps.api.rows.plans import plan_for
from apps.customers.models import Address
from apps.exchange.domain.kinds import Exporter, Importer, Kind, Shown
from apps.exchange.domain.rows import Fate
from apps.exchange.kinds.interface import file_context, members_of
from apps.exchange.kinds.order_columns import ALIASES, COLUMNS, LINE_COLUMNS
from apps.exchange.kinds.order_tables import order_body, order_cells
from apps.exchange.kinds.order_taking import AT_ONCE, comes_alone, key_of, take_in, take_in_many
from apps.exchange.kinds.samples import SAMPLE_ORDERS
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.transactions import TransactionSerializer
from apps.orders.domain.items import MAX_LINES
from apps.orders.models import LineItem, Order, ShippingLine, Transaction


def _read(ids: Sequence[int]) -> list[Shown]:
    context = file_context()
    objects = plan_for(OrderSerializer, context.version).read_ids(ids, context)
    orders = [objects[pk] for pk in ids if pk in objects]
    _complete(orders, context)
    return orders


def _complete(orders: list[Shown], context: Context) -> None:
    """Add what the interface does not show with an order: its transactions, and its exchange rate."""
    rates = dict(Order.objects.filter(pk__in=[order["id"] for order in orders]).values_list("pk", "exchange_rate"))
    by_order: dict[int, list[Shown]] = {order["id"]: [] for order in orders}
    rows = Transaction.objects.filter(order_id__in=list(by_order)).order_by("pk")
    for shown in plan_for(TransactionSerializer, context.version).read(rows, context):
        by_order[shown["order_id"]].append(shown)
    for order in orders:
        order["transactions"] = by_order[order["id"]]
        order["exchange_rate"] = format(rates.get(order["id"], Decimal(1)).normalize(), "f")


ORDERS = Kind(
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
        read=_read,
        cells=order_cells,
    ),
    importer=Importer(
        permission="orders.change_order",
        granted_by="edit_orders",
        models=(Order, LineItem, ShippingLine, Transaction, Address),
        columns=COLUMNS,
        aliases=ALIASES,
        members=members_of(OrderSerializer, "send_fulfillment_receipt", "client_details", "metafields"),
        group_by="order",
        known_by=LINE_COLUMNS,
        most_rows=MAX_LINES,
        sample=SAMPLE_ORDERS,
        body=order_body,
        keys=lambda row, body: [key_of(row, body)],
        repeated=Fate.SKIPPED,
        take_in=take_in,
        take_in_many=take_in_many,
        at_once=AT_ONCE,
        alone=comes_alone,
        find=lambda names: {order.name: order for order in Order.objects.filter(name__in=names)},
    ),
)
