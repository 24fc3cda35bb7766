"""From the bodies of orders to what the services take."""

from collections.abc import Mapping

from rest_framework.serializers import ValidationError

from apps.api.errors import Unprocessable
from apps.api.resources.serializers import check_body, flatten
from apps.api.shapes import Attrs, Data, Errors, Schema
from apps.metafields.domain import setting as metafields
from apps.metafields.domain.setting import Draft
from apps.orders.api.fields import AddressField
from apps.orders.api.orders import OrderSerializer
from apps.orders.domain.drafting import Parts
from apps.orders.domain.pricing import CHECKED
from apps.orders.models import EDITABLE, Order

# What of the body of a new order belongs to apps above this one.
_TEXT: Schema = {"type": ["string", "null"]}
_TEXTS: Schema = {"type": ["array", "null"], "items": {"type": "string"}}
OTHER_MEMBERS: Mapping[str, Schema] = {
    "fulfillments": {
        "description": "Of a new order: how it was sent before it came here.",
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
        "description": "Whether the buyer is told by mail that it was sent.",
        "type": ["boolean", "null"],
    },
    "fulfill_at": {
        "description": "Of a new order: the moment before which it is not to be sent.",
        "type": ["string", "null"],
        "format": "date-time",
    },
}
OTHERS = tuple(OTHER_MEMBERS)
ADDRESSES = ("billing_address", "shipping_address")


def read_order(version: str, data: Data) -> tuple[Attrs, Parts]:
    """The body of a new order, checked.

    Raises:
        Unprocessable: ``{field: [messages]}``.
    """
    attrs, errors = check_body(OrderSerializer, version, data)
    drafts = _metafields(data, errors)
    if errors:
        raise Unprocessable(errors)
    parts = Parts(
        lines=[_given(row) for row in attrs.pop("line_items", None) or ()],
        shipping=[_given(row) for row in attrs.pop("shipping_lines", None) or ()],
        customer=attrs.pop("customer", None),
        codes=attrs.pop("discount_codes", None) or (),
        taxes=attrs.pop("tax_lines", None) or (),
        transactions=[_given(row) for row in attrs.pop("transactions", None) or ()],
        totals={name: attrs.pop(name) for name in CHECKED if attrs.get(name) is not None},
        financial_status=attrs.pop("financial_status", None),
        fulfillment_status=attrs.pop("fulfillment_status", None),
        metafields=drafts,
        send_receipt=bool(attrs.pop("send_receipt", None)),
        others={name: data[name] for name in OTHERS if data.get(name) is not None},
    )
    return _given(attrs), parts


def read_changes(version: str, data: Data, instance: Order) -> tuple[Attrs, list[Draft]]:
    """What a body changes of an order; the rest of an order is history, so whole orders may be sent back.

    Raises:
        Unprocessable: ``{field: [messages]}``.
    """
    named = {name: value for name, value in data.items() if name in {*EDITABLE, "customer"}}
    parts = {
        name: named.pop(name) for name in ADDRESSES if isinstance(named.get(name), dict) and getattr(instance, name)
    }
    attrs, errors = check_body(OrderSerializer, version, named, instance=instance)
    for name, given in parts.items():
        try:
            attrs[name] = AddressField().changed(given, getattr(instance, name))
        except ValidationError as error:
            errors.update(flatten(error.detail, name))
    drafts = _metafields(data, errors)
    if errors:
        raise Unprocessable(errors)
    for name, none in (("note_attributes", []), ("buyer_accepts_marketing", False)):
        if name in attrs and attrs[name] is None:
            attrs[name] = none
    return attrs, drafts


def _given(values: Data) -> Attrs:
    return {name: value for name, value in values.items() if value is not None}


def _metafields(data: Data, errors: Errors) -> list[Draft]:
    try:
        return list(metafields.check_many(data.get("metafields")))
    except metafields.BadMetafields as refusal:
        errors.update(refusal.errors)
        return []
