"""A fulfillment order as the interface shows it."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.api.context import Context
from apps.api.resources.fields import Column, Computed, Constant, DateTimeField, FromModel
from apps.api.resources.related import Rows
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Data, Schema, Shown
from apps.fulfillment.domain.states import place_of, supported_actions
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine, MerchantRequest
from apps.ground.money import rounded, text_of

_PLACE = ("address1", "address2", "city", "country_code", "name", "phone", "province", "zip")
_TEXT: Schema = {"type": ["string", "null"]}
_WORDS: Schema = {"type": "array", "items": {"type": "string"}}
_DESTINATION = (
    *("address1", "address2", "city", "company", "country"),
    *("email", "first_name", "last_name", "phone", "province", "zip"),
)


def _supported(_context: Context, status: str, request: str, legacy: bool) -> list[str]:
    return supported_actions((status, request), place_of(at_service=legacy))


def _destination(_context: Context, pk: int, address: Data | None, email: str, phone: str) -> Shown | None:
    """Where the order goes now; the document of the address is the order's."""
    if address is None:
        return None
    shown: Shown = {name: address.get(name) for name in _DESTINATION}
    return {"id": pk, **shown, "email": email or None, "phone": address.get("phone") or phone or None}


def _place(_context: Context, pk: int, *values: object) -> Shown:
    return {**dict(zip(_PLACE, values, strict=True)), "location_id": pk}


def _delivery(_context: Context, pk: int, method: str, name: str, code: str, reference: str) -> Shown:
    """How it is delivered; what a checkout would say besides is not known here."""
    return {
        "id": pk,
        "method_type": method,
        "min_delivery_date_time": None,
        "max_delivery_date_time": None,
        "additional_information": {
            "phone": None,
            "instructions": None,
            "failed_carriers": None,
            "pickup_point_id": None,
        },
        "branded_promise": None,
        "detailed_branded_promise": None,
        "service_code": code or None,
        "source_reference": reference or None,
        "presented_name": name,
    }


def Place(path: str) -> Computed:  # noqa: N802 - reads as a field
    """The address of a location."""
    schema: Schema = {
        "type": "object",
        "properties": {**dict.fromkeys(_PLACE, _TEXT), "location_id": {"type": "integer"}},
    }
    return Computed(_place, f"{path}_id", *(f"{path}__{name}" for name in _PLACE), schema=schema)


def _options(_context: Context, notify: bool) -> Shown:
    return {"notify_customer": notify}


class HoldSerializer(ResourceSerializer[FulfillmentHold]):
    """Why it waits."""

    id = None
    reason = Column()
    reason_notes = Column()

    class Meta:
        model = FulfillmentHold


class MerchantRequestSerializer(ResourceSerializer[MerchantRequest]):
    """What the merchant asked of the service."""

    id = None
    message = Column()
    request_options = Computed(
        _options,
        "notify_customer",
        schema={"type": "object", "properties": {"notify_customer": {"type": "boolean"}}},
    )
    sent_at = DateTimeField(read_only=True)
    kind = Column()

    class Meta:
        model = MerchantRequest


class FulfillmentOrderLineSerializer(ResourceSerializer[FulfillmentOrderLine]):
    """Units of a line of the order."""

    shop_id = Column()
    fulfillment_order_id = Column()
    quantity = Column()
    line_item_id = Column()
    inventory_item_id = Column("line_item__variant__inventory_item_id")
    fulfillable_quantity = Column()
    variant_id = Column("line_item__variant_id")

    class Meta:
        model = FulfillmentOrderLine


def _summaries(_context: Context, units: int, *columns: Any) -> list[Shown]:
    """What the units cost, each at its share of the line's discounts."""
    price, discount, quantity, allocations, applications, currency = columns
    each = rounded(price - discount / quantity, currency)
    found = []
    for allocation in allocations:
        application = applications[allocation["discount_application_index"]]
        share = rounded(Decimal(allocation["amount"]) * units / quantity, currency)
        wanted = ("allocation_method", "target_selection", "target_type")
        found.append(
            {
                "amount": text_of(share, currency),
                "discount_application": {name: application.get(name) for name in wanted},
            }
        )
    return [
        {
            "quantity": units,
            "original_unit_price_set": text_of(price, currency),
            "approximate_discounted_unit_price_set": text_of(each, currency),
            "discount_allocations": found,
        }
    ]


class SummarizedLineSerializer(FulfillmentOrderLineSerializer):
    """Units of a line, with what they cost."""

    financial_summaries = Computed(
        _summaries,
        "quantity",
        "line_item__price",
        "line_item__discount",
        "line_item__quantity",
        "line_item__discount_allocations",
        "line_item__order__discount_applications",
        "line_item__order__currency",
        schema={"type": "array", "items": {"type": "object"}},
    )

    class Meta:
        model = FulfillmentOrderLine


# What only those get who ask for it.
REFERENCES = frozenset({"order_name", "order_processed_at", "channel_id"})


def _processed(context: Context, moment: datetime) -> str:
    return moment.astimezone(context.tz).isoformat(timespec="seconds")


class FulfillmentOrderSerializer(ResourceSerializer[FulfillmentOrder]):
    """A fulfillment order with its lines, holds and requests."""

    created_at = FromModel()
    updated_at = FromModel()
    shop_id = Column()
    order_id = Column()
    assigned_location_id = Column()
    request_status = Column()
    status = Column()
    fulfill_at = DateTimeField(read_only=True)
    fulfill_by = DateTimeField(read_only=True)
    supported_actions = Computed(_supported, "status", "request_status", "assigned_location__legacy", schema=_WORDS)
    destination = Computed(
        _destination,
        "pk",
        "order__shipping_address",
        "order__email",
        "order__phone",
        schema={
            "type": ["object", "null"],
            "properties": {"id": {"type": "integer"}, **dict.fromkeys(_DESTINATION, _TEXT)},
        },
    )
    origin = Place("assigned_location")
    line_items = Rows(FulfillmentOrderLineSerializer, "lines")
    international_duties = Constant(None)
    fulfillment_holds = Rows(HoldSerializer, "holds")
    delivery_method = Computed(
        _delivery,
        "pk",
        "method_type",
        "presented_name",
        "service_code",
        "source_reference",
        schema={"type": "object"},
    )
    assigned_location = Place("assigned_location")
    merchant_requests = Rows(MerchantRequestSerializer, "requests")
    outgoing_requests = Rows(MerchantRequestSerializer, "requests")
    order_name = Column("order__name")
    order_processed_at = Computed(_processed, "order__processed_at")
    channel_id = Constant(None)

    class Meta:
        model = FulfillmentOrder


class SummarizedSerializer(FulfillmentOrderSerializer):
    """A fulfillment order with what its units cost."""

    line_items = Rows(SummarizedLineSerializer, "lines")

    class Meta:
        model = FulfillmentOrder
