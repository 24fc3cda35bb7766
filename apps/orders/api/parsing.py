from collections.abc import Mapping

from rest_framework.serializers import ValidationError

from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.resources.serializers import check_body, flatten_errors
from apps.core.types import Attrs, Errors, RequestData, Schema
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput
from apps.orders.api.fields import AddressField
from apps.orders.api.money_sets import complete_currencies
from apps.orders.api.orders import OrderSerializer
from apps.orders.domain.create.drafts import OrderParts
from apps.orders.domain.pricing.totals import CHECKED_TOTALS
from apps.orders.models import EDITABLE, Order

# The schemas of the body members that the fulfillment app handles when an order is created.
_TEXT: Schema = {"type": ["string", "null"]}
_TEXTS: Schema = {"type": ["array", "null"], "items": {"type": "string"}}
OTHER_MEMBERS: Mapping[str, Schema] = {
    "fulfillments": {
        "description": "Fulfillments of a new order that was fulfilled elsewhere.",
        "type": ["array", "null"],
        "items": {
            "type": "object",
            "properties": {
                "location_id": {"type": ["integer", "null"]},
                "tracking_company": _TEXT,
                "tracking_number": _TEXT,
                "tracking_numbers": _TEXTS,
                "tracking_url": _TEXT,
                "tracking_urls": _TEXTS,
            },
        },
    },
    "send_fulfillment_receipt": {
        "description": "Whether to email the customer about the fulfillment.",
        "type": ["boolean", "null"],
    },
    "fulfill_at": {
        "description": "The earliest time to fulfill a new order.",
        "type": ["string", "null"],
        "format": "date-time",
    },
}


def parse_order(version: str, data: RequestData) -> tuple[Attrs, OrderParts]:
    attrs, errors = check_body(OrderSerializer, version, data)
    drafts = _parse_metafields(data, errors)
    if errors:
        raise Unprocessable(errors)
    attrs |= complete_currencies(attrs, data)
    parts = OrderParts(
        lines=[_without_nulls(row) for row in attrs.pop("line_items", None) or ()],
        shipping=[_without_nulls(row) for row in attrs.pop("shipping_lines", None) or ()],
        customer=attrs.pop("customer", None),
        codes=attrs.pop("discount_codes", None) or (),
        applications=attrs.pop("discount_applications", None) or (),
        taxes=attrs.pop("tax_lines", None) or (),
        transactions=[_without_nulls(row) for row in attrs.pop("transactions", None) or ()],
        totals={name: attrs.pop(name) for name in CHECKED_TOTALS if attrs.get(name) is not None},
        financial_status=attrs.pop("financial_status", None),
        fulfillment_status=attrs.pop("fulfillment_status", None),
        metafields=drafts,
        send_receipt=bool(attrs.pop("send_receipt", None)),
        other_members={name: data[name] for name in OTHER_MEMBERS if data.get(name) is not None},
    )
    return _without_nulls(attrs), parts


def parse_order_changes(version: str, data: RequestData, instance: Order) -> tuple[Attrs, list[MetafieldInput]]:
    """Parse the editable members of an order's body. Others are ignored, so that clients may send whole orders."""
    editable = {name: value for name, value in data.items() if name in {*EDITABLE, "customer"}}
    addresses = {
        name: editable.pop(name)
        for name in ("billing_address", "shipping_address")
        if isinstance(editable.get(name), dict) and getattr(instance, name)
    }
    attrs, errors = check_body(OrderSerializer, version, editable, instance=instance)
    for name, address in addresses.items():
        try:
            attrs[name] = AddressField().apply_changes(address, getattr(instance, name))
        except ValidationError as error:
            errors.update(flatten_errors(error.detail, name))
    drafts = _parse_metafields(data, errors)
    if errors:
        raise Unprocessable(errors)
    for name, default in (("note_attributes", []), ("buyer_accepts_marketing", False)):
        if name in attrs and attrs[name] is None:
            attrs[name] = default
    return attrs, drafts


def _without_nulls(values: RequestData) -> Attrs:
    return {name: value for name, value in values.items() if value is not None}


def _parse_metafields(data: RequestData, errors: Errors) -> list[MetafieldInput]:
    try:
        return list(metafields.validate_metafields(data.get("metafields")))
    except metafields.BadMetafields as error:
        errors.update(error.errors)
        return []
