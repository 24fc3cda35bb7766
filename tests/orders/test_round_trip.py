"""Round-trip tests: random orders and customers are equal after an export and an import, in all formats.

The test suite uses a few orders and customers. With ``ROUND_TRIPS=1000``, the file has 1,000 rows.
"""

import os
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.core.money import get_minor_unit, round_money
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain.customers import create_customer
from apps.customers.models import Customer
from apps.imports_exports.resources.cells import file_context
from apps.orders.api.orders import OrderSerializer
from apps.orders.domain import transitions
from apps.orders.domain.create import orders as create
from apps.orders.domain.create.drafts import OrderParts
from apps.orders.domain.payments import create_transaction
from apps.orders.models import Order
from tests.support import factories
from tests.support.files.import_export import export_bytes, import_bytes
from tests.support.types import Json, JsonObject

pytestmark = pytest.mark.usefixtures("media_root")

COUNT = int(os.environ.get("ROUND_TRIPS", "60"))
WORDS = (
    "Mug", "=1+1", "+1", "-1", "@A", "\t=1", "＝1", "'x", "a;b", "a|b", "a\\b", "a\\;b|", "ÄÖ", "x, y", 'say "hi"',
    "two\nlines", "cr\rlf", "1; 2", "|", ";", "\\", "-5.00", "0012", "true", "日本",
)  # fmt: skip
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
ADDRESS = {"address1": "Main; St|1", "city": "Albany", "country": "United States", "province": "New York", "zip": "012"}
# Order fields that are in all formats.
SHOWN = (
    "name", "email", "phone", "note", "tags", "created_at", "processed_at", "currency", "presentment_currency",
    "exchange_rate", "taxes_included", "tax_exempt", "test", "total_price", "subtotal_price", "total_tax",
    "total_discounts", "total_shipping_price", "total_duties", "total_tip_received", "current_total_price",
    "total_paid",
    "financial_status", "fulfillment_status", "status", "cancel_reason", "cancelled_at", "discount_codes",
    "tax_lines", "billing_address",
)  # fmt: skip
LINES = (
    "title", "variant_title", "sku", "quantity", "price", "total_discount", "discount", "tax", "tax_lines",
    "duty", "duty_tax", "duties", "requires_shipping", "taxable", "fulfillable_quantity", "fulfilled_quantity",
)  # fmt: skip
# Duties in the imported order have new ids.
NEW = frozenset({"id"})
AMOUNTS = frozenset({"amount", "price", "rate"})
SHIPPING = ("title", "price", "discount", "tax", "tax_lines")


class RandomValues:
    """A source of random values, which are equal in every run."""

    def __init__(self, seed: int) -> None:
        self.by = random.Random(seed)

    def word(self) -> str:
        return self.by.choice(WORDS)

    def amount(self, currency: str, most: int = 100) -> Decimal:
        return round_money(Decimal(self.by.randrange(1, most * 1000)) / 1000, currency) or get_minor_unit(currency)

    def taxes(self, currency: str, *, included: bool) -> list[Attrs]:
        rates = [Decimal("0.25"), Decimal("0.055"), Decimal("0.2")]
        # Smaller than the price, even if the price includes the tax.
        price = None if included else self.by.choice([None, self.amount(currency, 3)])
        return [
            {"title": self.word(), "rate": rate, "price": price}
            for rate in self.by.sample(rates, self.by.choice([0, 0, 1, 2]))
        ]

    def moment(self) -> datetime:
        return FIRST + timedelta(seconds=self.by.randrange(10**7))


def make_orders(chance: RandomValues, count: int) -> None:
    for _ in range(count):
        make_order(chance)


def make_order(chance: RandomValues) -> None:
    by = chance.by
    currency = by.choice(["USD", "USD", "JPY", "KWD"])
    included = by.random() < 0.3
    lines = [build_line(chance, currency, included=included) for _ in range(by.randint(1, 4))]
    codes = [build_discount_code(chance, currency) for _ in range(by.choice([0, 0, 1, 2, 3]))]
    if len(codes) > 1 and by.random() < 0.5:
        codes[1]["code"] = codes[0]["code"]
    shipping = [
        {
            "title": chance.word(),
            "price": chance.amount(currency, 20),
            "tax_lines": chance.taxes(currency, included=True),
        }
        for _ in range(by.choice([0, 1, 1, 2]))
    ]
    status = by.choice(["paid", "pending", "authorized", "voided", "partially_paid"])
    quantities = [by.randint(0, row["quantity"]) for row in lines] if by.random() < 0.5 else []
    attrs = {
        "email": by.choice(["", f"buyer{by.randrange(9)}@example.com"]),
        "phone": by.choice(["", "+14155550100"]),
        "note": chance.word(),
        "tags": ", ".join(sorted({"a", by.choice(["b", "=c"])})),
        "currency": currency,
        "taxes_included": included,
        "tax_exempt": by.random() < 0.1,
        "test": by.random() < 0.1,
        "total_tip_received": by.choice([Decimal(0), chance.amount(currency)]),
        "created_at": chance.moment(),
        "processed_at": chance.moment(),
        **({"billing_address": ADDRESS | {"country_code": "US", "province_code": "NY"}} if by.random() < 0.3 else {}),
        **({"name": f"{by.choice('AB')};{by.randrange(10**6)}"} if by.random() < 0.3 else {}),
    }
    if currency == "USD" and by.random() < 0.2:
        attrs |= {"presentment_currency": "JPY", "exchange_rate": Decimal("151.270001")}
    parts = OrderParts(
        lines=lines,
        codes=codes,
        shipping=shipping,
        financial_status=None if status == "partially_paid" else status,
        fulfilled_quantities=quantities,
    )
    order = create.create_order(attrs, parts, actor="system", at=timezone.now())
    if status == "partially_paid" and not order.is_multi_currency and order.total_price > 2 * get_minor_unit(currency):
        sale = {"kind": "sale", "amount": round_money(order.total_price / 2, currency), "currency": currency}
        create_transaction(order, sale, actor="system", at=timezone.now())
    elif not any(quantities) and by.random() < 0.2:
        reason = by.choice(["fraud", "customer"])
        transitions.cancel_order(order, actor="system", at=chance.moment(), reason=reason, restock=by.random() < 0.5)


def build_line(chance: RandomValues, currency: str, *, included: bool) -> Attrs:
    by, price = chance.by, chance.amount(currency)
    return {
        "title": chance.word(),
        "variant_title": by.choice(["", chance.word()]),
        "sku": by.choice(["", f"S-{by.randrange(5)}", chance.word()]),
        "quantity": by.randint(1, 5),
        "price": price,
        "total_discount": by.choice([Decimal(0), min(price, chance.amount(currency, 5))]),
        "tax_lines": chance.taxes(currency, included=included),
        "duties": [build_duty(chance, currency) for _ in range(by.choice([0, 0, 1, 2]))],
        "requires_shipping": by.random() < 0.5,
        "taxable": by.random() < 0.8,
    }


def build_duty(chance: RandomValues, currency: str) -> Attrs:
    by = chance.by
    return {
        "harmonized_system_code": by.choice([None, "520300", "0101.21"]),
        "country_code_of_origin": by.choice([None, "SE", "ca"]),
        "shop_money": {"amount": chance.amount(currency, 9), "currency_code": currency},
        "tax_lines": chance.taxes(currency, included=True),
    }


def build_discount_code(chance: RandomValues, currency: str) -> Attrs:
    kind = chance.by.choice(["percentage", "fixed_amount", "shipping"])
    amount = Decimal(chance.by.randrange(1, 900)) / 10 if kind == "percentage" else chance.amount(currency, 9)
    return {"code": chance.word(), "amount": amount, "type": kind}


def get_orders(shop: Shop) -> JsonObject:
    with shop_scope(shop):
        orders = Order.objects.prefetch_related("line_items", "shipping_lines")
        return {order.name: get_order_values(order) for order in orders}


def get_order_values(order: Order) -> JsonObject:
    output = {name: to_plain(getattr(order, name)) for name in SHOWN}
    address = output["billing_address"]
    return output | {
        "billing_address": {name: value for name, value in address.items() if value} if address else None,
        "lines": [{name: to_plain(getattr(row, name)) for name in LINES} for row in order.line_items.all()],
        "shipping": [{name: to_plain(getattr(row, name)) for name in SHIPPING} for row in order.shipping_lines.all()],
    }


def to_plain(value: Json) -> Json:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        value = {name: item for name, item in value.items() if name not in NEW}
        return {name: Decimal(item).normalize() if name in AMOUNTS else to_plain(item) for name, item in value.items()}
    if isinstance(value, datetime):
        return value.replace(microsecond=0)
    return value.normalize() if isinstance(value, Decimal) else value


@pytest.mark.parametrize("form", ["csv", "xlsx", "jsonl"])
def test_random_orders_come_back_equal(shop: Shop, other_shop: Shop, tmp_path: Path, form: str) -> None:
    user = factories.make_member(shop, "export_orders")
    with shop_scope(shop):
        make_orders(RandomValues(7), COUNT)

    report = import_bytes(other_shop, export_bytes(shop, user, "orders", form), tmp_path, f"in.{form}")

    assert report.endswith(f"Done: {COUNT} new, 0 changed, 0 skipped, 0 failed.\n"), report
    assert get_orders(other_shop) == get_orders(shop)


def make_customers(chance: RandomValues, count: int) -> None:
    by = chance.by
    for number in range(count):
        attrs: Attrs = {
            "first_name": chance.word(),
            "last_name": by.choice(["", chance.word()]),
            "email": by.choice(["", f"Person.{number}@Example.com", f"person{number}@exämple.com"]),
            "phone": by.choice(["", f"+1415555{number:04}"]),
            "note": by.choice(["", chance.word()]),
            "tags": ", ".join(sorted({"x", by.choice(["=y", "z"])})),
            "tax_exempt": by.random() < 0.3,
            "addresses": [ADDRESS | {"company": chance.word()}] if by.random() < 0.5 else [],
        }
        if attrs["email"] and by.random() < 0.5:
            attrs["accepts_marketing"] = True
        create_customer(attrs, actor="system", at=timezone.now())


PERSON = ("first_name", "last_name", "email", "phone", "note", "tags", "tax_exempt", "email_marketing_state")
PLACE = ("company", "address1", "city", "province_code", "country_code", "zip")


def get_people(shop: Shop) -> list[JsonObject]:
    with shop_scope(shop):
        people = Customer.objects.select_related("default_address").order_by("pk")
        return [
            {
                **{name: to_plain(getattr(person, name)) for name in PERSON},
                "address": person.default_address
                and {name: to_plain(getattr(person.default_address, name)) for name in PLACE},
            }
            for person in people
        ]


@pytest.mark.parametrize("form", ["csv", "xlsx", "jsonl"])
def test_random_customers_come_back_equal(shop: Shop, other_shop: Shop, tmp_path: Path, form: str) -> None:
    user = factories.make_member(shop, "export_customers")
    with shop_scope(shop):
        make_customers(RandomValues(11), COUNT)

    report = import_bytes(other_shop, export_bytes(shop, user, "customers", form), tmp_path, f"in.{form}")

    assert report.endswith(f"Done: {COUNT} new, 0 changed, 0 skipped, 0 failed.\n"), report
    assert get_people(other_shop) == get_people(shop)


@pytest.mark.parametrize("form", ["csv", "xlsx", "jsonl"])
def test_imported_orders_are_exported_unchanged(shop: Shop, other_shop: Shop, tmp_path: Path, form: str) -> None:
    Shop.objects.update(timezone="UTC")
    shop.refresh_from_db()
    other_shop.refresh_from_db()
    people = [factories.make_member(index, "export_orders") for index in (shop, other_shop)]
    with shop_scope(shop):
        make_orders(RandomValues(13), 5)
    out = export_bytes(shop, people[0], "orders", form)
    import_bytes(other_shop, out, tmp_path, f"in.{form}")

    def read_orders(index: Shop) -> list[Any]:
        with shop_scope(index):
            ids = list(Order.objects.order_by("pk").values_list("pk", flat=True))
            context = file_context()
            objects = get_read_plan(OrderSerializer, context.version).read_ids(ids, context)
        return [[objects[pk][name] for name in ("name", "total_price", "discount_codes", "tax_lines")] for pk in ids]

    assert read_orders(other_shop) == read_orders(shop)
    if form == "csv":
        assert export_bytes(other_shop, people[1], "orders", form) == out
