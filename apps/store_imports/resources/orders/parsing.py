"""Parse orders of the store into the input of ``create_orders``, with the customers, variants and locations here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from apps.catalog.models import Product, Variant
from apps.core.i18n.messages import Message, define_message
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.models import Customer
from apps.fulfillment.domain.order_hooks import IS_ROUTED
from apps.fulfillment.domain.restore import RESTORED_FULFILLMENT, RestoredFulfillment
from apps.imports_exports.resources.cells import convert_api_errors
from apps.imports_exports.resources.order_bodies import KnownRows, parse_new_order
from apps.inventory.domain.stock import get_primary_location
from apps.orders.domain.create.drafts import OrderParts
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed
from apps.store_imports.domain.streams import Source
from apps.store_imports.resources.orders.bodies import OrderBody, build_body, find_gift_card_id
from apps.store_imports.resources.orders.source_orders import IS_GONE, NAME

_NO_CUSTOMER = define_message(
    "store_imports.order_customer",
    "The customer {number} was not imported. The order has no customer until the next import.",
)
_NO_GIFT_CARD = define_message(
    "store_imports.order_gift_card", "The gift card {number} was not imported, so payments can't be refunded to it."
)


@dataclass(frozen=True, slots=True)
class ParsedOrder:
    """An order of the store as the input of ``create_orders``.

    Attributes:
        body: The values that were parsed. Its rows have the ids of the store.
        notes: What is different here.
        is_complete: False if a later run can complete the order.
    """

    attrs: Attrs
    parts: OrderParts
    body: ReadOnlyAttrs
    notes: list[Message]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class OrderContext:
    """The rows of this shop that the orders of a page refer to, as ids of this shop by ids of the store.

    Customers with erased personal data are in ``erased``. ``tracked`` are the variants of this shop with tracked stock.
    ``has_catalog`` is true if the import has products.
    """

    customers: Mapping[int, int]
    erased: frozenset[int]
    variants: Mapping[int, int]
    products: Mapping[int, int]
    locations: Mapping[int, int]
    gift_cards: Mapping[int, int]
    tracked: frozenset[int]
    has_catalog: bool
    primary: int
    brand: str
    at: datetime

    @classmethod
    def load(cls, source: Source, orders: Sequence[SourceObject], *, at: datetime) -> Self:
        present = [row for row in orders if not row.get(IS_GONE)]
        lines = [line for row in present for line in row["line_items"]]
        customers = source.ids.get_target_ids("customer", {row["customer_id"] for row in present})
        redacted = dict(Customer.objects.filter(pk__in=customers.values()).values_list("pk", "redacted_at"))
        variants = source.ids.get_target_ids("variant", {line.get("variant_id") for line in lines} - {None})
        rows = Variant.objects.filter(pk__in=variants.values()).values_list("pk", "inventory_item__tracked")
        tracked = dict(rows)
        products = source.ids.get_target_ids("product", {line.get("product_id") for line in lines} - {None})
        existing = set(Product.objects.filter(pk__in=products.values()).values_list("pk", flat=True))
        transactions = (transaction for row in present for transaction in row["transactions"])
        cards = {pk for pk in map(find_gift_card_id, transactions) if pk is not None}
        return cls(
            customers={pk: target for pk, target in customers.items() if target in redacted},
            erased=frozenset(pk for pk, target in customers.items() if redacted.get(target) is not None),
            variants={pk: target for pk, target in variants.items() if target in tracked},
            products={pk: target for pk, target in products.items() if target in existing},
            locations=_get_locations(source),
            gift_cards=source.ids.get_target_ids("gift_card", cards),
            tracked=frozenset(pk for pk, is_tracked in tracked.items() if is_tracked),
            has_catalog=source.ids.has_entries("product"),
            primary=get_primary_location().pk,
            brand=source.client.brand,
            at=at,
        )


def _get_locations(source: Source) -> Mapping[int, int]:
    entries = source.ids.get_next_entries("location", 0, 10_000)
    return {entry.source_id: entry.target_id for entry in entries}


def parse_source_order(order: SourceObject, context: OrderContext) -> ParsedOrder:
    """Parse an order.

    Raises:
        DomainError: A value is invalid.
        SourceUnreadable: A member is missing.
    """
    with refuse_malformed(NAME, order):
        body = build_body(
            order,
            locations=context.locations,
            gift_cards=context.gift_cards,
            primary=context.primary,
            brand=context.brand,
            at=context.at,
        )
        unknown = {find_gift_card_id(row) for row in order["transactions"]} - {None, *context.gift_cards}
    with convert_api_errors(body.values):
        attrs, parts = parse_new_order(body.values, "", KnownRows({}, body.location_ids), at=context.at)
    for line, row in zip(parts.lines, body.values["line_items"], strict=True):
        _set_variant(line, row, context)
    notes = [*body.notes, *(_NO_GIFT_CARD(number=str(pk)) for pk in sorted(unknown, key=str))]
    is_complete = body.is_routed and not unknown
    if context.has_catalog and _has_unknown_product(body.values, context):
        is_complete = False
    if (customer_id := order["customer_id"]) is not None:
        if target := context.customers.get(customer_id):
            parts.customer = {"id": target}
        else:
            notes.append(_NO_CUSTOMER(number=str(customer_id)))
            is_complete = False
    parts.other_members = {**parts.other_members, IS_ROUTED: True}
    _set_taken_stock(parts, body, context)
    return ParsedOrder(attrs, parts, body.values, notes, is_complete)


def _has_unknown_product(body: ReadOnlyAttrs, context: OrderContext) -> bool:
    """Return True if a product or variant of an item was not imported, for example because it is newer than the run."""
    return any(
        line.get(name) and line[name] not in known
        for line in body["line_items"]
        for name, known in (("product_id", context.products), ("variant_id", context.variants))
    )


def _set_variant(line: ReadOnlyAttrs, row: ReadOnlyAttrs, context: OrderContext) -> None:
    assert isinstance(line, dict)
    if variant := context.variants.get(row.get("variant_id") or 0):
        line["variant_id"] = variant
    elif product := context.products.get(row.get("product_id") or 0):
        line["product_id"] = product
    for name in ("sku", "vendor", "variant_title"):
        line.setdefault(name, "")


def _set_taken_stock(parts: OrderParts, body: OrderBody, context: OrderContext) -> None:
    """Set the stock that the lines hold: all units that are in the order or were not restocked.

    The API does not show which orders reduced stock, so all orders of tracked variants count as such. Unfulfilled units
    were taken from the location of their fulfillment order, and fulfilled units from the location of the fulfillment.
    """
    assert parts.state is not None
    fulfillment: RestoredFulfillment = parts.other_members[RESTORED_FULFILLMENT]
    for index, (line, columns) in enumerate(zip(parts.lines, parts.state.lines, strict=True)):
        is_stocked = columns["variant_inventory_management"] and line.get("fulfillment_service", "manual") == "manual"
        if not is_stocked or line.get("variant_id") not in context.tracked:
            continue
        assert isinstance(columns, dict)
        left = columns["current_quantity"] + columns["unrestocked_quantity"]
        taken: Counter[int] = Counter()
        for location, units in _get_sources(fulfillment, index):
            count = min(units, left - taken.total())
            if count > 0:
                taken[location] += count
        if missing := left - taken.total():
            taken[context.primary] += missing
        columns["taken_from"] = {str(location): units for location, units in sorted(taken.items())}


def _get_sources(fulfillment: RestoredFulfillment, line: int) -> list[tuple[int, int]]:
    """Return the locations and units of a line: unfulfilled units first, and then the latest fulfillments."""
    waiting = [
        (row.columns["assigned_location_id"], columns["fulfillable_quantity"])
        for row in fulfillment.fulfillment_orders
        for index, columns in row.lines
        if index == line
    ]
    sent = [
        (row.columns["location_id"], quantity)
        for row in fulfillment.shipments
        if row.columns["status"] != "cancelled"
        for index, _, quantity in row.lines
        if index == line
    ]
    return [*waiting, *reversed(sent)]
