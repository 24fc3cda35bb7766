"""The members of exported orders that only an import of exported orders reads."""

from decimal import Decimal

from django.db import models

from apps.core.rest.resources.fields import ApiField, ChoiceField, DateTimeField, FloatField, IntegerField
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField, ValueListField
from apps.fulfillment.domain.tracking import MAX_LENGTH, MAX_NUMBERS
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentHold, FulfillmentOrder, MerchantRequest
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.orders.api.fields import AmountField, blank_as_null_text, nullable_bool, nullable_text
from apps.orders.api.transactions import ReceiptField
from apps.orders.models import Order, Transaction
from apps.refunds.models import OrderAdjustment, RefundLineItem
from apps.refunds.models.refunds import RefundReason

# The maximum number of rows of one kind in an order, and of rows of these rows.
_MOST = 10_000


class SignedAmountField(AmountField):
    """An amount that may be negative."""

    def to_internal_value(self, data: object) -> Decimal:
        text = str(data) if isinstance(data, str | int | Decimal) and not isinstance(data, bool) else data
        if isinstance(text, str) and text.startswith("-"):
            return -super().to_internal_value(text[1:])
        return super().to_internal_value(text)


def _whole() -> IntegerField:
    return IntegerField(min_value=0, max_value=1_000_000, required=False, allow_null=True)


def _id() -> IntegerField:
    return IntegerField(required=False, allow_null=True)


def _moment() -> DateTimeField:
    return DateTimeField(required=False, allow_null=True)


def _choice(choices: type[models.TextChoices], *, required: bool = True) -> ChoiceField:
    return ChoiceField(choices=choices.choices, required=required, allow_null=not required)


def _rows(members: dict[str, ApiField]) -> ObjectListField:
    return ObjectListField(members, most=_MOST)


def _money_set(*, required: bool = False) -> ObjectField:
    money: dict[str, ApiField] = {"amount": SignedAmountField(required=True, allow_null=False)}
    sides: dict[str, ApiField] = {
        name: ObjectField(money, required=True, allow_null=False) for name in ("shop_money", "presentment_money")
    }
    return ObjectField(sides, required=required, allow_null=not required)


def _refunded_taxes() -> ObjectListField:
    return _rows({"price_set": _money_set(required=True)})


_TRANSACTION: dict[str, ApiField] = {
    "id": _id(),
    "parent_id": _id(),
    "kind": _choice(Transaction.Kind),
    "status": _choice(Transaction.Status, required=False),
    "gateway": nullable_text(),
    "amount": AmountField(required=True, allow_null=False),
    "currency": nullable_text(3),
    "shop_amount": AmountField(),
    "total_unsettled_set": _money_set(),
    "authorization": nullable_text(),
    "message": nullable_text(1000),
    "error_code": nullable_text(100),
    "receipt": ReceiptField(),
    "source_name": nullable_text(),
    "test": nullable_bool(),
    "processed_at": _moment(),
    "created_at": _moment(),
}
_REFUND: dict[str, ApiField] = {
    "note": blank_as_null_text(5000),
    "reason": _choice(RefundReason, required=False),
    "restock": nullable_bool(),
    "processed_at": _moment(),
    "created_at": _moment(),
    "total_duties_set": _money_set(),
    "duties": _rows(
        {
            "duty_id": _id(),
            "amount_set": _money_set(required=True),
            "tax_amount_set": _money_set(required=True),
            "tax_lines": _refunded_taxes(),
        }
    ),
    "refund_line_items": _rows(
        {
            "line_item_id": _id(),
            "quantity": IntegerField(min_value=1, max_value=1_000_000),
            "restock_type": _choice(RefundLineItem.RestockType),
            "location_id": _id(),
            "subtotal_set": _money_set(required=True),
            "total_tax_set": _money_set(required=True),
            "tax_lines": _refunded_taxes(),
        }
    ),
    "refund_shipping_lines": _rows(
        {
            "shipping_line_id": _id(),
            "subtotal_amount_set": _money_set(required=True),
            "tax_amount_set": _money_set(),
            "tax_lines": _refunded_taxes(),
        }
    ),
    "order_adjustments": _rows(
        {
            "kind": _choice(OrderAdjustment.Kind),
            "reason": nullable_text(),
            "amount_set": _money_set(required=True),
            "tax_amount_set": _money_set(required=True),
        }
    ),
    "transactions": _rows(_TRANSACTION),
}
_EVENT: dict[str, ApiField] = {
    "status": _choice(FulfillmentEvent.Status),
    "message": nullable_text(1000),
    "happened_at": DateTimeField(),
    **{name: nullable_text() for name in ("address1", "city", "province", "country")},
    "zip": nullable_text(50),
    "latitude": FloatField(required=False, allow_null=True, min_value=-90, max_value=90),
    "longitude": FloatField(required=False, allow_null=True, min_value=-180, max_value=180),
    "estimated_delivery_at": _moment(),
    "created_at": _moment(),
}
_ORIGIN = ("address1", "address2", "city", "zip", "province_code", "country_code")
_FULFILLMENT: dict[str, ApiField] = {
    "status": _choice(Fulfillment.Status),
    "created_at": _moment(),
    "service": nullable_text(),
    "location_id": _id(),
    "tracking_company": blank_as_null_text(),
    "tracking_numbers": ValueListField(nullable_text(MAX_LENGTH, allow_null=False), most=MAX_NUMBERS),
    "tracking_urls": ValueListField(nullable_text(MAX_LENGTH, allow_null=False), most=MAX_NUMBERS),
    "shipment_status": _choice(FulfillmentEvent.Status, required=False),
    "origin_address": ObjectField({name: nullable_text() for name in _ORIGIN}),
    "name": nullable_text(80),
    "message": blank_as_null_text(1000),
    "line_items": _rows(
        {"id": _id(), "quantity": IntegerField(min_value=1, max_value=1_000_000), "fulfillment_order_id": _id()}
    ),
    "events": _rows(_EVENT),
}
_FULFILLMENT_ORDER: dict[str, ApiField] = {
    "id": _id(),
    "status": _choice(Status),
    "request_status": _choice(RequestStatus),
    "fulfill_at": _moment(),
    "fulfill_by": _moment(),
    "created_at": _moment(),
    "assigned_location_id": _id(),
    "line_items": _rows(
        {
            "line_item_id": _id(),
            "quantity": IntegerField(min_value=1, max_value=1_000_000),
            "fulfillable_quantity": IntegerField(min_value=0, max_value=1_000_000),
        }
    ),
    "fulfillment_holds": _rows({"reason": _choice(FulfillmentHold.Reason), "reason_notes": blank_as_null_text(1000)}),
    "delivery_method": ObjectField(
        {
            "method_type": _choice(FulfillmentOrder.Method),
            **{name: blank_as_null_text() for name in ("presented_name", "service_code", "source_reference")},
        }
    ),
    "merchant_requests": _rows(
        {
            "message": blank_as_null_text(1000),
            "kind": _choice(MerchantRequest.Kind),
            "sent_at": DateTimeField(),
            "request_options": ObjectField({"notify_customer": nullable_bool()}),
        }
    ),
}
_CLIENT = ("accept_language", "browser_ip", "session_hash", "user_agent")
# Totals in the file that the restored order must have, keyed by member, with their columns.
EXPECTED_AMOUNTS = {
    "current_subtotal_price": "current_subtotal_price",
    "current_total_discounts": "current_total_discounts",
    "current_total_tax": "current_total_tax",
    "current_total_price": "current_total_price",
    "total_outstanding": "outstanding",
}
# The columns that have an amount in the presentment currency, keyed by member.
PRESENTMENT_COLUMNS = {
    **{
        f"{name}_set": name
        for name in (
            *("total_line_items_price", "total_discounts", "subtotal_price", "total_shipping_price", "total_tax"),
            *("total_price", "current_subtotal_price", "current_total_discounts", "current_total_tax"),
            *("current_total_duties", "current_total_price"),
        )
    },
    "original_total_duties_set": "total_duties",
}
MEMBERS: dict[str, ApiField] = {
    "line_items": _rows(
        {
            "id": _id(),
            **{name: _whole() for name in ("current_quantity", "fulfillable_quantity", "quantity")},
            **{name: _whole() for name in ("fulfilled_quantity", "unrestocked_quantity")},
            "fulfillment_status": nullable_text(20),
            "variant_inventory_management": blank_as_null_text(),
            "duties": _rows({"id": _id()}),
        }
    ),
    "shipping_lines": _rows({"id": _id(), "is_removed": nullable_bool()}),
    "transactions": _rows(_TRANSACTION),
    "refunds": _rows(_REFUND),
    "fulfillments": _rows(_FULFILLMENT),
    "fulfillment_orders": _rows(_FULFILLMENT_ORDER),
    "locations": _rows({"id": _id(), "name": nullable_text()}),
    "cancelled_at": _moment(),
    "closed_at": _moment(),
    "cancel_reason": _choice(Order.CancelReason, required=False),
    "confirmation_number": nullable_text(9),
    "number": _id(),
    "duties_included": nullable_bool(),
    "estimated_taxes": nullable_bool(),
    "client_details": ObjectField(
        {
            **{name: nullable_text(1000) for name in _CLIENT},
            **{name: _whole() for name in ("browser_height", "browser_width")},
        }
    ),
    "financial_status": _choice(Order.FinancialStatus, required=False),
    "fulfillment_status": nullable_text(20),
    **{name: SignedAmountField() for name in EXPECTED_AMOUNTS},
    **{name: _money_set() for name in PRESENTMENT_COLUMNS},
}
