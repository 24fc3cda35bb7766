from collections.abc import Sequence
from decimal import Decimal

from apps.core.money import format_decimal
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    BooleanField,
    ChoiceField,
    ComputedField,
    ConstantField,
    DateTimeField,
    IntegerField,
    ModelDerivedField,
    ReadOnlyColumn,
    Render,
    TagsField,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.nested_objects import ObjectField, ValueListField
from apps.core.rest.resources.nested_rows import WritableNestedRows
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.types import Rendered, RequestData, Schema
from apps.customers.api.customers import CustomerSerializer
from apps.draft_orders.domain.calculation import FIXED_AMOUNT, PERCENTAGE
from apps.draft_orders.domain.invoice_links import get_invoice_url
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.api.fields import (
    DECIMAL,
    AddressField,
    AmountField,
    Money,
    PlainNumberField,
    TotalSet,
    ZeroSet,
    blank_as_null_text,
    name_value_list,
    nullable_bool,
    nullable_integer,
    nullable_text,
)
from apps.orders.api.orders import MAX_CODES, MAX_LINES, OrderCustomerField, PhoneConsentField
from apps.orders.domain.create.lines import MAX_QUANTITY

_DRAFT_PATH = "draft_order__"
_TAX_LINES: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"rate": {"type": "number"}, "title": {"type": "string"}, "price": DECIMAL},
    },
}


def _render_taxes(_context: RenderContext, taxes: Sequence[RequestData], currency: str) -> list[Rendered]:
    return [
        {"rate": float(tax["rate"]), "title": tax["title"], "price": format_decimal(Decimal(tax["price"]), currency)}
        for tax in taxes
    ]


class _CurrencyObjectField(ObjectField):
    """An object with amounts in the currency of the draft order. ``path`` is the lookup path to the draft order."""

    path = ""

    def get_columns(self) -> tuple[str, ...]:
        return (str(self.source), f"{self.path}currency")


class AppliedDiscountField(_CurrencyObjectField):
    def __init__(self, path: str = "") -> None:
        kinds = [(word, word) for word in (FIXED_AMOUNT, PERCENTAGE)]
        super().__init__(
            {
                "description": nullable_text(),
                "value": PlainNumberField(max_length=40),
                "title": nullable_text(),
                "amount": AmountField(),
                "value_type": ChoiceField(choices=kinds, required=False, allow_null=True),
            }
        )
        self.path = path

    def get_renderer(self) -> Render:
        return lambda _context, discount, currency: (
            discount
            and {
                "description": discount["description"],
                "value": discount["value"],
                "title": discount["title"],
                "amount": format_decimal(Decimal(discount["amount"]), currency),
                "value_type": discount["value_type"],
            }
        )


class DraftShippingField(_CurrencyObjectField):
    def __init__(self) -> None:
        super().__init__(
            {
                "title": nullable_text(),
                "custom": BooleanField(required=False, allow_null=True),
                "handle": nullable_text(),
                "price": AmountField(),
            }
        )

    def get_renderer(self) -> Render:
        return lambda _context, row, currency: (
            row
            and {
                "title": row["title"],
                "custom": row["custom"],
                "handle": row["handle"],
                "price": format_decimal(Decimal(row["price"]), currency),
            }
        )


class DraftCustomerSerializer(CustomerSerializer):
    sms_marketing_consent = PhoneConsentField("sms")

    class Meta(CustomerSerializer.Meta):
        fields = (
            *("id", "email", "created_at", "updated_at", "first_name", "last_name", "orders_count", "state"),
            *("total_spent", "last_order_id", "note", "verified_email", "multipass_identifier", "tax_exempt", "tags"),
            *("last_order_name", "currency", "phone", "tax_exemptions", "email_marketing_consent"),
            *("sms_marketing_consent", "admin_graphql_api_id", "default_address"),
        )


class DraftOrderLineSerializer(ResourceSerializer[DraftOrderLine]):
    variant_id = IntegerField(required=False, allow_null=True)
    product_id = ReadOnlyColumn()
    title = nullable_text()
    variant_title = blank_as_null_text(read_only=True, required=None)
    sku = blank_as_null_text()
    vendor = blank_as_null_text()
    quantity = IntegerField(min_value=1, max_value=MAX_QUANTITY, required=False)
    requires_shipping = nullable_bool()
    taxable = nullable_bool()
    gift_card = ReadOnlyColumn()
    fulfillment_service = ReadOnlyColumn()
    grams = nullable_integer()
    tax_lines = ComputedField(_render_taxes, "tax_lines", "draft_order__currency", schema=_TAX_LINES)
    applied_discount = AppliedDiscountField(_DRAFT_PATH)
    name = ReadOnlyColumn()
    properties = name_value_list()
    custom = ComputedField(lambda _context, variant_id: variant_id is None, "variant_id", schema={"type": "boolean"})
    price = AmountField(order=_DRAFT_PATH)
    admin_graphql_api_id = global_id_field("DraftOrderLineItem")


class DraftOrderSerializer(ResourceSerializer[DraftOrder]):
    note = blank_as_null_text(5000)
    email = blank_as_null_text()
    taxes_included = ReadOnlyColumn()
    currency = ReadOnlyColumn()
    invoice_sent_at = DateTimeField(read_only=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    tax_exempt = nullable_bool()
    completed_at = DateTimeField(read_only=True)
    name = ReadOnlyColumn()
    status = ReadOnlyColumn()
    line_items = WritableNestedRows(
        DraftOrderLineSerializer, "line_items", order=("position", "pk"), most=MAX_LINES, accepts_ids=True
    )
    api_client_id = ReadOnlyColumn("app_id")
    shipping_address = AddressField()
    billing_address = AddressField()
    invoice_url = ComputedField(
        lambda context, key: get_invoice_url(context.shop.pk, key),
        "invoice_key",
        schema={"type": "string", "format": "uri"},
    )
    created_on_api_version = ConstantField(None)
    applied_discount = AppliedDiscountField()
    order_id = ReadOnlyColumn()
    shipping_line = DraftShippingField()
    discount_codes = ValueListField(TextField(max_length=255), most=MAX_CODES)
    tax_lines = ComputedField(_render_taxes, "tax_lines", "currency", schema=_TAX_LINES)
    tags = TagsField()
    note_attributes = name_value_list()
    total_price = Money("total_price")
    subtotal_price = Money("subtotal_price")
    total_tax = Money("total_tax")
    payment_terms = ConstantField(None)
    presentment_currency = nullable_text(3, allow_blank=False)
    total_line_items_price_set = TotalSet("total_line_items_price")
    total_price_set = TotalSet("total_price")
    subtotal_price_set = TotalSet("subtotal_price")
    total_tax_set = TotalSet("total_tax")
    total_discounts_set = TotalSet("total_discounts")
    total_shipping_price_set = TotalSet("total_shipping_price")
    total_additional_fees_set = ConstantField(None)
    total_duties_set = ConstantField(None)
    amount_due_now_set = TotalSet("total_price")
    amount_due_later_set = ZeroSet()
    admin_graphql_api_id = global_id_field("DraftOrder")
    customer = OrderCustomerField(DraftCustomerSerializer, "customer")
    use_customer_default_address = nullable_bool(write_only=True)

    # These names end in a question mark, so the class body cannot assign them.
    for _name in ("allow_discount_codes_in_checkout?", "b2b?"):
        locals()[_name] = ConstantField(False)
    del _name
