"""Export and import order files. ``order_import`` contains the import."""

from django.utils.translation import gettext_lazy

from apps.customers.models import Address
from apps.imports_exports.domain.resources import Exporter, Importer, Resource
from apps.imports_exports.domain.rows import RowResult
from apps.imports_exports.resources.cells import get_member_names
from apps.imports_exports.resources.column_labels import get_order_label
from apps.imports_exports.resources.column_words import ORDER_WORDS, merge_words
from apps.imports_exports.resources.exported_orders.reading import read_orders
from apps.imports_exports.resources.foreign_orders.bodies import parse_rows
from apps.imports_exports.resources.order_columns import (
    ALIASES,
    COLUMNS,
    FIELD_COLUMNS,
    IMPORTED_COLUMNS,
    LINE_COLUMNS,
    UNSUPPORTED,
)
from apps.imports_exports.resources.order_import import BATCH_SIZE, get_order_key, import_orders, must_be_alone
from apps.imports_exports.resources.order_table import convert_order_to_rows
from apps.orders.api.orders import OrderSerializer
from apps.orders.domain.create.lines import MAX_LINES
from apps.orders.models import LineItem, Order, ShippingLine, Transaction

ORDERS = Resource(
    name="orders",
    label=gettext_lazy("Orders"),
    singular="order",
    exporter=Exporter(
        model=Order,
        permission="orders.export_order",
        granted_by="export_orders",
        topic="orders/export",
        filters=("status", "financial_status", "processed_at__gte", "processed_at__lt"),
        columns=COLUMNS,
        read_objects=read_orders,
        get_cells=convert_order_to_rows,
    ),
    importer=Importer(
        permission="orders.change_order",
        granted_by="edit_orders",
        models=(Order, LineItem, ShippingLine, Transaction, Address),
        columns=IMPORTED_COLUMNS,
        aliases=merge_words(ALIASES, ORDER_WORDS),
        field_columns=FIELD_COLUMNS,
        get_label=get_order_label,
        unsupported=UNSUPPORTED,
        members=get_member_names(
            OrderSerializer,
            *("send_fulfillment_receipt", "client_details", "metafields", "fulfillment_orders", "locations"),
        ),
        group_by="order",
        identifying_columns=LINE_COLUMNS,
        max_rows=MAX_LINES,
        body=parse_rows,
        keys=lambda row, body: [get_order_key(row, body)],
        duplicate_result=RowResult.SKIPPED,
        import_rows=import_orders,
        batch_size=BATCH_SIZE,
        must_be_alone=must_be_alone,
        find=lambda names: {order.name: order for order in Order.objects.filter(name__in=names)},
    ),
)
