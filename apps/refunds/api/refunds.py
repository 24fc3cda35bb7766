"""A refund as the interface shows it."""

from datetime import datetime
from decimal import Decimal

from apps.api.context import Context
from apps.api.resources.fields import Column, Computed, Constant, DateTimeField, FromModel, GlobalId
from apps.api.resources.related import Row, Rows
from apps.api.resources.serializers import ResourceSerializer
from apps.ground.money import text_of
from apps.orders.api.fields import text
from apps.orders.api.lines import LineItemSerializer, ShippingLineSerializer
from apps.orders.api.money import DECIMAL, Money, MoneySet, ZeroSet
from apps.orders.api.transactions import shown_receipt, shown_unsettled
from apps.refunds.domain.gateways import MANUAL
from apps.refunds.models import OrderAdjustment, Refund, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine

ORDER = "refund__order__"
OF = "transaction__"
NULLABLE = {"type": ["string", "null"]}


def _number(_context: Context, amount: Decimal) -> float:
    """An amount that clients know as a JSON number; its fifteen digits come out as they are."""
    return float(amount)


class RefundLineItemSerializer(ResourceSerializer[RefundLineItem]):
    """Units that were refunded."""

    quantity = Column()
    line_item_id = Column()
    location_id = Column()
    restock_type = Column()
    subtotal = Computed(_number, "subtotal", schema={"type": "number"})
    total_tax = Computed(_number, "total_tax", schema={"type": "number"})
    subtotal_set = MoneySet("subtotal", ORDER)
    total_tax_set = MoneySet("total_tax", ORDER)
    line_item = Row(LineItemSerializer, "line_item")

    class Meta:
        model = RefundLineItem


class RefundShippingLineSerializer(ResourceSerializer[RefundShippingLine]):
    """What was given back of shipping."""

    shipping_line_id = Column()
    subtotal_amount_set = MoneySet("amount", ORDER)
    shipping_line = Row(ShippingLineSerializer, "shipping_line")

    class Meta:
        model = RefundShippingLine


class RefundDutySerializer(ResourceSerializer[RefundDuty]):
    """What was given back of a duty, and of the taxes on it."""

    duty_id = Column()
    amount_set = MoneySet("amount", ORDER)
    tax_amount_set = MoneySet("tax", ORDER)

    class Meta:
        model = RefundDuty


class OrderAdjustmentSerializer(ResourceSerializer[OrderAdjustment]):
    """What was given beyond units, or kept of their worth."""

    order_id = Column("refund__order_id")
    refund_id = Column()
    amount = Money("amount", ORDER)
    tax_amount = Money("tax_amount", ORDER)
    kind = Column()
    reason = Column()
    amount_set = MoneySet("amount", ORDER)
    tax_amount_set = MoneySet("tax_amount", ORDER)

    class Meta:
        model = OrderAdjustment


def _or_null(_context: Context, value: str) -> str | None:
    return value or None


def _amount(_context: Context, amount: Decimal, currency: str) -> str:
    return text_of(amount, currency)


def _moment(context: Context, moment: datetime) -> str:
    return moment.astimezone(context.tz).isoformat(timespec="seconds")


def _payment_id(_context: Context, name: str, sequence: int) -> str:
    return f"{name}.{sequence}"


def _is_manual(_context: Context, gateway: str) -> bool:
    return gateway == MANUAL


class RefundTransactionSerializer(ResourceSerializer[RefundPayment]):
    """A transaction of a refund, in the currency of the payment that it goes back to."""

    id = Column("transaction_id")
    order_id = Column(f"{OF}order_id")
    kind = Column(f"{OF}kind")
    gateway = Column(f"{OF}gateway")
    status = Column(f"{OF}status")
    message = Computed(_or_null, f"{OF}message", schema=NULLABLE)
    created_at = FromModel()
    test = Column(f"{OF}test")
    authorization = Computed(_or_null, f"{OF}authorization", schema=NULLABLE)
    location_id = Constant(None)
    user_id = Column(f"{OF}user_id")
    parent_id = Column(f"{OF}parent_id")
    processed_at = Computed(_moment, f"{OF}processed_at", schema={"type": "string", "format": "date-time"})
    device_id = Constant(None)
    error_code = Computed(_or_null, f"{OF}error_code", schema=NULLABLE)
    source_name = Column(f"{OF}source_name")
    receipt = Computed(shown_receipt, f"{OF}receipt", f"{OF}test", f"{OF}authorization", schema={"type": "object"})
    amount = Computed(_amount, f"{OF}amount", f"{OF}currency", schema=DECIMAL)
    currency = Column(f"{OF}currency")
    payment_id = Computed(_payment_id, f"{ORDER}name", f"{OF}sequence", schema={"type": "string"})
    total_unsettled_set = Computed(
        shown_unsettled,
        f"{OF}unsettled",
        f"{OF}currency",
        f"{ORDER}currency",
        f"{ORDER}presentment_currency",
        f"{ORDER}exchange_rate",
        schema={"type": "object"},
    )
    manual_payment_gateway = Computed(_is_manual, f"{OF}gateway", schema={"type": "boolean"})
    amount_rounding = Constant(None)
    admin_graphql_api_id = GlobalId("OrderTransaction")

    class Meta:
        model = RefundPayment


class ShopTransactionSerializer(RefundTransactionSerializer):
    """The same in the currency of the shop's books."""

    amount = Computed(_amount, f"{OF}shop_amount", f"{ORDER}currency", schema=DECIMAL)
    currency = Column(f"{ORDER}currency")

    class Meta:
        model = RefundPayment


class RefundSerializer(ResourceSerializer[Refund]):
    """A refund with everything that belongs to it."""

    order_id = Column()
    created_at = FromModel()
    note = text(5000)
    user_id = Column()
    processed_at = DateTimeField(read_only=True)
    restock = Column()
    duties = Rows(RefundDutySerializer, "duties")
    total_duties_set = MoneySet("total_duties", "order__")
    additional_fees = Constant([])
    total_additional_fees_set = ZeroSet("order__")
    # A word of Python's, which no name can be.
    locals()["return"] = Constant(None)
    admin_graphql_api_id = GlobalId("Refund")
    refund_line_items = Rows(RefundLineItemSerializer, "refund_line_items")
    refund_shipping_lines = Rows(RefundShippingLineSerializer, "refund_shipping_lines")
    order_adjustments = Rows(OrderAdjustmentSerializer, "order_adjustments")
    transactions = Rows(RefundTransactionSerializer, "transactions")

    class Meta:
        model = Refund


class ShopRefundSerializer(RefundSerializer):
    """A refund whose transactions are in the currency of the shop's books (``in_shop_currency``)."""

    transactions = Rows(ShopTransactionSerializer, "transactions")

    class Meta:
        model = Refund
