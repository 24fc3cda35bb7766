from decimal import Decimal

from apps.core.money import convert_amount, format_decimal
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ApiField,
    ComputedField,
    ConstantField,
    IntegerField,
    ReadOnlyColumn,
    global_id_field,
)
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.orders.api.fields import (
    DECIMAL,
    MONEY,
    AmountField,
    Blankable,
    MoneySet,
    blank_as_null_text,
    get_currency_columns,
    get_tax_members,
    name_value_list,
    nullable_bool,
    nullable_integer,
    nullable_text,
    render_discount_allocations,
    render_duties,
    render_money_set,
    render_tax_lines,
)
from apps.orders.domain.statuses import get_line_status
from apps.orders.models import LineItem, ShippingLine

ORDER_PATH = "order__"
# The maximum number of tax lines per row. An order has up to 500 line items and 100 shipping lines.
MAX_TAXES = 20
# The maximum number of duties per line item, and of tax lines per duty.
MAX_DUTIES, MAX_DUTY_TAXES = 5, 3
# The maximum number of discount applications of an order: one per line item, code and edit.
MAX_APPLICATIONS = 2000
CURRENCIES = get_currency_columns(ORDER_PATH)


def create_tax_lines_field() -> ObjectListField:
    return ObjectListField(get_tax_members(), render=render_tax_lines, needs=CURRENCIES, most=MAX_TAXES)


def create_refunded_taxes_field(order: str) -> ObjectListField:
    """Create a read-only field for the taxes of a refund. ``order`` is the lookup path to the order."""
    needs = get_currency_columns(order)
    return ObjectListField(get_tax_members(), render=render_tax_lines, needs=needs, read_only=True, required=None)


def create_duties_field() -> ObjectListField:
    amount = AmountField(required=True, allow_null=False)
    members: dict[str, ApiField] = {
        "harmonized_system_code": blank_as_null_text(13),
        "country_code_of_origin": blank_as_null_text(2),
        "shop_money": ObjectField(
            {"amount": amount, "currency_code": nullable_text(3)}, required=True, allow_null=False
        ),
        "tax_lines": ObjectListField(get_tax_members(), most=MAX_DUTY_TAXES),
    }
    return ObjectListField(members, render=render_duties, needs=CURRENCIES, most=MAX_DUTIES)


def create_discount_allocations_field() -> ObjectListField:
    members: dict[str, ApiField] = {
        "amount": AmountField(required=True, allow_null=False),
        "discount_application_index": IntegerField(min_value=0, max_value=MAX_APPLICATIONS),
    }
    return ObjectListField(members, render=render_discount_allocations, needs=CURRENCIES, most=MAX_APPLICATIONS)


def _discounted(_context: RenderContext, price: Decimal, discount: Decimal, currency: str) -> str:
    return format_decimal(price - discount, currency)


def _discounted_set(
    _context: RenderContext, price: Decimal, discount: Decimal, currency: str, presentment: str, rate: Decimal
) -> dict[str, dict[str, str]]:
    converted = convert_amount(price, rate, presentment) - convert_amount(discount, rate, presentment)
    return render_money_set(price - discount, currency, presentment, rate, converted)


class LineItemSerializer(ResourceSerializer[LineItem]):
    admin_graphql_api_id = global_id_field("LineItem")
    attributed_staffs = ConstantField([])
    current_quantity = ReadOnlyColumn()
    fulfillable_quantity = ReadOnlyColumn()
    fulfillment_service = blank_as_null_text(required=False, allow_blank=False)
    fulfillment_status = ComputedField(
        lambda _context, *quantities: get_line_status(*quantities),
        "current_quantity",
        "fulfillable_quantity",
        "fulfilled_quantity",
        "unrestocked_quantity",
        schema={"type": ["string", "null"]},
    )
    gift_card = nullable_bool()
    grams = nullable_integer()
    name = blank_as_null_text(1100)
    price = AmountField(order=ORDER_PATH)
    price_set = MoneySet("price", ORDER_PATH)
    product_exists = ComputedField(
        lambda _context, product_id: product_id is not None, "product_id", schema={"type": "boolean"}
    )
    product_id = IntegerField(required=False, allow_null=True)
    properties = name_value_list()
    quantity = IntegerField(min_value=1, max_value=1_000_000, required=False, default=1)
    requires_shipping = nullable_bool()
    sku = blank_as_null_text()
    taxable = nullable_bool()
    title = nullable_text()
    total_discount = AmountField(order=ORDER_PATH)
    total_discount_set = MoneySet("total_discount", ORDER_PATH)
    variant_id = IntegerField(required=False, allow_null=True)
    variant_inventory_management = Blankable("variant_inventory_management")
    variant_title = blank_as_null_text()
    vendor = blank_as_null_text()
    tax_lines = create_tax_lines_field()
    duties = create_duties_field()
    discount_allocations = create_discount_allocations_field()


class ShippingLineSerializer(ResourceSerializer[ShippingLine]):
    carrier_identifier = blank_as_null_text()
    code = nullable_text()
    discounted_price = ComputedField(_discounted, "price", "discount", "order__currency", schema=DECIMAL)
    discounted_price_set = ComputedField(_discounted_set, "price", "discount", *CURRENCIES, schema=MONEY)
    is_removed = ReadOnlyColumn()
    phone = blank_as_null_text(50)
    price = AmountField(order=ORDER_PATH, required=True, allow_null=False)
    price_set = MoneySet("price", ORDER_PATH)
    requested_fulfillment_service_id = ConstantField(None)
    source = nullable_text()  # type: ignore[assignment]
    title = nullable_text(required=True, allow_blank=False, allow_null=False)
    tax_lines = create_tax_lines_field()
    discount_allocations = create_discount_allocations_field()
