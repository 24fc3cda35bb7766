"""Bring imported orders to their present state in the store."""

from collections import Counter
from collections.abc import Sequence

from apps.core.i18n.messages import define_text, join_messages
from apps.fulfillment.domain.restore import RESTORED_FULFILLMENT, RestoredFulfillment, update_restored_fulfillment
from apps.fulfillment.models import Fulfillment, FulfillmentOrderLine
from apps.fulfillment.models.orders import UNFINISHED
from apps.orders.domain.create.drafts import assign_customer, build_order, complete_draft
from apps.orders.domain.create.restored_stock import record_restored_stock
from apps.orders.domain.create.restored_updates import RestoredIds, RestoredOrderChanged, update_restored_order
from apps.orders.models import Order
from apps.refunds.domain.exported_refunds.restore import RESTORED_REFUNDS, RestoredRefund, restore_refunds
from apps.refunds.models import Refund
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.source_client import SourceObject
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, get_digest
from apps.store_imports.resources.orders.parsing import OrderContext, ParsedOrder, parse_source_order
from apps.store_imports.resources.orders.part_ids import get_new_ids, get_new_ids_of

REFUNDS = define_text("store_imports.refunds", "refunds")
FULFILLMENTS = define_text("store_imports.fulfillments", "fulfillments")
_PARTS = ("line_items", "shipping_lines", "transactions")


def update_order(source: Source, row: SourceObject, order: Order, context: OrderContext) -> ObjectResult:
    """Update an imported order, and add its new parts.

    Raises:
        DomainError: The order can't be restored, or was changed in this shop.
    """
    parsed = parse_source_order(row, context)
    drafted = build_order(parsed.attrs, parsed.parts, at=context.at)
    customer = parsed.parts.customer
    assign_customer(drafted, None)
    drafted.order.customer_id = customer["id"] if customer else None
    complete_draft(drafted, at=context.at)
    known = _KnownParts(source, order, parsed)
    refunds: Sequence[RestoredRefund] = parsed.parts.other_members[RESTORED_REFUNDS]
    new_refunds = [refund for refund, pk in zip(refunds, known.get_ids("refund"), strict=True) if pk is None]
    is_fulfillment_changed = known.is_fulfillment_changed()
    ids = RestoredIds(known.get_ids("line_item"), known.get_ids("shipping_line"), known.get_ids("transaction"))
    is_changed = bool(new_refunds) or is_fulfillment_changed
    stock = update_restored_order(order, drafted, ids, is_changed=is_changed, actor=ACTOR, at=context.at)
    if stock is None:
        return build_result(Outcome.UNCHANGED, order, parsed, ())
    restore_refunds([(stock.order, {RESTORED_REFUNDS: new_refunds})], actor=ACTOR, at=context.at)
    record_restored_stock([stock], actor=ACTOR, at=context.at)
    refund_ids = list(Refund.objects.filter(order=order).order_by("pk").values_list("pk", flat=True))
    parts = get_new_ids(parsed.body, drafted) + get_new_ids_of(parsed.body, "refund", refund_ids)
    if is_fulfillment_changed:
        restored: RestoredFulfillment = parsed.parts.other_members[RESTORED_FULFILLMENT]
        # Fulfillments without a fulfillment order of the store have their own, which are the last.
        own = len(restored.fulfillment_orders) - len(parsed.body["fulfillment_orders"])
        order_ids = [*known.get_ids("fulfillment_order"), *[None] * own]
        saved_order_ids, saved_ids = update_restored_fulfillment(
            stock.order, restored, order_ids, known.get_ids("fulfillment"), actor=ACTOR, at=context.at
        )
        parts += get_new_ids_of(parsed.body, "fulfillment_order", saved_order_ids)
        parts += get_new_ids_of(parsed.body, "fulfillment", saved_ids)
    return build_result(Outcome.CHANGED, order, parsed, parts)


def build_result(outcome: Outcome, order: Order, parsed: ParsedOrder, parts: Sequence[NewId]) -> ObjectResult:
    problem = join_messages(parsed.notes) if parsed.notes else None
    return ObjectResult(outcome, order.pk, problem, parsed.is_complete, parts)


class _KnownParts:
    """The parts of an order that were imported before."""

    def __init__(self, source: Source, order: Order, parsed: ParsedOrder) -> None:
        self._order = order
        self._body = parsed.body
        self._rows = {
            name: self._body[f"{name}s"]
            for name in ("line_item", "shipping_line", "transaction", "refund", "fulfillment", "fulfillment_order")
        }
        self._entries = {
            name: source.ids.get_entries(name, {row["id"] for row in rows if row.get("id")})
            for name, rows in self._rows.items()
        }
        for model, name, parts in ((Refund, "refund", REFUNDS), (Fulfillment, "fulfillment", FULFILLMENTS)):
            existing = set(model._default_manager.filter(order=order).values_list("pk", flat=True))
            if existing - set(self.get_ids(name)):
                raise RestoredOrderChanged(parts)

    def get_ids(self, name: str) -> list[int | None]:
        """Return the ids in this shop of the parts, or None for new parts."""
        entries = self._entries[name]
        ids = (row.get("id") for row in self._rows[name])
        return [entries[pk].target_id if pk in entries else None for pk in ids]

    def is_fulfillment_changed(self) -> bool:
        """Return True if a fulfillment or fulfillment order differs from the last import, is new or was removed."""
        if self._count_unrouted_here() != self._count_unrouted():
            return True
        for name in ("fulfillment", "fulfillment_order"):
            entries = self._entries[name]
            for row in self._rows[name]:
                entry = entries.get(row.get("id") or 0)
                if row.get("id") and (entry is None or entry.digest != get_digest(row)):
                    return True
        return False

    def _count_unrouted_here(self) -> Counter[int | None]:
        """Return the units by line item that are in fulfillment orders that are not from the store."""
        lines = FulfillmentOrderLine.objects.filter(
            fulfillment_order__order=self._order, fulfillment_order__status__in=UNFINISHED
        )
        other = lines.exclude(fulfillment_order__in=[pk for pk in self.get_ids("fulfillment_order") if pk is not None])
        counts: Counter[int | None] = Counter()
        for line_item_id, quantity in other.values_list("line_item_id", "fulfillable_quantity"):
            counts[line_item_id] += quantity
        return +counts

    def _count_unrouted(self) -> Counter[int | None]:
        """Return the units by line item that the store has not yet assigned to a location."""
        line_ids = dict(zip((row["id"] for row in self._rows["line_item"]), self.get_ids("line_item"), strict=True))
        counts: Counter[int | None] = Counter()
        for row in self._rows["fulfillment_order"]:
            for line in row["line_items"] if not row.get("id") else ():
                counts[line_ids[line["line_item_id"]]] += line["fulfillable_quantity"]
        return counts
