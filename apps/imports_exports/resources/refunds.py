"""Export refunds for bookkeeping, with one CSV row for each tax rate of a refund. Refunds can't be imported."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.db.models import Sum
from django.utils.translation import gettext_lazy

from apps.core.money import ZERO, format_decimal
from apps.core.rest.reading.query_plans import get_read_plan
from apps.imports_exports.domain.csv_reader import format_bool
from apps.imports_exports.domain.resources import Exporter, ObjectData, Resource
from apps.imports_exports.resources.cells import file_context
from apps.orders.models import Order
from apps.refunds.api.refunds import RefundSerializer
from apps.refunds.domain.calculation import ACTIVE_STATUSES
from apps.refunds.models import Refund, RefundPayment

# The columns that only the first row of a refund has.
_REFUND_COLUMNS = (
    "processed_at",
    "currency",
    "presentment_currency",
    "country_code",
    "province_code",
    "refunded",
    "taxes_included",
    "items",
    "shipping",
    "duties",
    "total_tax",
    "presentment_total_tax",
    "note",
)
_TAX_COLUMNS = ("tax_title", "tax_rate", "tax", "presentment_tax")


def _read_refunds(ids: Sequence[int]) -> list[ObjectData]:
    """Return refunds in the format of the REST API, with the columns of their orders that bookkeeping needs."""
    context = file_context()
    objects_by_id = get_read_plan(RefundSerializer, context.version).read_ids(ids, context)
    refunds = [objects_by_id[pk] for pk in ids if pk in objects_by_id]
    orders = Order.objects.in_bulk({refund["order_id"] for refund in refunds})
    payments = RefundPayment.objects.filter(refund_id__in=ids, transaction__status__in=ACTIVE_STATUSES).order_by()
    refunded = dict(payments.values_list("refund_id").annotate(Sum("transaction__shop_amount")))
    return [
        refund | _describe_order(orders[refund["order_id"]], refunded.get(refund["id"], ZERO)) for refund in refunds
    ]


def _describe_order(order: Order, refunded: Decimal) -> ObjectData:
    address = order.billing_address if order.shipping_address is None else order.shipping_address
    return {
        "order_name": order.name,
        "currency": order.currency,
        "presentment_currency": order.presentment_currency,
        "taxes_included": order.taxes_included,
        "country_code": (address or {}).get("country_code"),
        "province_code": (address or {}).get("province_code"),
        "refunded": format_decimal(refunded, order.currency),
    }


def _get_rows(refund: ObjectData) -> Iterable[ObjectData]:
    key = {"refund": refund["id"], "order_name": refund["order_name"]}
    taxes = [_get_tax_cells(tax) for tax in refund["tax_lines"]] or [{}]
    for index, cells in enumerate(taxes):
        yield key | cells | (_get_refund_cells(refund) if index == 0 else {})


def _get_tax_cells(tax: ObjectData) -> ObjectData:
    return {
        "tax_title": tax["title"],
        "tax_rate": tax["rate"],
        "tax": tax["price"],
        "presentment_tax": tax["price_set"]["presentment_money"]["amount"],
    }


def _get_refund_cells(refund: ObjectData) -> ObjectData:
    def add_up(rows: Iterable[ObjectData], money: str = "shop_money") -> str:
        currency = refund["currency" if money == "shop_money" else "presentment_currency"]
        return format_decimal(sum((Decimal(row[money]["amount"]) for row in rows), ZERO), currency)

    taxes = [tax["price_set"] for tax in refund["tax_lines"]]
    return {name: refund[name] for name in _REFUND_COLUMNS if name in refund} | {
        "taxes_included": format_bool(refund["taxes_included"]),
        "items": add_up(row["subtotal_set"] for row in refund["refund_line_items"]),
        "shipping": add_up(row["subtotal_amount_set"] for row in refund["refund_shipping_lines"]),
        "duties": add_up([refund["total_duties_set"]]),
        "total_tax": add_up(taxes),
        "presentment_total_tax": add_up(taxes, "presentment_money"),
    }


REFUNDS = Resource(
    name="refunds",
    label=gettext_lazy("Refunds"),
    singular="refund",
    exporter=Exporter(
        model=Refund,
        permission="refunds.export_refund",
        granted_by="export_orders",
        topic="refunds/export",
        columns=("refund", "order_name", *_REFUND_COLUMNS, *_TAX_COLUMNS),
        read_objects=_read_refunds,
        get_cells=_get_rows,
    ),
)
