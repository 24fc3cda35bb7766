"""Export draft orders, with one CSV row for each line item, like the files of orders. Imports are not supported."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from django.utils.translation import gettext_lazy

from apps.core.money import format_decimal
from apps.core.rest.reading.query_plans import get_read_plan
from apps.draft_orders.api.serializers import DraftOrderSerializer
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.imports_exports.domain.csv_reader import format_bool
from apps.imports_exports.domain.resources import Exporter, ObjectData, Resource
from apps.imports_exports.resources.cells import ADDRESS_COLUMNS, file_context, format_list_cell
from apps.imports_exports.resources.order_columns import ADDRESSES, LINE_FLAGS
from apps.orders.models import Order

# Columns with the name of a REST field.
_UNCHANGED_COLUMNS = (
    "email",
    "created_at",
    "updated_at",
    "invoice_sent_at",
    "completed_at",
    "currency",
    "presentment_currency",
    "subtotal_price",
    "total_tax",
    "total_price",
    "tags",
    "note",
)
_FLAGS = ("taxes_included", "tax_exempt")
_DISCOUNT = {"discount_title": "title", "discount": "amount"}
# Maps line item columns to REST fields. The names are those of the files of orders.
_LINE_FIELDS = {
    "line_title": "title",
    "line_variant": "variant_title",
    "line_sku": "sku",
    "line_quantity": "quantity",
    "line_price": "price",
}
_TAX = {"tax_title": "title", "tax_rate": "rate", "tax": "price"}
_COLUMNS = (
    "draft_order",
    "status",
    "order",
    *_UNCHANGED_COLUMNS[:7],
    *_FLAGS,
    *_DISCOUNT,
    "discount_codes",
    "shipping_title",
    "shipping_price",
    *_UNCHANGED_COLUMNS[7:],
    *(f"{kind}_{name}" for kind in ADDRESSES for name in ADDRESS_COLUMNS),
    *_LINE_FIELDS,
    "line_discount_title",
    "line_discount",
    *(f"line_{name}" for name in _TAX),
    *LINE_FLAGS,
)


def _read_drafts(ids: Sequence[int]) -> list[ObjectData]:
    """Return draft orders in the format of the REST API, with the name of the order and all discounts of each line.

    The URLs of invoices are left out, because anyone can open them.
    """
    context = file_context()
    drafts_by_id = get_read_plan(DraftOrderSerializer, context.version).read_ids(ids, context)
    drafts = [drafts_by_id[pk] for pk in ids if pk in drafts_by_id]
    order_ids = {draft["order_id"] for draft in drafts if draft["order_id"] is not None}
    names = dict(Order.objects.filter(pk__in=order_ids).values_list("pk", "name"))
    rows = DraftOrderLine.objects.filter(draft_order__in=[draft["id"] for draft in drafts])
    discounts = dict(rows.values_list("pk", "discount"))
    return [_complete(draft, names.get(draft["order_id"]), discounts) for draft in drafts]


def _complete(draft: ObjectData, order_name: str | None, discounts: Mapping[int, Decimal]) -> ObjectData:
    lines = [
        {**line, "total_discount": format_decimal(discounts[line["id"]], draft["currency"])}
        for line in draft["line_items"]
    ]
    values = {name: value for name, value in draft.items() if name != "invoice_url"}
    return {**values, "line_items": lines, "order_name": order_name}


def _get_rows(draft: ObjectData) -> Iterable[ObjectData]:
    cells = _get_cells(draft)
    for index, line in enumerate(draft["line_items"]):
        yield {"draft_order": draft["name"]} | (cells if index == 0 else {}) | _get_line_cells(line)


def _get_cells(draft: ObjectData) -> ObjectData:
    shipping, discount = draft["shipping_line"] or {}, draft["applied_discount"] or {}
    addresses = {kind: draft[f"{kind}_address"] or {} for kind in ADDRESSES}
    return {
        "status": draft["status"],
        "order": draft["order_name"],
        **{name: draft[name] for name in _UNCHANGED_COLUMNS},
        **{name: format_bool(draft[name]) for name in _FLAGS},
        **{column: discount.get(name) for column, name in _DISCOUNT.items()},
        "discount_codes": format_list_cell([code] for code in draft["discount_codes"]),
        "shipping_title": shipping.get("title"),
        "shipping_price": shipping.get("price"),
        **{f"{kind}_{name}": address.get(name) for kind, address in addresses.items() for name in ADDRESS_COLUMNS},
    }


def _get_line_cells(line: ObjectData) -> ObjectData:
    return {
        **{column: line[name] for column, name in _LINE_FIELDS.items()},
        **{column: format_bool(line[name]) for column, name in LINE_FLAGS.items()},
        "line_discount_title": (line["applied_discount"] or {}).get("title"),
        "line_discount": line["total_discount"],
        **{f"line_{cell}": format_list_cell([tax[name]] for tax in line["tax_lines"]) for cell, name in _TAX.items()},
    }


DRAFT_ORDERS = Resource(
    name="drafts",
    label=gettext_lazy("Draft orders"),
    singular="draft_order",
    exporter=Exporter(
        model=DraftOrder,
        permission="draft_orders.export_draftorder",
        granted_by="export_draft_orders",
        topic="draft_orders/export",
        columns=_COLUMNS,
        read_objects=_read_drafts,
        get_cells=_get_rows,
    ),
)
