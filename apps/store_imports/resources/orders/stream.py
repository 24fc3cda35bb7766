"""The stream of orders."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message, define_text
from apps.fulfillment.models import Fulfillment, FulfillmentOrder
from apps.fulfillment.models.orders import UNFINISHED
from apps.orders.domain.create import lines as draft_lines
from apps.orders.domain.create.drafts import OrderDraft, build_order
from apps.orders.domain.create.orders import create_orders
from apps.orders.domain.create.restored_stock import get_new_stock, record_restored_stock
from apps.orders.domain.updates import delete_order
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.models import Refund
from apps.store_imports.domain.source_client import SourceObject, parse_source_moment
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.orders.comparison import (
    COMPARISON,
    find_erased_orders,
    normalize_orders,
    read_own_orders,
)
from apps.store_imports.resources.orders.parsing import OrderContext, ParsedOrder, parse_source_order
from apps.store_imports.resources.orders.part_ids import get_new_ids, load_other_ids
from apps.store_imports.resources.orders.source_orders import IS_GONE, NAME, read_orders
from apps.store_imports.resources.orders.updates import build_result, update_order

# The shop's order counter is locked while a page is saved.
PAGE_SIZE = 50
_IDS_PER_QUERY = 500
_GONE = define_text("store_imports.order_gone", "The order was deleted in the store during the import.")
_ERASED = define_text("store_imports.order_erased", "The customer's personal data was erased in this shop.")
_EXISTS = define_message(
    "store_imports.order_exists",
    "An order with the name {name} and the same time of creation exists and was not imported from this store.",
)
_RENAMED = define_message("store_imports.order_renamed", "The name {name} is already taken. The order is {new_name}.")

_PART_MODELS: Mapping[str, type[Model]] = {
    "line_item": LineItem,
    "shipping_line": ShippingLine,
    "transaction": Transaction,
    "refund": Refund,
    "fulfillment": Fulfillment,
    "fulfillment_order": FulfillmentOrder,
}


class OrderStream(Stream):
    name = NAME
    resource = "order"
    model: ClassVar[type[Model]] = Order
    id_list = IdList("orders.json", NAME, {"status": "any"})
    comparison = COMPARISON

    def count_objects(self, source: Source) -> int | None:
        return source.client.count("orders/count.json", status="any", **source.change_filter)

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        return read_orders(source, position, PAGE_SIZE)

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        context = OrderContext.load(source, objects, at=timezone.now())
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = Order.objects.in_bulk(list(known.values()))
        results: dict[int, ObjectResult] = {}
        new: list[SourceObject] = []
        for row in objects:
            order = existing.get(known.get(row["id"], 0))
            if row.get(IS_GONE):
                results[row["id"]] = ObjectResult(Outcome.UNCHANGED, problem=_GONE)
            elif row["customer_id"] in context.erased or (order is not None and order.redacted_at is not None):
                results[row["id"]] = ObjectResult(Outcome.UNCHANGED, order.pk if order else None, _ERASED)
            elif order is not None:
                results[row["id"]] = _update(source, row, order, context)
            else:
                new.append(row)
        results |= _create_all(new, context)
        return [results[row["id"]] for row in objects]

    def find_indirect_changes(self, source: Source) -> Collection[int]:
        """Return the orders with unfulfilled items, because a hold, for example, may not be a change of the order."""
        if not source.is_thorough:
            return ()
        waiting = FulfillmentOrder.objects.filter(status__in=UNFINISHED).order_by()
        order_ids = list(waiting.values_list("order_id", flat=True).distinct())
        source_ids: set[int] = set()
        for start in range(0, len(order_ids), _IDS_PER_QUERY):
            source_ids |= set(source.ids.get_source_ids(self.resource, order_ids[start:][:_IDS_PER_QUERY]).values())
        return source_ids

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Order)
        delete_order(target, actor=ACTOR, at=at)

    def get_part_ids(self, target: Model) -> Mapping[str, Collection[int]]:
        return {
            name: list(model._default_manager.filter(order_id=target.pk).values_list("pk", flat=True))
            for name, model in _PART_MODELS.items()
        }

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        return read_own_orders(target_ids, source.client.version)

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        normalize_orders(source, theirs, ours)

    def find_exempt(self, target_ids: Collection[int]) -> Mapping[int, str]:
        return find_erased_orders(target_ids)

    def get_reason_left_out(self, row: SourceObject) -> str:
        return "was deleted in the store during the comparison" if row.get(IS_GONE) else ""


def _update(source: Source, row: SourceObject, order: Order, context: OrderContext) -> ObjectResult:
    result = write_in_savepoint(lambda: update_order(source, row, order, context))
    return result if result.target_id else ObjectResult(Outcome.FAILED, order.pk, result.problem)


def _create_all(rows: Sequence[SourceObject], context: OrderContext) -> dict[int, ObjectResult]:
    """Create orders together, or one by one if they can't be created together."""
    results: dict[int, ObjectResult] = {}
    parsed: dict[int, ParsedOrder] = {}
    found = _find_existing(rows)
    for row in rows:
        if row["id"] in found:
            results[row["id"]] = ObjectResult(Outcome.FAILED, problem=_EXISTS(name=row["name"]))
            continue
        try:
            parsed[row["id"]] = parse_source_order(row, context)
        except DomainError as error:
            results[row["id"]] = ObjectResult(Outcome.FAILED, problem=error.sentence)
    try:
        with transaction.atomic():
            return results | _create_together(parsed, context)
    except (DomainError, IntegrityError):
        return results | {pk: _create_alone(pk, order, context) for pk, order in parsed.items()}


def _create_alone(source_id: int, parsed: ParsedOrder, context: OrderContext) -> ObjectResult:
    return write_in_savepoint(lambda: _create_together({source_id: parsed}, context)[source_id])


def _create_together(parsed: Mapping[int, ParsedOrder], context: OrderContext) -> dict[int, ObjectResult]:
    """Create orders with one lookup and bulk inserts. Refused orders have a failed result."""
    catalog = draft_lines.load_catalog_rows(line for row in parsed.values() for line in row.parts.lines)
    results: dict[int, ObjectResult] = {}
    drafts: dict[int, OrderDraft] = {}
    for source_id, row in parsed.items():
        try:
            drafts[source_id] = build_order(row.attrs, row.parts, at=context.at, catalog_rows=catalog)
        except DomainError as refusal:
            results[source_id] = ObjectResult(Outcome.FAILED, problem=refusal.sentence)
    errors = create_orders(list(drafts.values()), actor=ACTOR, at=context.at) if drafts else []
    for source_id, error in zip(list(drafts), errors, strict=True):
        if error is not None:
            results[source_id] = ObjectResult(Outcome.FAILED, problem=error.sentence)
            del drafts[source_id]
    record_restored_stock(map(get_new_stock, drafts.values()), actor=ACTOR, at=timezone.now())
    other_ids = load_other_ids([(draft.order.pk, parsed[pk].body) for pk, draft in drafts.items()])
    for source_id, draft in drafts.items():
        row, order = parsed[source_id], draft.order
        if draft.name and order.name != draft.name:
            row.notes.append(_RENAMED(name=draft.name, new_name=order.name))
        parts = [*get_new_ids(row.body, draft), *other_ids[order.pk]]
        results[source_id] = build_result(Outcome.NEW, order, row, parts)
    return results


def _find_existing(rows: Sequence[SourceObject]) -> set[int]:
    """Return the orders of the store that this shop has already, for example from an import file."""
    names = {str(row["name"]): row for row in rows}
    existing = Order.objects.filter(name__in=names).values_list("name", "created_at")
    return {
        names[name]["id"]
        for name, created_at in existing
        if parse_source_moment(names[name].get("created_at")) == created_at
    }
