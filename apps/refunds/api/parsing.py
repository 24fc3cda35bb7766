"""Parse the request body for a refund into a ``RefundRequest``."""

from collections.abc import Sequence
from datetime import datetime

from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.openapi.schemas import build_object_schema
from apps.core.rest.resources.fields import ChoiceField, DateTimeField, IntegerField
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField, check_members
from apps.core.rest.versions import get_latest_version
from apps.core.types import Attrs, ReadOnlyAttrs, RequestData, Schema
from apps.inventory.domain.movements import StockChange
from apps.orders.api.fields import AmountField, blank_as_null_text, nullable_bool, nullable_text
from apps.orders.models import Order
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundDutyInput, RefundLineInput, RefundRequest, RefundTransactionInput
from apps.refunds.models import OrderAdjustment

MAX_UNITS, MAX_TRANSACTIONS = 500, 100
TRANSACTION_KINDS = ("refund", "suggested_refund")
_UNITS = {
    "line_item_id": IntegerField(min_value=1),
    "quantity": IntegerField(min_value=1, max_value=1_000_000, required=False, default=1),
    # Accept any text, because the domain layer validates the restock type.
    "restock_type": nullable_text(20),
    "location_id": IntegerField(required=False, allow_null=True),
}
_SHIPPING = {"full_refund": nullable_bool(), "amount": AmountField()}
_TRANSACTION = {
    "amount": AmountField(),
    "currency": nullable_text(3),
    "gateway": nullable_text(),
    "kind": ChoiceField(choices=[(kind, kind) for kind in TRANSACTION_KINDS], required=False, default="refund"),
    "parent_id": IntegerField(required=False, allow_null=True),
}
FULL, PROPORTIONAL = DUTY_TYPES = ("FULL", "PROPORTIONAL")
_DUTY = {
    "duty_id": IntegerField(min_value=1),
    "refund_type": ChoiceField(choices=[(word, word) for word in DUTY_TYPES]),
}
REFUND_MEMBERS = {
    "currency": nullable_text(3),
    "discrepancy_reason": ChoiceField(choices=OrderAdjustment.Reason.choices, required=False, allow_null=True),
    "note": blank_as_null_text(5000),
    "notify": nullable_bool(),
    "processed_at": DateTimeField(required=False, allow_null=True),
    "refund_duties": ObjectListField(_DUTY, most=MAX_UNITS),
    "refund_line_items": ObjectListField(_UNITS, most=MAX_UNITS),
    "restock": nullable_bool(),
    "shipping": ObjectField(_SHIPPING),
    "transactions": ObjectListField(_TRANSACTION, most=MAX_TRANSACTIONS),
}


def get_refund_schema() -> Schema:
    return {
        "type": "object",
        "required": ["refund"],
        "properties": {"refund": build_object_schema(REFUND_MEMBERS, get_latest_version())},
    }


def parse_refund(data: RequestData) -> RefundRequest:
    """Parse and validate a refund's request body."""
    attrs, errors = check_members(REFUND_MEMBERS, data)
    if errors:
        raise Unprocessable(errors)
    shipping: Attrs = attrs.get("shipping") or {}
    return RefundRequest(
        line_inputs=[_parse_line(row) for row in attrs.get("refund_line_items") or ()],
        shipping=shipping.get("amount"),
        full_shipping=bool(shipping.get("full_refund")),
        duty_inputs=[
            RefundDutyInput(row["duty_id"], row["refund_type"] == PROPORTIONAL)
            for row in attrs.get("refund_duties") or ()
        ],
        transaction_inputs=[_parse_transaction(row) for row in attrs.get("transactions") or ()],
        currency=attrs.get("currency") or None,
        note=attrs.get("note") or "",
        notify=bool(attrs.get("notify")),
        restock=bool(attrs.get("restock")),
        reason=attrs.get("discrepancy_reason") or "",
        processed_at=attrs.get("processed_at"),
    )


def _parse_line(row: Attrs) -> RefundLineInput:
    return RefundLineInput(
        row["line_item_id"], row["quantity"], row.get("restock_type") or None, row.get("location_id")
    )


def _parse_transaction(row: Attrs) -> RefundTransactionInput:
    return RefundTransactionInput(
        row.get("amount"), row.get("parent_id"), row.get("gateway") or None, row.get("currency") or None
    )


def _prefix_errors(name: str, errors: object) -> object:
    return {f"{name}.{key}": value for key, value in errors.items()} if isinstance(errors, dict) else errors


def parse_and_refund_order(
    order: Order, parts: ReadOnlyAttrs, *, restock: bool, actor: str, at: datetime
) -> Sequence[StockChange]:
    """Parse the ``refund`` member of a cancellation request, and refund the order that is being canceled."""
    if parts.get("refund") is not None:
        try:
            refund_request = parse_refund(parts["refund"])
        except Unprocessable as error:
            raise Unprocessable(_prefix_errors("refund", error.errors)) from None
        parts = {**parts, "refund": refund_request}
    return create.refund_cancelled_order(order, parts, restock=restock, actor=actor, at=at)
