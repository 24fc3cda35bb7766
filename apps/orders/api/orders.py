from copy import deepcopy
from datetime import datetime
from decimal import Decimal

from django.core.validators import validate_ipv46_address

from apps.core.money import format_decimal
from apps.core.registry import Registry
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    AnyField,
    ApiField,
    ChoiceField,
    ComputedField,
    ConstantField,
    DateTimeField,
    DecimalField,
    JsonField,
    ModelDerivedField,
    ReadOnlyColumn,
    Render,
    TagsField,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField
from apps.core.rest.resources.nested_rows import NestedObject, WritableNestedRows
from apps.core.rest.resources.serializers import Resource, ResourceSerializer
from apps.core.types import Rendered
from apps.customers.api.customers import CustomerSerializer
from apps.customers.api.fields import ConsentField
from apps.orders.api.fields import (
    AddressField,
    AmountField,
    Blankable,
    DutiesSet,
    Money,
    PlainNumberField,
    TotalSet,
    ZeroSet,
    blank_as_null_text,
    get_currency_columns,
    get_tax_members,
    name_value_list,
    nullable_bool,
    nullable_integer,
    nullable_text,
    render_discount_codes,
    render_tax_lines,
)
from apps.orders.api.line_items import MAX_APPLICATIONS, LineItemSerializer, ShippingLineSerializer
from apps.orders.api.transactions import get_transaction_members
from apps.orders.domain.pricing.given_discounts import APPLICATION_MEMBERS, APPLICATION_TYPES
from apps.orders.domain.pricing.prices import CODE_TYPES
from apps.orders.domain.statuses import get_status_page_url
from apps.orders.models import Order, get_outstanding
from apps.orders.models.orders import FIRST_NAME

MAX_LINES, MAX_SHIPPING_LINES = 500, 100
# The maximum number of discount codes. Each code is allocated to all line items, so the number must be limited.
MAX_CODES = 100
CLIENT_DETAILS = ("accept_language", "browser_height", "browser_ip", "browser_width", "session_hash", "user_agent")
_CUSTOMER_FIELD = ObjectField(
    {
        "id": nullable_integer(1, 2**63 - 1),
        "email": nullable_text(),
        "phone": nullable_text(),
        "first_name": nullable_text(),
        "last_name": nullable_text(),
        "note": nullable_text(5000),
        "tags": TagsField(),
        "tax_exempt": nullable_bool(),
        "verified_email": nullable_bool(),
    }
)
_CODE = {
    "code": TextField(max_length=255),
    "amount": AmountField(required=True, allow_null=False),
    "type": ChoiceField(choices=[(word, word) for word in CODE_TYPES], required=False, default="fixed_amount"),
}
_APPLICATION: dict[str, ApiField] = {
    "type": ChoiceField(choices=[(word, word) for word in APPLICATION_TYPES]),
    "value": PlainNumberField(max_length=40),
    **{
        name: ChoiceField(choices=[(word, word) for word in choices], required=False, allow_null=True)
        for name, choices in APPLICATION_MEMBERS.items()
    },
    **{name: nullable_text() for name in ("code", "title", "description")},
}
# Fields that other apps add to orders, by the name of the placeholder that they replace. Changes to the related rows
# must increase the order's version.
order_members = Registry[str, ApiField]("members of orders in the API")


class PhoneConsentField(ConsentField):
    def get_columns(self) -> tuple[str, ...]:
        return ("phone", *super().get_columns())

    def get_renderer(self) -> Render:
        show = super().get_renderer()
        return lambda context, phone, *columns: show(context, *columns) if phone else None


class OrderCustomerSerializer(CustomerSerializer):
    sms_marketing_consent = PhoneConsentField("sms")

    class Meta(CustomerSerializer.Meta):
        fields = (
            "id",
            "email",
            "created_at",
            "updated_at",
            "first_name",
            "last_name",
            "state",
            "note",
            "verified_email",
            "multipass_identifier",
            "tax_exempt",
            "phone",
            "email_marketing_consent",
            "sms_marketing_consent",
            "tags",
            "currency",
            "tax_exemptions",
            "admin_graphql_api_id",
            "default_address",
        )


class OrderCustomerField(NestedObject):
    """The customer of an order. Requests have an id, contact details or null."""

    def __init__(self, serializer: Resource, relation: str) -> None:
        super().__init__(serializer, relation)
        self.read_only = False
        self.required = False
        self.allow_null = True
        self.body_field = _CUSTOMER_FIELD

    def to_internal_value(self, data: object) -> object:
        if not isinstance(data, dict):
            self.fail("invalid")
        return _CUSTOMER_FIELD.run_validation(data)


def _outstanding(
    _context: RenderContext,
    total: Decimal,
    paid_amount: Decimal,
    refunded: Decimal,
    currency: str,
    cancelled_at: datetime | None,
) -> str:
    balance = get_outstanding(total, paid_amount - refunded, is_cancelled=cancelled_at is not None)
    return format_decimal(balance, currency)


def _client_details(_context: RenderContext, details: Rendered | None, address: str | None) -> Rendered | None:
    if details is None and address is None:
        return None
    return dict.fromkeys(CLIENT_DETAILS) | {"browser_ip": address or ""} | (details or {})


class OrderSerializer(ResourceSerializer[Order]):
    admin_graphql_api_id = global_id_field("Order")
    app_id = ReadOnlyColumn()
    browser_ip = nullable_text(45, validators=[validate_ipv46_address])
    buyer_accepts_marketing = nullable_bool()
    cancel_reason = Blankable("cancel_reason")
    cancelled_at = DateTimeField(read_only=True)
    cart_token = ConstantField(None)
    checkout_id = ConstantField(None)
    checkout_token = ConstantField(None)
    client_details = ComputedField(_client_details, "client_details", "browser_ip", schema={"type": ["object", "null"]})
    closed_at = DateTimeField(required=False, allow_null=True)
    confirmation_number = ReadOnlyColumn()
    confirmed = ConstantField(True)
    contact_email = Blankable("email")
    created_at = ModelDerivedField()
    currency = nullable_text(3, allow_blank=False)
    current_subtotal_price = Money("current_subtotal_price")
    current_subtotal_price_set = TotalSet("current_subtotal_price")
    current_total_additional_fees_set = ConstantField(None)
    current_total_discounts = Money("current_total_discounts")
    current_total_discounts_set = TotalSet("current_total_discounts")
    current_total_duties_set = DutiesSet("current_total_duties")
    current_total_price = Money("current_total_price")
    current_total_price_set = TotalSet("current_total_price")
    current_total_tax = Money("current_total_tax")
    current_total_tax_set = TotalSet("current_total_tax")
    customer_locale = blank_as_null_text(20)
    device_id = ConstantField(None)
    discount_codes = ObjectListField(_CODE, render=render_discount_codes, needs=("currency",), most=MAX_CODES)
    duties_included = ReadOnlyColumn()
    email = nullable_text()
    estimated_taxes = ReadOnlyColumn()
    exchange_rate = DecimalField(
        write_only=True, max_digits=24, decimal_places=12, required=False, allow_null=True, min_value=0
    )
    financial_status = ChoiceField(choices=Order.FinancialStatus.choices, required=False, allow_null=True)
    fulfillment_status = blank_as_null_text(20)
    landing_site = blank_as_null_text(2048)
    landing_site_ref = ConstantField(None)
    location_id = ConstantField(None)
    merchant_business_entity_id = ComputedField(lambda context: str(context.shop.pk))
    merchant_of_record_app_id = ConstantField(None)
    name = ReadOnlyColumn()
    note = blank_as_null_text(5000)
    note_attributes = name_value_list()
    number = ReadOnlyColumn()
    order_number = ComputedField(lambda _context, number: number + FIRST_NAME - 1, "number", schema={"type": "integer"})
    order_status_url = ComputedField(
        lambda context, token: get_status_page_url(context.shop.pk, token),
        "token",
        schema={"type": "string", "format": "uri"},
    )
    original_total_additional_fees_set = ConstantField(None)
    original_total_duties_set = DutiesSet("total_duties")
    payment_gateway_names = JsonField(read_only=True, schema={"type": "array", "items": {"type": "string"}})
    phone = blank_as_null_text(50)
    po_number = blank_as_null_text()
    presentment_currency = nullable_text(3, allow_blank=False)
    processed_at = DateTimeField(required=False, allow_null=True)
    reference = blank_as_null_text()
    referring_site = blank_as_null_text(2048)
    source_identifier = blank_as_null_text()
    source_name = nullable_text()
    source_url = blank_as_null_text(2048)
    subtotal_price = AmountField()
    subtotal_price_set = TotalSet("subtotal_price")
    tags = TagsField()
    tax_exempt = nullable_bool()
    tax_lines = ObjectListField(get_tax_members(), render=render_tax_lines, needs=get_currency_columns())
    taxes_included = nullable_bool()
    test = nullable_bool()
    token = ReadOnlyColumn()
    total_cash_rounding_payment_adjustment_set = ZeroSet()
    total_cash_rounding_refund_adjustment_set = ZeroSet()
    total_discounts = AmountField()
    total_discounts_set = TotalSet("total_discounts")
    total_line_items_price = AmountField()
    total_line_items_price_set = TotalSet("total_line_items_price")
    total_outstanding = ComputedField(
        _outstanding,
        "current_total_price",
        "total_paid",
        "total_refunded",
        "currency",
        "cancelled_at",
        schema={"type": "string"},
    )
    total_price = AmountField()
    total_price_set = TotalSet("total_price")
    total_shipping_price_set = TotalSet("total_shipping_price")
    total_tax = AmountField()
    total_tax_set = TotalSet("total_tax")
    total_tip_received = AmountField()
    total_weight = ReadOnlyColumn()
    updated_at = ModelDerivedField()
    user_id = ConstantField(None)
    billing_address = AddressField()
    customer = OrderCustomerField(OrderCustomerSerializer, "customer")
    discount_applications = ObjectListField(_APPLICATION, most=MAX_APPLICATIONS)
    fulfillments = ConstantField([])
    line_items = WritableNestedRows(LineItemSerializer, "line_items", order=("position", "pk"), most=MAX_LINES)
    payment_terms = ConstantField(None)
    refunds = ConstantField([])
    shipping_address = AddressField()
    shipping_lines = WritableNestedRows(ShippingLineSerializer, "shipping_lines", most=MAX_SHIPPING_LINES)
    inventory_behaviour = ChoiceField(
        choices=Order.InventoryBehaviour.choices, write_only=True, required=False, allow_null=True
    )
    send_receipt = nullable_bool(write_only=True)
    transactions = ObjectListField(get_transaction_members(), write_only=True)

    def get_fields(self) -> dict[str, AnyField]:
        return super().get_fields() | deepcopy(dict(order_members))
