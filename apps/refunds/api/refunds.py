from datetime import datetime
from decimal import Decimal

from apps.core.money import format_decimal
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ComputedField,
    ConstantField,
    DateTimeField,
    ModelDerivedField,
    ReadOnlyColumn,
    global_id_field,
)
from apps.core.rest.resources.nested_rows import NestedObject, NestedRows
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.orders.api.fields import (
    DECIMAL,
    Blankable,
    Money,
    MoneySet,
    ZeroSet,
    blank_as_null_text,
    get_currency_columns,
)
from apps.orders.api.line_items import LineItemSerializer, ShippingLineSerializer, create_refunded_taxes_field
from apps.orders.api.transactions import render_is_manual, render_payment_id, render_receipt, render_unsettled
from apps.refunds.models import OrderAdjustment, Refund, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine

ORDER_PATH = "refund__order__"
TRANSACTION_PATH = "transaction__"


def _number(_context: RenderContext, amount: Decimal) -> float:
    """Return an amount as a float, as clients expect. Up to fifteen digits are exact."""
    return float(amount)


class RefundLineItemSerializer(ResourceSerializer[RefundLineItem]):
    quantity = ReadOnlyColumn()
    line_item_id = ReadOnlyColumn()
    location_id = ReadOnlyColumn()
    restock_type = ReadOnlyColumn()
    subtotal = ComputedField(_number, "subtotal", schema={"type": "number"})
    total_tax = ComputedField(_number, "total_tax", schema={"type": "number"})
    subtotal_set = MoneySet("subtotal", ORDER_PATH, "presentment_subtotal")
    total_tax_set = MoneySet("total_tax", ORDER_PATH, "presentment_tax")
    tax_lines = create_refunded_taxes_field(ORDER_PATH)
    line_item = NestedObject(LineItemSerializer, "line_item")


class RefundShippingLineSerializer(ResourceSerializer[RefundShippingLine]):
    shipping_line_id = ReadOnlyColumn()
    subtotal_amount_set = MoneySet("amount", ORDER_PATH, "presentment_amount")
    tax_lines = create_refunded_taxes_field(ORDER_PATH)
    shipping_line = NestedObject(ShippingLineSerializer, "shipping_line")


class RefundDutySerializer(ResourceSerializer[RefundDuty]):
    duty_id = ReadOnlyColumn()
    amount_set = MoneySet("amount", ORDER_PATH, "presentment_amount")
    tax_amount_set = MoneySet("tax", ORDER_PATH, "presentment_tax")
    tax_lines = create_refunded_taxes_field(ORDER_PATH)


class OrderAdjustmentSerializer(ResourceSerializer[OrderAdjustment]):
    """Refunded shipping, or a difference from the suggested refund."""

    order_id = ReadOnlyColumn("refund__order_id")
    refund_id = ReadOnlyColumn()
    amount = Money("amount", ORDER_PATH)
    tax_amount = Money("tax_amount", ORDER_PATH)
    kind = ReadOnlyColumn()
    reason = ReadOnlyColumn()
    amount_set = MoneySet("amount", ORDER_PATH, "presentment_amount")
    tax_amount_set = MoneySet("tax_amount", ORDER_PATH, "presentment_tax_amount")


def _amount(_context: RenderContext, amount: Decimal, currency: str) -> str:
    return format_decimal(amount, currency)


def _moment(context: RenderContext, moment: datetime) -> str:
    return moment.astimezone(context.tz).isoformat(timespec="seconds")


class RefundTransactionSerializer(ResourceSerializer[RefundPayment]):
    """A refund transaction in the currency of the payment it refunds."""

    id = ReadOnlyColumn("transaction_id")
    order_id = ReadOnlyColumn(f"{TRANSACTION_PATH}order_id")
    kind = ReadOnlyColumn(f"{TRANSACTION_PATH}kind")
    gateway = ReadOnlyColumn(f"{TRANSACTION_PATH}gateway")
    status = ReadOnlyColumn(f"{TRANSACTION_PATH}status")
    message = Blankable(f"{TRANSACTION_PATH}message")
    created_at = ModelDerivedField()
    test = ReadOnlyColumn(f"{TRANSACTION_PATH}test")
    authorization = Blankable(f"{TRANSACTION_PATH}authorization")
    location_id = ConstantField(None)
    user_id = ReadOnlyColumn(f"{TRANSACTION_PATH}user_id")
    parent_id = ReadOnlyColumn(f"{TRANSACTION_PATH}parent_id")
    processed_at = ComputedField(
        _moment, f"{TRANSACTION_PATH}processed_at", schema={"type": "string", "format": "date-time"}
    )
    device_id = ConstantField(None)
    error_code = Blankable(f"{TRANSACTION_PATH}error_code")
    source_name = ReadOnlyColumn(f"{TRANSACTION_PATH}source_name")
    receipt = ComputedField(
        render_receipt,
        f"{TRANSACTION_PATH}receipt",
        f"{TRANSACTION_PATH}test",
        f"{TRANSACTION_PATH}authorization",
        schema={"type": "object"},
    )
    amount = ComputedField(_amount, f"{TRANSACTION_PATH}amount", f"{TRANSACTION_PATH}currency", schema=DECIMAL)
    currency = ReadOnlyColumn(f"{TRANSACTION_PATH}currency")
    payment_id = ComputedField(
        render_payment_id, f"{ORDER_PATH}name", f"{TRANSACTION_PATH}sequence", schema={"type": "string"}
    )
    total_unsettled_set = ComputedField(
        render_unsettled,
        f"{TRANSACTION_PATH}unsettled",
        f"{TRANSACTION_PATH}currency",
        *get_currency_columns(ORDER_PATH),
        schema={"type": "object"},
    )
    manual_payment_gateway = ComputedField(render_is_manual, f"{TRANSACTION_PATH}gateway", schema={"type": "boolean"})
    amount_rounding = ConstantField(None)
    admin_graphql_api_id = global_id_field("OrderTransaction")


class ShopTransactionSerializer(RefundTransactionSerializer):
    """A refund transaction in the shop currency."""

    amount = ComputedField(_amount, f"{TRANSACTION_PATH}shop_amount", f"{ORDER_PATH}currency", schema=DECIMAL)
    currency = ReadOnlyColumn(f"{ORDER_PATH}currency")


class RefundSerializer(ResourceSerializer[Refund]):
    order_id = ReadOnlyColumn()
    created_at = ModelDerivedField()
    note = blank_as_null_text(5000)
    user_id = ReadOnlyColumn()
    processed_at = DateTimeField(read_only=True)
    restock = ReadOnlyColumn()
    duties = NestedRows(RefundDutySerializer, "duties")
    total_duties_set = MoneySet("total_duties", "order__", "presentment_duties")
    additional_fees = ConstantField([])
    total_additional_fees_set = ZeroSet("order__")
    # ``return`` is a Python keyword, so the class body cannot assign it.
    locals()["return"] = ConstantField(None)
    admin_graphql_api_id = global_id_field("Refund")
    tax_lines = create_refunded_taxes_field("order__")
    refund_line_items = NestedRows(RefundLineItemSerializer, "refund_line_items")
    refund_shipping_lines = NestedRows(RefundShippingLineSerializer, "refund_shipping_lines")
    order_adjustments = NestedRows(OrderAdjustmentSerializer, "order_adjustments")
    transactions = NestedRows(RefundTransactionSerializer, "transactions")


class ShopRefundSerializer(RefundSerializer):
    """A refund with its transactions in the shop currency (``in_shop_currency``)."""

    transactions = NestedRows(ShopTransactionSerializer, "transactions")
