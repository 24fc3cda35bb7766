"""Random draft orders: the completed order has exactly the amounts of the draft order, and they add up."""

import os
import random
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.catalog.models import Variant
from apps.core.money import get_minor_unit
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.draft_orders.domain.edits import get_lines
from apps.draft_orders.models import DraftOrder
from apps.orders.domain.selectors import get_line_items, get_shipping_lines
from apps.orders.models import LineItem, Order, ShippingLine
from apps.shops.domain import shop_countries
from apps.shops.models import ShopProvince
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.draft_orders import complete, make_draft_order
from tests.support.factories.orders import make_variant

# The number of draft orders per currency. Raise it to search for rare errors.
COUNT = int(os.environ.get("DRAFT_ORDERS", "60"))
# The shop currency with a presentment currency and its rate.
CURRENCIES = [("USD", "EUR", "0.923"), ("EUR", "JPY", "163.47"), ("JPY", "KWD", "0.002013"), ("KWD", "USD", "3.257")]
TOTALS = (
    *("total_line_items_price", "total_discounts", "subtotal_price", "total_shipping_price", "total_tax"),
    *("total_price", "total_weight"),
)
COPIED = ("discount_applications", "tax_lines", "currency", "presentment_currency")


class Generator:
    """Generate the input of draft orders in the current shop."""

    def __init__(self, rng: random.Random, shop: Shop, variants: list[Variant], customers: list[int]) -> None:
        self.rng = rng
        self.shop = shop
        self.variants = variants
        self.customers = customers

    def amount(self, units: int) -> Decimal:
        return self.rng.randint(0, units) * get_minor_unit(self.shop.currency)

    def discount(self) -> Attrs | None:
        if self.rng.random() < 0.5:
            return None
        if self.rng.random() < 0.5:
            return {"value_type": "percentage", "value": str(Decimal(self.rng.randint(0, 10000)) / 100)}
        return {"value_type": "fixed_amount", "value": str(self.amount(5000))}

    def line(self) -> Attrs:
        values: Attrs = {"quantity": self.rng.randint(1, 12), "applied_discount": self.discount()}
        if self.rng.random() < 0.5:
            return {**values, "variant_id": self.rng.choice(self.variants).pk}
        taxable = self.rng.random() < 0.8
        return {**values, "title": "Custom", "price": self.amount(20000), "taxable": taxable, "grams": 5}

    def draft(self, presentment: str) -> Attrs:
        choose = self.rng.choice
        attrs: Attrs = {
            "applied_discount": self.discount(),
            "customer_id": choose([None, *self.customers]),
            "tax_exempt": self.rng.random() < 0.1,
            "shipping_address": choose(
                [None, *({"country_code": code, "province_code": "ON"} for code in ("CA", "DE"))]
            ),
            "discount_codes": choose([[], [], ["TEN"], ["TEN", "FIXED"], ["SHIP"]]),
            "presentment_currency": choose([self.shop.currency, presentment]),
        }
        if attrs["discount_codes"] == ["SHIP"] or self.rng.random() < 0.6:
            attrs["shipping_line"] = {"title": "Post", "price": self.amount(3000)}
        return {**attrs, "lines": [self.line() for _ in range(self.rng.randint(1, 6))]}


@pytest.fixture
def generator(request: pytest.FixtureRequest, in_shop: Shop) -> Generator:
    currency, presentment, rate, included = request.param
    in_shop.currency, in_shop.taxes_included, in_shop.shipping_taxed = currency, included, True
    in_shop.presentment_currencies = [{"currency": presentment, "rate": rate, "rounding": ""}]
    in_shop.save()
    for code, tax in (("CA", "0.05"), ("DE", "0.19")):
        shop_countries.create_country({"code": code, "tax": Decimal(tax)}, actor="system", at=timezone.now())
    ShopProvince.objects.filter(code="ON").update(tax=Decimal("0.08"), tax_type=None)
    make_code("TEN", make_rule("-10"))
    make_code("FIXED", make_rule("-3", value_type="fixed_amount"))
    make_code("SHIP", make_rule("-100", target_type="shipping_line", allocation_method="each"))
    rng = random.Random(f"{currency} {included}")
    minor = get_minor_unit(currency)
    variants = [
        make_variant(in_shop, price=rng.randint(1, 9999) * minor, sku=f"V{n}", taxable=n != 2) for n in range(4)
    ]
    exempt = [make_customer(tax_exempt=flag).pk for flag in (False, True)]
    return Generator(rng, in_shop, variants, exempt)


@pytest.mark.parametrize(
    "generator", [(*row, included) for row in CURRENCIES for included in (False, True)], indirect=True, ids=str
)
def test_completed_draft_orders_have_the_amounts_that_they_showed(generator: Generator) -> None:
    presentment = generator.shop.presentment_currencies[0]["currency"]
    for _ in range(COUNT):
        values = generator.draft(presentment)
        draft = DraftOrder.objects.get(pk=make_draft_order(**values).pk)
        lines = get_lines(draft)

        order = complete(draft, payment_pending=generator.rng.random() < 0.5).order

        assert order is not None
        _assert_equal(draft, order, values)
        rows = ("discount", "tax", "tax_lines", "discount_allocations", "price", "quantity", "name")
        for line, item in zip(lines, get_line_items(order), strict=True):
            assert [getattr(line, name) for name in rows] == [getattr(item, name) for name in rows], values
        _assert_adds_up(order)


def _assert_equal(draft: DraftOrder, order: Order, values: Attrs) -> None:
    stored = Order.objects.get(pk=order.pk)
    names = (*TOTALS, *COPIED)
    for name in TOTALS:
        assert draft.get_presentment(name) == stored.get_presentment(name), values
    assert {name: getattr(draft, name) for name in names} == {name: getattr(stored, name) for name in names}, values


def _assert_adds_up(order: Order) -> None:
    rows: list[LineItem | ShippingLine] = [*get_line_items(order), *get_shipping_lines(order)]
    discounts = sum((Decimal(part["amount"]) for row in rows for part in row.discount_allocations), Decimal(0))
    net = sum((row.net_price for row in rows), Decimal(0))
    tax = sum((row.tax for row in rows), Decimal(0))
    assert order.total_discounts == discounts
    assert order.total_tax == tax == sum(Decimal(row["price"]) for row in order.tax_lines)
    assert order.total_price == net + (Decimal(0) if order.taxes_included else tax)
    assert min(row.net_price for row in rows) >= 0
