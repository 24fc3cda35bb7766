"""From the bodies of refunds to what the service takes."""

from collections.abc import Sequence
from datetime import datetime

from apps.api.errors import Unprocessable
from apps.api.openapi.schemas import members_schema
from apps.api.resources.fields import ChoiceField, DateTimeField, IntegerField
from apps.api.resources.members import ObjectField, ObjectsField, check_members
from apps.api.shapes import Attrs, Data, Schema
from apps.api.versions import newest
from apps.ground.attrs import Given
from apps.inventory.domain.movements import Move
from apps.orders.api.fields import AmountField, flag, string, text
from apps.orders.models import Order
from apps.refunds.domain import creating
from apps.refunds.domain.requests import Duty, Payback, Units, Wanted
from apps.refunds.models import OrderAdjustment

MAX_UNITS, MAX_TRANSACTIONS = 500, 100
KINDS = ("refund", "suggested_refund")
_UNITS = {
    "line_item_id": IntegerField(min_value=1),
    "quantity": IntegerField(min_value=1, max_value=1_000_000, required=False, default=1),
    # Which of them are taken is the domain's to say.
    "restock_type": string(20),
    "location_id": IntegerField(required=False, allow_null=True),
}
_SHIPPING = {"full_refund": flag(), "amount": AmountField()}
_TRANSACTION = {
    "amount": AmountField(),
    "currency": string(3),
    "gateway": string(),
    "kind": ChoiceField(choices=[(kind, kind) for kind in KINDS], required=False, default="refund"),
    "parent_id": IntegerField(required=False, allow_null=True),
}
FULL, PROPORTIONAL = DUTY_TYPES = ("FULL", "PROPORTIONAL")
_DUTY = {
    "duty_id": IntegerField(min_value=1),
    "refund_type": ChoiceField(choices=[(word, word) for word in DUTY_TYPES]),
}
MEMBERS = {
    "currency": string(3),
    "discrepancy_reason": ChoiceField(choices=OrderAdjustment.Reason.choices, required=False, allow_null=True),
    "note": text(5000),
    "notify": flag(),
    "processed_at": DateTimeField(required=False, allow_null=True),
    "refund_duties": ObjectsField(_DUTY, most=MAX_UNITS),
    "refund_line_items": ObjectsField(_UNITS, most=MAX_UNITS),
    "restock": flag(),
    "shipping": ObjectField(_SHIPPING),
    "transactions": ObjectsField(_TRANSACTION, most=MAX_TRANSACTIONS),
}


def body_schema() -> Schema:
    """The body of a refund."""
    return {
        "type": "object",
        "required": ["refund"],
        "properties": {"refund": members_schema(MEMBERS, newest())},
    }


def read_refund(data: Data) -> Wanted:
    """The body of a refund, checked.

    Raises:
        Unprocessable: ``{field: [messages]}``.
    """
    attrs, errors = check_members(MEMBERS, data)
    if errors:
        raise Unprocessable(errors)
    shipping: Attrs = attrs.get("shipping") or {}
    return Wanted(
        units=[_units(row) for row in attrs.get("refund_line_items") or ()],
        shipping=shipping.get("amount"),
        full_shipping=bool(shipping.get("full_refund")),
        duties=[Duty(row["duty_id"], row["refund_type"] == PROPORTIONAL) for row in attrs.get("refund_duties") or ()],
        paybacks=[_payback(row) for row in attrs.get("transactions") or ()],
        currency=attrs.get("currency") or None,
        note=attrs.get("note") or "",
        notify=bool(attrs.get("notify")),
        restock=bool(attrs.get("restock")),
        reason=attrs.get("discrepancy_reason") or "",
        processed_at=attrs.get("processed_at"),
    )


def _units(row: Attrs) -> Units:
    return Units(row["line_item_id"], row["quantity"], row.get("restock_type") or None, row.get("location_id"))


def _payback(row: Attrs) -> Payback:
    return Payback(row.get("amount"), row.get("parent_id"), row.get("gateway") or None, row.get("currency") or None)


def _below(name: str, errors: object) -> object:
    """Messages of fields that stand inside another."""
    return {f"{name}.{key}": value for key, value in errors.items()} if isinstance(errors, dict) else errors


def refund_cancelled(order: Order, parts: Given, *, restock: bool, actor: str, at: datetime) -> Sequence[Move]:
    """Give money back for an order that is being cancelled; ``refund`` of its body is read here.

    Raises:
        Unprocessable: ``{field: [messages]}``.
    """
    if parts.get("refund") is not None:
        try:
            wanted = read_refund(parts["refund"])
        except Unprocessable as refusal:
            raise Unprocessable(_below("refund", refusal.errors)) from None
        parts = {**parts, "refund": wanted}
    return creating.refund_cancelled(order, parts, restock=restock, actor=actor, at=at)
