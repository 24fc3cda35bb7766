"""Convert the orders in a file to request bodies that create orders. Ids are ignored, and variants are found by SKU."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from apps.catalog.models import Variant
from apps.core.i18n.error_messages import INVALID
from apps.core.i18n.messages import define_text
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import get_current_shop
from apps.core.timestamps import InvalidDate, parse_timestamp
from apps.core.types import Attrs
from apps.customers.api.customers import CustomerSerializer
from apps.customers.domain.consents import CHANNEL_DEFINITIONS
from apps.imports_exports.domain.resources import ObjectData
from apps.imports_exports.domain.rows import Body
from apps.imports_exports.resources.cells import convert_api_errors
from apps.imports_exports.resources.exported_orders.references import PRIMARY
from apps.imports_exports.resources.exported_orders.state import is_exported_order, restore_state
from apps.imports_exports.resources.order_table import get_entered_codes
from apps.inventory.domain.stock import get_primary_location
from apps.inventory.models import Location
from apps.orders.api.parsing import parse_order
from apps.orders.domain.create.customers import IS_COMPLETE
from apps.orders.domain.create.drafts import OrderParts
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.models import Order

# JSON members of an order that the import ignores.
_IGNORED_MEMBERS = frozenset({"metafields", "send_receipt", "fulfillments"})
# JSON members of an exported order that ``restore_state`` reads.
_STATE_MEMBERS = frozenset({"transactions", "fulfillment_status", "closed_at", "customer"})
# A tuple instead of a set, because a value from a file may be unhashable.
_FULFILLED_STATUSES = ("partial", "fulfilled")
_IN_FUTURE = define_text("order_imports.in_future", "must not be in the future")
_NO_QUANTITY = define_text(
    "order_imports.no_quantity", "must contain the unfulfilled quantity of partially fulfilled items"
)


@dataclass(frozen=True, slots=True)
class KnownRows:
    """The rows of this shop that orders in a file refer to.

    Attributes:
        variants: Variant ids, keyed by the SKUs of the line items. SKUs that several variants share are omitted.
        locations: Location ids, keyed by their lowercase names. See ``OrderReferences``.
    """

    variants: Mapping[str, int]
    locations: Mapping[str, int]

    @classmethod
    def load(cls, bodies: Iterable[Body]) -> Self:
        body_list = list(bodies)
        has_locations = any(is_exported_order(body) for body in body_list)
        return cls(_get_variant_ids(body_list), _get_location_ids() if has_locations else {})


def parse_new_order(body: Body, source: str, known: KnownRows, *, at: datetime) -> tuple[Attrs, OrderParts]:
    """Parse an order from a file into the arguments of ``create_order``. ``source`` is its key in its source system.

    Raises:
        OrderRefused, RowRefused: If values are invalid.
    """
    name_and_time = _get_name_and_time(body, at)
    new_body = _convert_to_new(body, known.variants)
    with convert_api_errors(new_body):
        attrs, parts = parse_order(get_latest_version(), new_body)
        attrs |= name_and_time
        parts.is_imported = True
        attrs["source_identifier"] = (attrs.get("source_identifier") or source)[:255]
        if is_exported_order(body):
            parts.customer = _parse_customer(body)
            restore_state(body, attrs, parts, known.locations)
            return attrs, parts
    attrs["source_name"] = "import"
    parts.fulfilled_quantities = _get_fulfilled_quantities(body, parts)
    return attrs, parts


def _parse_customer(body: Body) -> Attrs | None:
    """Parse the customer of an exported order, or return None if the order has no customer."""
    customer = body.get("customer")
    if not isinstance(customer, dict):
        return None
    address = customer.get("default_address")
    addresses = _remove_members([address], "id", "customer_id") if address else []
    ignored = {"id", "metafields", "password"}
    # A consent needs the contact that it is for.
    ignored |= {channel.field for channel in CHANNEL_DEFINITIONS.values() if not customer.get(channel.contact)}
    members = {name: value for name, value in customer.items() if name not in ignored}
    attrs = validate_body(CustomerSerializer, get_latest_version(), {**members, "addresses": addresses})
    return {**attrs, IS_COMPLETE: True}


def _get_location_ids() -> dict[str, int]:
    """Return the ids of the locations, keyed by lowercase name. Active locations take precedence."""
    rows = Location.objects.order_by("active", "-pk").values_list("name", "pk")
    return {**{name.lower(): pk for name, pk in rows}, PRIMARY: get_primary_location().pk}


def _get_variant_ids(bodies: Iterable[Body]) -> Mapping[str, int]:
    skus = {line["sku"] for body in bodies for line in _get_lines_with_sku(body)} - {""}
    if not skus:
        return {}
    rows = list(Variant.objects.filter(inventory_item__sku__in=skus).values_list("inventory_item__sku", "pk"))
    counts = Counter(sku for sku, _ in rows)
    return {sku: pk for sku, pk in rows if counts[sku] == 1}


def has_fulfillments(body: Body) -> bool:
    """Return True if the order or a line item is fulfilled or partially fulfilled."""
    return any(map(_has_fulfilled_status, [body, *_to_list(body.get("line_items"))]))


def parse_file_moment(text: object, name: str) -> datetime:
    """Parse a date and time in the file. Raise ``OrderRefused`` if it is invalid."""
    try:
        return parse_timestamp(str(text), get_current_shop().tzinfo)
    except InvalidDate:
        raise OrderRefused({name: [INVALID]}) from None


def _get_name_and_time(body: Body, at: datetime) -> ObjectData:
    """Return the name and the creation time that the order has in the file."""
    values: ObjectData = {"name": body["name"]} if isinstance(body.get("name"), str) and body["name"] else {}
    if body.get("created_at"):
        values["created_at"] = parse_file_moment(body["created_at"], "created_at")
        if values["created_at"] > at:
            raise OrderRefused({"created_at": [_IN_FUTURE]})
    return values


def _get_fulfilled_quantities(body: Body, parts: OrderParts) -> list[int]:
    """Return the fulfilled quantity of each line item, or an empty list if no line item is fulfilled."""
    lines = _to_list(body.get("line_items"))
    if len(lines) != len(parts.lines) or not any(map(_has_fulfilled_status, lines)):
        return []
    return [
        _get_fulfilled_quantity(line, line_item.get("quantity") or 1)
        for line, line_item in zip(lines, parts.lines, strict=True)
    ]


def _get_fulfilled_quantity(line: object, quantity: int) -> int:
    remaining = line.get("fulfillable_quantity") if isinstance(line, dict) else None
    if not _has_fulfilled_status(line):
        return 0
    if remaining is None and _get_fulfillment_status(line) == "fulfilled":
        return quantity
    if not isinstance(remaining, int) or isinstance(remaining, bool):
        raise OrderRefused({"line_items": [_NO_QUANTITY]})
    return quantity - remaining


def _has_fulfilled_status(value: object) -> bool:
    return _get_fulfillment_status(value) in _FULFILLED_STATUSES


def _get_fulfillment_status(value: object) -> object:
    return value.get("fulfillment_status") if isinstance(value, Mapping) else None


def _convert_to_new(body: Body, skus: Mapping[str, int]) -> ObjectData:
    new_body = {name: value for name, value in body.items() if name not in _IGNORED_MEMBERS}
    new_body["line_items"] = _remove_members(_to_list(body.get("line_items")), "variant_id", "product_id")
    for line in _get_lines_with_sku(new_body):
        if line["sku"] in skus:
            line["variant_id"] = skus[line["sku"]]
    if is_exported_order(body):
        return {name: value for name, value in new_body.items() if name not in _STATE_MEMBERS}
    codes = body.get("discount_codes")
    has_applications = bool(body.get("discount_applications"))
    if not has_applications and isinstance(codes, list) and all(isinstance(code, dict) for code in codes):
        new_body["discount_codes"] = get_entered_codes(body)
    if isinstance(body.get("customer"), dict):
        [new_body["customer"]] = _remove_members([body["customer"]], "id")
    new_body["transactions"] = _remove_members(_to_list(body.get("transactions")), "parent_id")
    if new_body.get("fulfillment_status") == Order.FulfillmentStatus.RESTOCKED:
        del new_body["fulfillment_status"]
    if body.get("cancelled_at"):
        # The import creates this order and then cancels it, which closes the order and voids its authorizations.
        new_body.pop("closed_at", None)
        new_body["transactions"] = [
            row for row in new_body["transactions"] if not (isinstance(row, dict) and row.get("kind") == "void")
        ]
    return new_body


def _get_lines_with_sku(body: Body) -> list[ObjectData]:
    lines = _to_list(body.get("line_items"))
    return [line for line in lines if isinstance(line, dict) and isinstance(line.get("sku"), str)]


def _to_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _remove_members(rows: Sequence[object], *names: str) -> list[object]:
    """Remove members from objects. Invalid values are kept for the body validation."""
    return [
        {name: value for name, value in row.items() if name not in names} if isinstance(row, dict) else row
        for row in rows
    ]
