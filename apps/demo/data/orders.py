"""Create three hundred demo orders in all statuses. Every run creates the same orders."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from apps.catalog.models import Variant
from apps.core.money import get_minor_unit, round_money
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.customers.domain.addresses import COLUMNS
from apps.customers.models import Customer
from apps.metafields.domain.write import MetafieldInput
from apps.orders.domain import transitions, updates
from apps.orders.domain.create import orders
from apps.orders.domain.create.drafts import OrderParts
from apps.orders.domain.payments import create_transaction
from apps.orders.models import Order

COUNT = 300
DAYS = 180
SYSTEM = "system"
EXTRAS = (
    ("Gift wrapping", "4.50"),
    ("Workshop ticket", "65.00"),
    ("Engraving", "12.00"),
    ("Repair by hand", "38.00"),
    ("Sample box", "9.90"),
)
SHIPPING = (("Standard", "4.90"), ("Express", "14.90"), ("Pick up in store", "0.00"))
CODES = (("WELCOME10", "10", "percentage"), ("FIVEOFF", "5.00", "fixed_amount"), ("FREESHIP", "20.00", "shipping"))
NOTES = ("Leave it with the neighbour, please.", "It is a gift: no prices in the parcel.", "Ring twice.")
TAGS = ("gift", "repeat", "b2b", "fragile", "rush")
COMMENTS = ("Called the customer about the address.", "Packed with extra paper.", "Asked the workshop for a date.")
# Payment states, each repeated according to its frequency. ``two payments`` is a deposit and a later payment of the
# balance.
PAYMENTS = ("paid",) * 11 + ("authorized",) * 3 + ("pending",) * 3 + ("voided", "deposit", "two payments", "captured")


@dataclass(frozen=True)
class DemoData:
    shop: Shop
    variants: Sequence[Variant]
    buyers: Sequence[Customer]
    now: datetime


def create_demo_orders(shop: Shop, at: datetime) -> None:
    rng = random.Random(41)  # noqa: S311 - the demo must be the same each time
    variants = list(Variant.objects.select_related("product").order_by("pk")[:200])
    customers = list(Customer.objects.select_related("default_address").order_by("pk")[:200])
    demo_data = DemoData(shop, variants, customers, at)
    moments = sorted(at - timedelta(minutes=rng.randrange(60, DAYS * 1440)) for _ in range(COUNT))
    for number, moment in enumerate(moments):
        _create_order(rng, demo_data, number, moment)


def _create_order(rng: random.Random, demo_data: DemoData, number: int, placed_at: datetime) -> None:
    customer = rng.choice(demo_data.buyers) if demo_data.buyers and number % 15 else None
    payment = PAYMENTS[number % len(PAYMENTS)]
    age = demo_data.now - placed_at
    attrs, parts = _order_values(rng, demo_data, number, customer)
    parts.financial_status = {"deposit": None, "two payments": None, "captured": "authorized"}.get(payment, payment)
    # Paid orders older than a month are fulfilled.
    parts.fulfillment_status = "fulfilled" if payment == "paid" and (age.days > 30 or number % 4 == 0) else None
    if number % 10 == 0:
        parts.metafields = [MetafieldInput("packing", "ribbon", "boolean", "true", "Whether the parcel gets a ribbon")]
    order = orders.create_order(attrs, parts, actor=SYSTEM, at=placed_at)
    later = min(placed_at + timedelta(hours=rng.randrange(1, 48)), demo_data.now)
    if payment == "captured":
        create_transaction(order, {"kind": "capture"}, actor=SYSTEM, at=later)
    elif payment in {"deposit", "two payments"} and order.total_price > 2:
        half = round_money(order.total_price / 2, order.currency)
        deposit = {"kind": "sale", "amount": half, "currency": order.currency}
        create_transaction(order, deposit, actor=SYSTEM, at=placed_at)
        if payment == "two payments":
            create_transaction(order, {"kind": "sale"}, actor=SYSTEM, at=later)
    if number % 9 == 0:
        updates.add_comment(order, rng.choice(COMMENTS), actor=SYSTEM, at=later)
    _finish(rng, order, payment, number, is_fulfilled=parts.fulfillment_status is not None, age=age.days, at=later)


def _finish(
    rng: random.Random, order: Order, payment: str, number: int, *, is_fulfilled: bool, age: int, at: datetime
) -> None:
    """Close old orders and cancel a few."""
    if is_fulfilled and age > 45:
        transitions.close_order(order, actor=SYSTEM, at=at)
    elif not is_fulfilled and (payment == "voided" or number % 17 == 5):
        reason = rng.choice(Order.CancelReason.values)
        transitions.cancel_order(order, reason=reason, restock=number % 2 == 0, actor=SYSTEM, at=at)


def _order_values(
    rng: random.Random, demo_data: DemoData, number: int, customer: Customer | None
) -> tuple[Attrs, OrderParts]:
    currency = demo_data.shop.currency
    vat = [{"title": "VAT", "rate": Decimal("0.2"), "price": None}]
    lines = [{**line, "tax_lines": vat} for line in _lines(rng, demo_data.variants)]
    title, price = rng.choice(SHIPPING)
    codes = []
    if number % 6 == 2:
        code, amount, kind = rng.choice(CODES)
        codes = [{"code": code, "amount": Decimal(amount), "type": kind}]
    if get_minor_unit(currency) == 1:
        lines = [line | {"price": line["price"].to_integral_value()} if "price" in line else line for line in lines]
    if number % 20 == 13:
        lines[0] = {**lines[0], "duties": [_duty(currency, vat)]}
    address = get_address(customer)
    attrs: Attrs = {
        "taxes_included": True,
        "billing_address": address,
        "shipping_address": address,
        "note": rng.choice(NOTES) if rng.random() < 0.15 else "",
        "tags": ", ".join(sorted(rng.sample(TAGS, rng.choice((0, 0, 0, 1, 2))))),
        "source_name": rng.choice(("web", "web", "web", "pos")),
        "test": number % 60 == 59,
    }
    if number % 12 == 7 and currency != "JPY":
        attrs |= {"presentment_currency": "JPY", "exchange_rate": Decimal("151.27")}
    shipping = [{"title": title, "price": round_money(Decimal(price), currency), "code": title.lower()}]
    buyer = {"id": customer.pk} if customer else None
    return attrs, OrderParts(lines=lines, shipping=shipping, codes=codes, customer=buyer)


def _duty(currency: str, taxes: list[Attrs]) -> Attrs:
    """Return a duty on ceramics."""
    price = round_money(Decimal("6.40"), currency)
    code = {"harmonized_system_code": "6912.00", "country_code_of_origin": "PT"}
    return {**code, "shop_money": {"amount": price}, "tax_lines": taxes}


def _lines(rng: random.Random, variants: Sequence[Variant]) -> list[Attrs]:
    lines: list[Attrs] = []
    if variants:
        picked = rng.sample(variants, min(rng.choice((1, 1, 2, 3)), len(variants)))
        lines += [{"variant_id": variant.pk, "quantity": rng.choice((1, 1, 1, 2, 3))} for variant in picked]
    if not lines or rng.random() < 0.15:
        title, price = rng.choice(EXTRAS)
        lines.append({"title": title, "price": Decimal(price), "quantity": 1, "requires_shipping": False})
    return lines


def get_address(customer: Customer | None) -> Attrs | None:
    address = customer.default_address if customer else None
    return None if address is None else {name: getattr(address, name) for name in COLUMNS}
