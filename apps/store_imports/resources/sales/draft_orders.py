"""Import draft orders that are not completed.

Completed draft orders are left out, because their orders have everything. A draft order that was imported before and is
now completed in the store is linked to its imported order, so that it cannot be completed a second time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import ClassVar, TypeVar

from django.db import transaction
from django.db.models import Model

from apps.catalog.models import Product, Variant
from apps.core.i18n.messages import Amount, Message, define_message, define_text, join_messages
from apps.core.money import format_decimal
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.draft_orders.api.serializers import DraftOrderSerializer
from apps.draft_orders.domain.draft_orders import (
    create_draft_order,
    delete_draft_order,
    save_without_refused_codes,
    update_draft_order,
)
from apps.draft_orders.domain.edits import get_lines
from apps.draft_orders.domain.restored import mark_completed, mark_invoice_sent
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.imports_exports.resources.cells import convert_api_errors
from apps.orders.models import Order
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.source_client import SourceObject, parse_source_moment, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, write_in_savepoint
from apps.store_imports.resources.customers import ERASED, ERASED_REASON
from apps.store_imports.resources.optional_lists import OptionalStream
from apps.store_imports.resources.rest_objects import create_reader

M = TypeVar("M", bound=Model)
PAGE_SIZE = 50
# The list of another installation has only open draft orders, unless a status is given.
_STATUSES = ("open", "invoice_sent", "completed")
_FIELDS = (
    *("note", "email", "note_attributes", "tags", "tax_exempt", "shipping_address", "billing_address"),
    *("applied_discount", "shipping_line", "discount_codes", "presentment_currency"),
)
# The fields that null clears.
_NULLABLE_FIELDS = frozenset(
    {"note", "email", "shipping_address", "billing_address", "applied_discount", "shipping_line"}
)
# As in ``LineBase``.
_VARIANT_TITLE_LENGTH, _NAME_LENGTH = 800, 1100
# Values that a line keeps when the product or variant changes or is deleted.
_KEPT_COLUMNS = ("title", "sku", "vendor", "grams", "requires_shipping", "taxable")
_LINE_FIELDS = ("price", "quantity", "applied_discount", "properties", *_KEPT_COLUMNS)
_NO_CUSTOMER = define_text("store_imports.draft_customer", "The customer of the draft order was not imported.")
_NO_VARIANTS = define_message(
    "store_imports.draft_variants",
    "{count} items are custom items, because their variants were not imported.",
)
_OTHER_TOTAL = define_message(
    "store_imports.draft_total",
    "The total is {theirs} in the store, but {ours} in this shop. Compare the tax rates and the discounts.",
)
_COMPLETED_THERE = define_text(
    "store_imports.draft_completed",
    "The draft order was completed in the store, but its order was not imported. Delete the draft order in this shop.",
)
_COMPLETED_HERE = define_text("store_imports.draft_completed_here", "The draft order was completed in this shop.")

_CALCULATED = "amounts are calculated again with the tax rates and the discounts of this shop"
_HAS_ORDER = "completed draft orders are not imported, because their orders have all data"
_COMPARISON = Comparison(
    read=create_reader(DraftOrderSerializer),
    ids={
        "customer.id": "customer",
        "order_id": "order",
        "line_items.variant_id": "variant",
        "line_items.product_id": "product",
    },
    not_compared={
        "name": "draft orders get new names",
        "invoice_url": "each shop has its own links",
        "api_client_id": "the apps of the store have other IDs",
        "created_on_api_version": "the version of the app that created the draft order",
        **dict.fromkeys(("tax_lines", "line_items.tax_lines"), _CALCULATED),
        **dict.fromkeys(
            (
                *("total_line_items_price_set", "total_price_set", "subtotal_price_set", "total_tax_set"),
                *("total_discounts_set", "total_shipping_price_set", "amount_due_now_set", "amount_due_later_set"),
            ),
            _CALCULATED,
        ),
    },
    limits={
        **dict.fromkeys(("total_price", "subtotal_price", "total_tax"), f"{_CALCULATED}, and other totals are noted"),
        "taxes_included": "follows from the setting of this shop",
        "discount_codes": "codes that this shop refuses are left out with a note",
    },
)


@dataclass(frozen=True, slots=True)
class _Targets:
    """The objects of this shop that draft orders refer to, by their ids in the store."""

    drafts: Mapping[int, DraftOrder]
    customers: Mapping[int, Customer]
    variant_ids: Mapping[int, int]
    product_ids: Mapping[int, int]
    orders: Mapping[int, Order]


class DraftOrderStream(OptionalStream):
    name = "draft_orders"
    resource = "draft_order"
    model: ClassVar[type[Model]] = DraftOrder
    path = "draft_orders.json"
    sets_creation_time = True
    id_list = IdList("draft_orders.json", "draft_orders", statuses=_STATUSES)
    comparison = _COMPARISON

    def count_listed(self, source: Source) -> int | None:
        counts = [source.client.count("draft_orders/count.json", status=status) for status in _STATUSES]
        return None if None in counts else sum(count or 0 for count in counts)

    def read_list(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return the next draft orders of all statuses. The last status counts, if it changes between two requests."""
        rows: dict[int, SourceObject] = {}
        for status in _STATUSES:
            filters = {"status": status, **source.change_filter}
            page = source.client.get_page(self.path, self.name, since_id=position, limit=PAGE_SIZE, **filters)
            rows |= {row["id"]: row for row in page}
        return [rows[pk] for pk in sorted(rows)][:PAGE_SIZE]

    def write_listed(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[ObjectResult]:
        targets = _find_targets(source, objects)
        return [write_in_savepoint(partial(_write_draft, source, row, targets)) for row in objects]

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, DraftOrder)
        delete_draft_order(target, actor=ACTOR, at=at)

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        """Compare only the id of the customer, because customers are compared."""
        for draft in (theirs, ours):
            customer = draft.get("customer")
            draft["customer"] = {"id": customer["id"]} if customer else None

    def find_exempt(self, target_ids: Collection[int]) -> Mapping[int, str]:
        """Return the draft orders that are completed here, and those of erased customers."""
        drafts = DraftOrder.objects.filter(pk__in=target_ids)
        completed = drafts.filter(status=DraftOrder.Status.COMPLETED).values_list("pk", flat=True)
        erased = drafts.filter(customer__redacted_at__isnull=False).values_list("pk", flat=True)
        return {**dict.fromkeys(completed, _HAS_ORDER), **dict.fromkeys(erased, ERASED_REASON)}

    def get_reason_left_out(self, row: SourceObject) -> str:
        return _HAS_ORDER if row.get("status") == DraftOrder.Status.COMPLETED else ""


def _find_targets(source: Source, objects: Sequence[SourceObject]) -> _Targets:
    customer_ids, variant_ids, product_ids, order_ids = set(), set(), set(), set()
    for row in objects:
        with refuse_malformed(DraftOrderStream.name, row):
            customer_ids |= {int((row.get("customer") or {}).get("id") or 0)}
            order_ids |= {int(row.get("order_id") or 0)}
            variant_ids |= {int(line.get("variant_id") or 0) for line in row["line_items"]}
            product_ids |= {int(line.get("product_id") or 0) for line in row["line_items"]}
    return _Targets(
        drafts=_load(source, DraftOrder, "draft_order", {row["id"] for row in objects}),
        customers=_load(source, Customer, "customer", customer_ids),
        variant_ids=_find_ids(source, Variant, "variant", variant_ids),
        product_ids=_find_ids(source, Product, "product", product_ids),
        orders=_load(source, Order, "order", order_ids),
    )


def _load(source: Source, model: type[M], resource: str, source_ids: set[int]) -> Mapping[int, M]:
    ids = source.ids.get_target_ids(resource, source_ids)
    rows = model._default_manager.in_bulk(list(ids.values()))
    return {source_id: rows[pk] for source_id, pk in ids.items() if pk in rows}


def _find_ids(source: Source, model: type[Model], resource: str, source_ids: set[int]) -> Mapping[int, int]:
    """Return the ids of existing rows by their ids in the store."""
    ids = source.ids.get_target_ids(resource, source_ids)
    existing = set(model._default_manager.filter(pk__in=ids.values()).order_by().values_list("pk", flat=True))
    return {source_id: pk for source_id, pk in ids.items() if pk in existing}


def _write_draft(source: Source, row: SourceObject, targets: _Targets) -> ObjectResult:
    draft = targets.drafts.get(row["id"])
    if row.get("status") == DraftOrder.Status.COMPLETED:
        return _complete(source, row, draft, targets.orders.get(row.get("order_id") or 0))
    if draft is not None and draft.is_completed:
        return ObjectResult(Outcome.UNCHANGED, draft.pk, _COMPLETED_HERE)
    customer = targets.customers.get((row.get("customer") or {}).get("id") or 0)
    if customer is not None and customer.redacted_at is not None:
        return ObjectResult(Outcome.UNCHANGED, draft.pk if draft else None, ERASED)
    before = draft.version if draft else None
    with refuse_malformed(DraftOrderStream.name, row):
        body, problems = _build_body(row, draft, customer, targets.variant_ids)
        columns = [_get_own_columns(line, targets.product_ids) for line in row["line_items"]]
    draft = _save_draft(source, body, columns, draft, problems)
    if row.get("status") == DraftOrder.Status.INVOICE_SENT:
        sent_at = parse_source_moment(row.get("invoice_sent_at")) or source.at
        mark_invoice_sent(draft, sent_at, actor=ACTOR, at=source.at)
    version = DraftOrder.objects.values_list("version", flat=True).get(pk=draft.pk)
    outcome = Outcome.NEW if before is None else Outcome.UNCHANGED if version == before else Outcome.CHANGED
    is_complete = not problems
    if (total := _parse_number(row.get("total_price"))) is not None and total != draft.total_price:
        theirs, ours = (
            Amount(format_decimal(sum_, draft.currency), draft.currency) for sum_ in (total, draft.total_price)
        )
        problems.append(_OTHER_TOTAL(theirs=theirs, ours=ours))
    problem = join_messages(problems) if problems else None
    return ObjectResult(outcome, draft.pk, problem, is_complete=is_complete)


def _complete(source: Source, row: SourceObject, draft: DraftOrder | None, order: Order | None) -> ObjectResult:
    """Link a draft order that was imported before to the order that completes it in the store."""
    if draft is None or draft.is_completed:
        return ObjectResult(Outcome.UNCHANGED, draft.pk if draft else None)
    if order is None:
        return ObjectResult(Outcome.UNCHANGED, draft.pk, _COMPLETED_THERE, is_complete=False)
    completed_at = parse_source_moment(row.get("completed_at")) or source.at
    mark_completed(draft, order, completed_at, actor=ACTOR, at=source.at)
    return ObjectResult(Outcome.CHANGED, draft.pk)


def _build_body(
    row: SourceObject, draft: DraftOrder | None, customer: Customer | None, variant_ids: Mapping[int, int]
) -> tuple[Attrs, list[Message]]:
    """Return the members of a request body, and what is missing. A null clears the value of an existing draft order."""
    problems: list[Message] = []
    clears = _NULLABLE_FIELDS if draft else frozenset()
    body = {name: row[name] for name in _FIELDS if name in row and (row[name] is not None or name in clears)}
    if row.get("customer") and customer is None:
        problems.append(_NO_CUSTOMER)
    body["customer"] = {"id": customer.pk} if customer else None
    before = get_lines(draft) if draft else []
    lines = [_build_line(line, variant_ids) for line in row["line_items"]]
    for line, existing in zip(lines, before, strict=False):
        if line["variant_id"] == existing.variant_id and _is_same_kind(line, existing):
            line["id"] = existing.pk
    body["line_items"] = lines
    wanted = [line.get("variant_id") for line in row["line_items"]]
    if missing := sum(pk is not None and pk not in variant_ids for pk in wanted):
        problems.append(_NO_VARIANTS(count=missing))
    return body, problems


def _build_line(row: SourceObject, variant_ids: Mapping[int, int]) -> Attrs:
    variant_id = variant_ids.get(row.get("variant_id") or 0)
    line = {name: row[name] for name in _LINE_FIELDS if row.get(name) is not None}
    return {"applied_discount": None, **line, "variant_id": variant_id}


def _get_own_columns(row: SourceObject, product_ids: Mapping[int, int]) -> Attrs:
    """Return the columns of a line that a request body can't have."""
    columns: Attrs = {"variant_title": str(row.get("variant_title") or "")[:_VARIANT_TITLE_LENGTH]}
    columns |= {"sku": "", "vendor": ""}
    if name := str(row.get("name") or "")[:_NAME_LENGTH]:
        columns["name"] = name
    if product_id := product_ids.get(row.get("product_id") or 0):
        columns["product_id"] = product_id
    return columns


def _is_same_kind(line: Attrs, existing: DraftOrderLine) -> bool:
    return line["variant_id"] is not None or line["title"] == existing.title


def _save_draft(
    source: Source, body: Attrs, columns: Sequence[Attrs], draft: DraftOrder | None, problems: list[Message]
) -> DraftOrder:
    """Create or update a draft order. Codes that this shop refuses, such as expired ones, are left out."""

    def save(attrs: Attrs) -> DraftOrder:
        with transaction.atomic():
            if draft is None:
                return create_draft_order(attrs, lines, actor=ACTOR, at=source.at)
            return update_draft_order(draft, attrs, lines, actor=ACTOR, at=source.at)

    with convert_api_errors():
        attrs = validate_body(DraftOrderSerializer, get_latest_version(), body, instance=draft)
    lines = [
        {**line, "columns": own | {name: line[name] for name in _KEPT_COLUMNS if line.get(name) is not None}}
        for line, own in zip(attrs.pop("line_items"), columns, strict=True)
    ]
    customer = attrs.pop("customer", None)
    attrs["customer_id"] = customer["id"] if customer else None
    return save_without_refused_codes(save, attrs, problems)


def _parse_number(value: object) -> Decimal | None:
    try:
        return Decimal(str(value))
    except ArithmeticError:
        return None
