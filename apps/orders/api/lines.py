"""The lines of an order as the interface shows and takes them."""

from decimal import Decimal

from apps.api.context import Context
from apps.api.resources.fields import ApiField, Column, Computed, Constant, GlobalId, IntegerField
from apps.api.resources.members import ObjectField, ObjectsField
from apps.api.resources.serializers import ResourceSerializer
from apps.ground.money import text_of
from apps.orders.api.fields import (
    AmountField,
    flag,
    pairs,
    string,
    tax_members,
    text,
    whole,
)
from apps.orders.api.money import DECIMAL, MONEY, MoneySet, money_set, shown_allocations, shown_duties, shown_taxes
from apps.orders.domain.statuses import line_status_of
from apps.orders.models import LineItem, ShippingLine

ORDER = "order__"
# Of one row; an order has up to 600 rows.
MAX_TAXES = 20
# Of one line, and of one duty.
MAX_DUTIES, MAX_DUTY_TAXES = 5, 3
CURRENCIES = ("order__currency", "order__presentment_currency", "order__exchange_rate")


def taxes() -> ObjectsField:
    """The tax lines of a row of an order."""
    return ObjectsField(tax_members(), render=shown_taxes, needs=CURRENCIES, most=MAX_TAXES)


def duties() -> ObjectsField:
    """What customs take for a line; taken as it is shown."""
    amount = AmountField(required=True, allow_null=False)
    members: dict[str, ApiField] = {
        "harmonized_system_code": text(13),
        "country_code_of_origin": text(2),
        "shop_money": ObjectField({"amount": amount, "currency_code": string(3)}, required=True, allow_null=False),
        "tax_lines": ObjectsField(tax_members(), most=MAX_DUTY_TAXES),
    }
    return ObjectsField(members, render=shown_duties, needs=CURRENCIES, most=MAX_DUTIES)


def _line_status(_context: Context, quantity: int, current: int, fulfillable: int, fulfilled: int) -> str | None:
    return line_status_of(quantity, current, fulfillable, fulfilled)


def _exists(_context: Context, product_id: int | None) -> bool:
    return product_id is not None


def _discounted(_context: Context, price: Decimal, discount: Decimal, currency: str) -> str:
    return text_of(price - discount, currency)


def _discounted_set(
    _context: Context, price: Decimal, discount: Decimal, currency: str, presentment: str, rate: Decimal
) -> dict[str, dict[str, str]]:
    return money_set(price - discount, currency, presentment, rate)


def _or_null(_context: Context, value: str) -> str | None:
    return value or None


def Blankable(column: str) -> Computed:  # noqa: N802 - reads as a field
    """A text column, null where blank."""
    return Computed(_or_null, column, schema={"type": ["string", "null"]})


class LineItemSerializer(ResourceSerializer[LineItem]):
    """A line of an order."""

    admin_graphql_api_id = GlobalId("LineItem")
    attributed_staffs = Constant([])
    current_quantity = Column()
    fulfillable_quantity = Column()
    fulfillment_service = text(required=False, allow_blank=False)
    fulfillment_status = Computed(
        _line_status,
        "quantity",
        "current_quantity",
        "fulfillable_quantity",
        "fulfilled_quantity",
        schema={"type": ["string", "null"]},
    )
    gift_card = flag()
    grams = whole()
    name = text(1100)
    price = AmountField(order=ORDER)
    price_set = MoneySet("price", ORDER)
    product_exists = Computed(_exists, "product_id", schema={"type": "boolean"})
    product_id = IntegerField(required=False, allow_null=True)
    properties = pairs()
    quantity = IntegerField(min_value=1, max_value=1_000_000, required=False, default=1)
    requires_shipping = flag()
    sku = text()
    taxable = flag()
    title = string()
    total_discount = AmountField(order=ORDER)
    total_discount_set = MoneySet("total_discount", ORDER)
    variant_id = IntegerField(required=False, allow_null=True)
    variant_inventory_management = Blankable("variant_inventory_management")
    variant_title = text()
    vendor = text()
    tax_lines = taxes()
    duties = duties()
    discount_allocations = ObjectsField({}, render=shown_allocations, needs=CURRENCIES, read_only=True, required=None)

    class Meta:
        model = LineItem


class ShippingLineSerializer(ResourceSerializer[ShippingLine]):
    """How an order is sent."""

    carrier_identifier = text()
    code = string()
    discounted_price = Computed(_discounted, "price", "discount", "order__currency", schema=DECIMAL)
    discounted_price_set = Computed(_discounted_set, "price", "discount", *CURRENCIES, schema=MONEY)
    is_removed = Column()
    phone = text(50)
    price = AmountField(order=ORDER, required=True, allow_null=False)
    price_set = MoneySet("price", ORDER)
    requested_fulfillment_service_id = Constant(None)
    source = string()  # type: ignore[assignment]
    title = string(required=True, allow_blank=False, allow_null=False)
    tax_lines = taxes()
    discount_allocations = ObjectsField({}, render=shown_allocations, needs=CURRENCIES, read_only=True, required=None)

    class Meta:
        model = ShippingLine
