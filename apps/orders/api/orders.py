"""An order as the interface shows and takes it."""

from decimal import Decimal

from django.core.validators import validate_ipv46_address

from apps.api.context import Context
from apps.api.resources.fields import (
    ApiField,
    ChoiceField,
    Column,
    Computed,
    Constant,
    DateTimeField,
    DecimalField,
    FromModel,
    GlobalId,
    JsonField,
    TagsField,
    TextField,
)
from apps.api.resources.members import ObjectsField
from apps.api.resources.related import TakenRows
from apps.api.resources.serializers import ResourceSerializer, declaration
from apps.api.shapes import Shown
from apps.ground.money import text_of
from apps.orders.api.buyers import BuyerField, BuyerSerializer
from apps.orders.api.fields import (
    AddressField,
    AmountField,
    flag,
    pairs,
    string,
    tax_members,
    text,
)
from apps.orders.api.lines import Blankable, LineItemSerializer, ShippingLineSerializer
from apps.orders.api.money import DutiesSet, Money, MoneySet, ZeroSet, shown_codes, shown_taxes
from apps.orders.api.transactions import transaction_members
from apps.orders.domain.order_status import url_of
from apps.orders.domain.pricing import CODE_TYPES
from apps.orders.models import Order
from apps.orders.models.orders import FIRST_NAME

MAX_LINES, MAX_SHIPPING_LINES = 500, 100
# Each is shared over all lines.
MAX_CODES = 100
CURRENCIES = ("currency", "presentment_currency", "exchange_rate")
CLIENT_DETAILS = ("accept_language", "browser_height", "browser_ip", "browser_width", "session_hash", "user_agent")


def _status_url(context: Context, token: str) -> str:
    return url_of(context.shop.pk, token)


def _order_number(_context: Context, number: int) -> int:
    return number + FIRST_NAME - 1


def _business_entity(context: Context) -> str:
    return str(context.shop.pk)


def _outstanding(_context: Context, total: Decimal, paid: Decimal, refunded: Decimal, currency: str) -> str:
    return text_of(total - (paid - refunded), currency)


def _client_details(_context: Context, details: Shown | None, address: str | None) -> Shown | None:
    if details is None and address is None:
        return None
    return dict.fromkeys(CLIENT_DETAILS) | {"browser_ip": address or ""} | (details or {})


_CODE = {
    "code": TextField(max_length=255),
    "amount": AmountField(required=True, allow_null=False),
    "type": ChoiceField(choices=[(word, word) for word in CODE_TYPES], required=False, default="fixed_amount"),
}


class OrderSerializer(ResourceSerializer[Order]):
    """An order with everything that stands on it; refunds and fulfillments are added by their apps (``show``)."""

    admin_graphql_api_id = GlobalId("Order")
    app_id = Column()
    browser_ip = string(45, validators=[validate_ipv46_address])
    buyer_accepts_marketing = flag()
    cancel_reason = Blankable("cancel_reason")
    cancelled_at = DateTimeField(read_only=True)
    cart_token = Constant(None)
    checkout_id = Constant(None)
    checkout_token = Constant(None)
    client_details = Computed(_client_details, "client_details", "browser_ip", schema={"type": ["object", "null"]})
    closed_at = DateTimeField(required=False, allow_null=True)
    confirmation_number = Column()
    confirmed = Constant(True)
    contact_email = Blankable("email")
    created_at = FromModel()
    currency = string(3, allow_blank=False)
    current_subtotal_price = Money("current_subtotal_price")
    current_subtotal_price_set = MoneySet("current_subtotal_price")
    current_total_additional_fees_set = Constant(None)
    current_total_discounts = Money("current_total_discounts")
    current_total_discounts_set = MoneySet("current_total_discounts")
    current_total_duties_set = DutiesSet("current_total_duties")
    current_total_price = Money("current_total_price")
    current_total_price_set = MoneySet("current_total_price")
    current_total_tax = Money("current_total_tax")
    current_total_tax_set = MoneySet("current_total_tax")
    customer_locale = text(20)
    device_id = Constant(None)
    discount_codes = ObjectsField(_CODE, render=shown_codes, needs=("currency",), most=MAX_CODES)
    duties_included = Column()
    email = string()
    estimated_taxes = Column()
    exchange_rate = DecimalField(
        write_only=True, max_digits=18, decimal_places=6, required=False, allow_null=True, min_value=0
    )
    financial_status = ChoiceField(choices=Order.FinancialStatus.choices, required=False, allow_null=True)
    fulfillment_status = text(20)
    landing_site = text(2048)
    landing_site_ref = Constant(None)
    location_id = Constant(None)
    merchant_business_entity_id = Computed(_business_entity)
    merchant_of_record_app_id = Constant(None)
    name = Column()
    note = text(5000)
    note_attributes = pairs()
    number = Column()
    order_number = Computed(_order_number, "number", schema={"type": "integer"})
    order_status_url = Computed(_status_url, "token", schema={"type": "string", "format": "uri"})
    original_total_additional_fees_set = Constant(None)
    original_total_duties_set = DutiesSet("total_duties")
    payment_gateway_names = JsonField(read_only=True, schema={"type": "array", "items": {"type": "string"}})
    phone = text(50)
    po_number = text()
    presentment_currency = string(3, allow_blank=False)
    processed_at = DateTimeField(required=False, allow_null=True)
    reference = text()
    referring_site = text(2048)
    source_identifier = text()
    source_name = string()
    source_url = text(2048)
    subtotal_price = AmountField()
    subtotal_price_set = MoneySet("subtotal_price")
    tags = TagsField()
    tax_exempt = flag()
    tax_lines = ObjectsField(tax_members(), render=shown_taxes, needs=CURRENCIES)
    taxes_included = flag()
    test = flag()
    token = Column()
    total_cash_rounding_payment_adjustment_set = ZeroSet()
    total_cash_rounding_refund_adjustment_set = ZeroSet()
    total_discounts = AmountField()
    total_discounts_set = MoneySet("total_discounts")
    total_line_items_price = AmountField()
    total_line_items_price_set = MoneySet("total_line_items_price")
    total_outstanding = Computed(
        _outstanding, "current_total_price", "total_paid", "total_refunded", "currency", schema={"type": "string"}
    )
    total_price = AmountField()
    total_price_set = MoneySet("total_price")
    total_shipping_price_set = MoneySet("total_shipping_price")
    total_tax = AmountField()
    total_tax_set = MoneySet("total_tax")
    total_tip_received = AmountField()
    total_weight = Column()
    updated_at = FromModel()
    user_id = Constant(None)
    billing_address = AddressField()
    customer = BuyerField(BuyerSerializer, "customer")
    discount_applications = JsonField(read_only=True, schema={"type": "array", "items": {"type": "object"}})
    fulfillments = Constant([])
    line_items = TakenRows(LineItemSerializer, "line_items", order=("position", "pk"), most=MAX_LINES)
    payment_terms = Constant(None)
    refunds = Constant([])
    shipping_address = AddressField()
    shipping_lines = TakenRows(ShippingLineSerializer, "shipping_lines", most=MAX_SHIPPING_LINES)
    inventory_behaviour = ChoiceField(
        choices=Order.InventoryBehaviour.choices, write_only=True, required=False, allow_null=True
    )
    send_receipt = flag(write_only=True)
    transactions = ObjectsField(transaction_members(), write_only=True)

    class Meta:
        model = Order


def show(name: str, field: ApiField) -> None:
    """Let an app above show its rows on orders, in place of the neutral value; called from ``AppConfig.ready()``.

    Args:
        name: ``fulfillments`` or ``refunds``.
        field: How they are read; what they show must move the order's version.
    """
    if name not in {"fulfillments", "refunds"}:
        raise ValueError(f"Orders do not leave {name!r} to other apps")
    OrderSerializer._declared_fields[name] = field
    declaration.cache_clear()
