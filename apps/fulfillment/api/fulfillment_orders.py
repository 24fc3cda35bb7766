from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.catalog.domain.fulfillment_service_choices import MANUAL
from apps.core.money import format_decimal, round_money
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ComputedField,
    ConstantField,
    DateTimeField,
    ModelDerivedField,
    ReadOnlyColumn,
)
from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.types import Rendered, RequestData, Schema
from apps.fulfillment.domain.fulfillment_orders.states import get_manager, get_supported_actions
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine, MerchantRequest

_LOCATION = ("address1", "address2", "city", "country_code", "name", "phone", "province", "zip")
_TEXT: Schema = {"type": ["string", "null"]}
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_DESTINATION = (
    *("address1", "address2", "city", "company", "country"),
    *("email", "first_name", "last_name", "phone", "province", "zip"),
)


def _render_supported_actions(_context: RenderContext, status: str, request: str, legacy: bool) -> list[str]:
    return get_supported_actions((status, request), get_manager(at_service=legacy))


def _render_destination(
    _context: RenderContext, pk: int, address: RequestData | None, email: str, phone: str
) -> Rendered | None:
    if address is None:
        return None
    fields: Rendered = {name: address.get(name) for name in _DESTINATION}
    return {"id": pk, **fields, "email": email or None, "phone": address.get("phone") or phone or None}


def _render_location(_context: RenderContext, pk: int, *values: object) -> Rendered:
    return {**dict(zip(_LOCATION, values, strict=True)), "location_id": pk}


def _render_delivery_method(
    _context: RenderContext, pk: int, method: str, name: str, code: str, reference: str
) -> Rendered:
    """Render the delivery method. Members that only a checkout could provide are null."""
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


def LocationAddressField(path: str) -> ComputedField:  # noqa: N802 - reads as a field
    schema: Schema = {
        "type": "object",
        "properties": {**dict.fromkeys(_LOCATION, _TEXT), "location_id": {"type": "integer"}},
    }
    return ComputedField(_render_location, f"{path}_id", *(f"{path}__{name}" for name in _LOCATION), schema=schema)


def _render_options(_context: RenderContext, notify: bool) -> Rendered:
    return {"notify_customer": notify}


class HoldSerializer(ResourceSerializer[FulfillmentHold]):
    id = None
    reason = ReadOnlyColumn()
    reason_notes = ReadOnlyColumn()


class MerchantRequestSerializer(ResourceSerializer[MerchantRequest]):
    id = None
    message = ReadOnlyColumn()
    request_options = ComputedField(
        _render_options,
        "notify_customer",
        schema={"type": "object", "properties": {"notify_customer": {"type": "boolean"}}},
    )
    sent_at = DateTimeField(read_only=True)
    kind = ReadOnlyColumn()


class FulfillmentOrderLineSerializer(ResourceSerializer[FulfillmentOrderLine]):
    shop_id = ReadOnlyColumn()
    fulfillment_order_id = ReadOnlyColumn()
    quantity = ReadOnlyColumn()
    line_item_id = ReadOnlyColumn()
    inventory_item_id = ReadOnlyColumn("line_item__variant__inventory_item_id")
    fulfillable_quantity = ReadOnlyColumn()
    variant_id = ReadOnlyColumn("line_item__variant_id")


def _render_financial_summaries(_context: RenderContext, units: int, *columns: Any) -> list[Rendered]:
    """Render the prices of a line, with the line's share of each discount."""
    price, discount, quantity, allocations, applications, currency = columns
    discounted_price = round_money(price - discount / quantity, currency)
    discount_allocations = []
    for allocation in allocations:
        application = applications[allocation["discount_application_index"]]
        share = round_money(Decimal(allocation["amount"]) * units / quantity, currency)
        names = ("allocation_method", "target_selection", "target_type")
        discount_allocations.append(
            {
                "amount": format_decimal(share, currency),
                "discount_application": {name: application.get(name) for name in names},
            }
        )
    return [
        {
            "quantity": units,
            "original_unit_price_set": format_decimal(price, currency),
            "approximate_discounted_unit_price_set": format_decimal(discounted_price, currency),
            "discount_allocations": discount_allocations,
        }
    ]


class SummarizedLineSerializer(FulfillmentOrderLineSerializer):
    financial_summaries = ComputedField(
        _render_financial_summaries,
        "quantity",
        "line_item__price",
        "line_item__discount",
        "line_item__quantity",
        "line_item__discount_allocations",
        "line_item__order__discount_applications",
        "line_item__order__currency",
        schema={"type": "array", "items": {"type": "object"}},
    )


# The fields that are only included on request.
REFERENCE_FIELDS = frozenset({"order_name", "order_processed_at", "channel_id"})


def _render_processed_at(context: RenderContext, moment: datetime) -> str:
    return moment.astimezone(context.tz).isoformat(timespec="seconds")


class FulfillmentOrderSerializer(ResourceSerializer[FulfillmentOrder]):
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    shop_id = ReadOnlyColumn()
    order_id = ReadOnlyColumn()
    assigned_location_id = ReadOnlyColumn()
    request_status = ReadOnlyColumn()
    status = ReadOnlyColumn()
    fulfill_at = DateTimeField(read_only=True)
    fulfill_by = DateTimeField(read_only=True)
    supported_actions = ComputedField(
        _render_supported_actions, "status", "request_status", "assigned_location__legacy", schema=_TEXTS
    )
    destination = ComputedField(
        _render_destination,
        "pk",
        "order__shipping_address",
        "order__email",
        "order__phone",
        schema={
            "type": ["object", "null"],
            "properties": {"id": {"type": "integer"}, **dict.fromkeys(_DESTINATION, _TEXT)},
        },
    )
    origin = LocationAddressField("assigned_location")
    line_items = NestedRows(FulfillmentOrderLineSerializer, "lines")
    international_duties = ConstantField(None)
    fulfillment_holds = NestedRows(HoldSerializer, "holds")
    delivery_method = ComputedField(
        _render_delivery_method,
        "pk",
        "method_type",
        "presented_name",
        "service_code",
        "source_reference",
        schema={"type": "object"},
    )
    assigned_location = LocationAddressField("assigned_location")
    merchant_requests = NestedRows(MerchantRequestSerializer, "requests")
    outgoing_requests = NestedRows(MerchantRequestSerializer, "requests")
    fulfillment_service_handle = ComputedField(
        lambda _context, handle: handle or MANUAL,
        "assigned_location__service__handle",
        schema={"type": "string"},
        until="2025-01",
    )
    order_name = ReadOnlyColumn("order__name")
    order_processed_at = ComputedField(_render_processed_at, "order__processed_at")
    channel_id = ConstantField(None)


class SummarizedFulfillmentOrderSerializer(FulfillmentOrderSerializer):
    line_items = NestedRows(SummarizedLineSerializer, "lines")
