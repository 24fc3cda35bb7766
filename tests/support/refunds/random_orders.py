"""Refund random orders in random parts as suggested, and check that nothing is left over in either currency."""

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

from django.utils import timezone

from apps.core.money import format_decimal, get_minor_unit
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.types import Json, JsonObject

ZERO = Decimal(0)
# The currency of the shop, the presentment currency, the exchange rate and the range of prices in minor units.
CURRENCIES = (
    ("JPY", "USD", "0.006694", 5000),
    ("USD", "JPY", "151.27", 20000),
    ("USD", "EUR", "0.9123", 20000),
    ("KWD", "JPY", "487.311", 90000),
    ("USD", "KWD", "0.307", 20000),
    ("EUR", "JPY", "163.4", 30),
    ("USD", "USD", None, 20000),
)


@dataclass
class RefundRun:
    api: ApiClient
    random: Random
    refunds: int = 0
    discrepancies: int = 0
    differences: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)


@dataclass
class RandomOrder:
    run: RefundRun
    body: JsonObject
    in_presentment: bool

    @property
    def path(self) -> str:
        return f"orders/{self.body['id']}"

    @property
    def currency(self) -> str:
        return str(self.body["presentment_currency"])

    def expect(self, actual: object, expected: object, what: str) -> None:
        if actual != expected:
            self.run.differences.append(f"{self.body['name']}: {what} {actual}, expected {expected}")

    def reload(self) -> None:
        self.body = self.run.api.get(f"{self.path}.json").json()["order"]
        check_order_sums(self)


def get_amount(money_set: Json) -> Decimal:
    """Return the amount in the presentment currency."""
    assert isinstance(money_set, dict)
    return Decimal(money_set["presentment_money"]["amount"])


def add_up(rows: list[JsonObject], *names: str) -> Decimal:
    return sum((get_amount(row[name]) for row in rows for name in names), ZERO)


def check_order_sums(order: RandomOrder) -> None:
    body = order.body
    lines, shipping = body["line_items"], body["shipping_lines"]
    rows = [*lines, *shipping]
    discounts = sum((add_up(row["discount_allocations"], "amount_set") for row in rows), ZERO)
    duties = [duty for line in lines for duty in line["duties"]]
    taxes = sum((add_up(row["tax_lines"], "price_set") for row in (*rows, *duties)), ZERO)
    order.expect(get_amount(body["total_discounts_set"]), discounts, "discounts")
    order.expect(get_amount(body["total_tax_set"]), taxes, "taxes of rows")
    order.expect(get_amount(body["total_tax_set"]), add_up(body["tax_lines"], "price_set"), "taxes")
    order.expect(get_amount(body["total_shipping_price_set"]), add_up(shipping, "price_set"), "shipping")
    shipping_price = add_up(shipping, "discounted_price_set")
    for row in shipping:
        price = get_amount(row["price_set"]) - add_up(row["discount_allocations"], "amount_set")
        order.expect(get_amount(row["discounted_price_set"]), price, "shipping price")
    line_discounts = sum((add_up(row["discount_allocations"], "amount_set") for row in lines), ZERO)
    subtotal = get_amount(body["total_line_items_price_set"]) - line_discounts
    order.expect(get_amount(body["subtotal_price_set"]), subtotal, "subtotal")
    duty_total = sum((get_amount(duty) for duty in duties), ZERO)
    added = ZERO if body["taxes_included"] else taxes
    order.expect(get_amount(body["total_price_set"]), subtotal + shipping_price + duty_total + added, "total")
    refunds = body["refunds"]
    refunded_shipping = sum((add_up(row["refund_shipping_lines"], "subtotal_amount_set") for row in refunds), ZERO)
    current = get_amount(body["current_subtotal_price_set"]) + shipping_price - refunded_shipping
    if body["current_total_duties_set"] is not None:
        current += get_amount(body["current_total_duties_set"])
    if not body["taxes_included"]:
        current += get_amount(body["current_total_tax_set"])
    order.expect(get_amount(body["current_total_price_set"]), current, "current total")


def add_up_taxes(rows: list[JsonObject]) -> dict[tuple[str, float], list[Decimal]]:
    """Return the sums of tax lines by title and rate in both currencies, without sums of zero."""
    sums: dict[tuple[str, float], list[Decimal]] = defaultdict(lambda: [ZERO, ZERO])
    for row in rows:
        sums[row["title"], row["rate"]][0] += Decimal(row["price"])
        sums[row["title"], row["rate"]][1] += get_amount(row["price_set"])
    return {key: amounts for key, amounts in sums.items() if any(amounts)}


def check_tax_lines(order: RandomOrder) -> None:
    """Check that the taxes of the refunds of a fully refunded order are the taxes of the order."""
    refunded = add_up_taxes([tax for refund in order.body["refunds"] for tax in refund["tax_lines"]])
    order.expect(refunded, add_up_taxes(order.body["tax_lines"]), "refunded taxes")


def check_refunded_taxes(order: RandomOrder, refund: JsonObject) -> None:
    """Check that the taxes of a refund by rate are not negative and add up to the taxes of its parts."""
    parts = [(row, row["total_tax_set"]) for row in refund["refund_line_items"]]
    parts += [(row, row["tax_amount_set"]) for row in refund["duties"]]
    for row, tax in parts:
        sums = sum((Decimal(line["price"]) for line in row["tax_lines"]), ZERO), add_up(row["tax_lines"], "price_set")
        order.expect(sums, (Decimal(tax["shop_money"]["amount"]), get_amount(tax)), "taxes of a part")
    shipping = [row for row in refund["order_adjustments"] if row["kind"] == "shipping_refund"]
    shipping_taxes = [tax for row in refund["refund_shipping_lines"] for tax in row["tax_lines"]]
    order.expect(add_up(shipping_taxes, "price_set"), -add_up(shipping, "tax_amount_set"), "taxes of shipping")
    rows = (*refund["refund_line_items"], *refund["refund_shipping_lines"], *refund["duties"])
    taxes = [tax for row in rows for tax in row["tax_lines"]]
    order.expect(add_up_taxes(refund["tax_lines"]), add_up_taxes(taxes), "taxes of a refund")
    order.expect(
        [tax for tax in taxes if Decimal(tax["price"]) < 0 or get_amount(tax["price_set"]) < 0], [], "negative"
    )


def create_random_order(run: RefundRun, *, most_lines: int = 3) -> RandomOrder | None:
    random = run.random
    currency, presentment, rate, most = random.choice(CURRENCIES)
    unit = get_minor_unit(currency)

    def draw_amount(limit: int = most, *, least: int = 0) -> str:
        return format_decimal(random.randint(least, max(limit, least)) * unit, currency)

    def draw_taxes() -> list[JsonObject]:
        rates = random.sample(["0.05", "0.09975", "0.19", "0.07", "0.081"], random.choice([0, 1, 1, 2]))
        return [{"title": f"Tax {rate}", "rate": rate} for rate in rates]

    lines = []
    for index in range(random.randint(1, most_lines)):
        price, quantity = draw_amount(), random.randint(1, 4)
        discount = draw_amount(int(Decimal(price) * quantity / unit)) if random.random() < 0.3 else "0"
        line = {"title": f"Item {index}", "price": price, "quantity": quantity, "total_discount": discount}
        duties = [{"shop_money": {"amount": draw_amount(most // 10, least=1)}, "tax_lines": draw_taxes()}]
        lines.append({**line, "tax_lines": draw_taxes(), "duties": duties if random.random() < 0.2 else []})
    codes = [
        {"code": "TEN", "amount": random.choice(["10", "33.3"]), "type": "percentage"},
        {"code": "LESS", "amount": draw_amount(most // 5), "type": "fixed_amount"},
        {"code": "POST", "amount": draw_amount(most // 10), "type": "shipping"},
    ]
    shipping = [
        {"title": f"Post {index}", "price": draw_amount(most // 5), "tax_lines": draw_taxes()}
        for index in range(random.choice([0, 1, 1, 2]))
    ]
    values: JsonObject = {
        "currency": currency,
        "presentment_currency": presentment,
        "line_items": lines,
        "shipping_lines": shipping,
        "discount_codes": random.sample(codes, random.choice([0, 0, 1, 2])),
        "taxes_included": random.random() < 0.5,
        **({"exchange_rate": rate} if rate else {}),
    }
    response = run.api.post("orders.json", {"order": values})
    assert response.status_code == 201, response.json()
    body = response.json()["order"]
    if not get_amount(body["total_price_set"]) or not Decimal(body["total_price"]):
        return None
    paid_in = random.choice([(presentment,), (presentment,), (presentment, presentment), (currency,)])
    if len(paid_in) == 2 and get_amount(body["total_price_set"]) >= 2 * get_minor_unit(presentment):
        part = get_amount(body["total_price_set"]) * random.randint(1, 99) / 100
        pay(run, body, presentment, max(format_decimal(part, presentment), str(get_minor_unit(presentment))))
    pay(run, body, paid_in[-1])
    order = RandomOrder(run, body, in_presentment=paid_in[-1] != currency)
    order.reload()
    order.expect(order.body["financial_status"], "paid", "status")
    return order


def pay(run: RefundRun, body: JsonObject, currency: str, amount: str | None = None) -> None:
    transaction = {"kind": "sale", "currency": currency, **({"amount": amount} if amount else {})}
    run.api.post(f"orders/{body['id']}/transactions.json", {"transaction": transaction})


def remove_an_item(order: RandomOrder) -> None:
    line = order.run.random.choice(order.body["line_items"])
    changes = {line["id"]: LineEdit(line["quantity"] - 1)}
    row = Order.objects.get(pk=order.body["id"])
    edit_lines.edit_lines(row, OrderEdit(changes), actor="system", at=timezone.now())
    order.reload()


def calculate(order: RandomOrder, body: JsonObject) -> JsonObject:
    response = order.run.api.post(f"{order.path}/refunds/calculate.json", {"refund": body})
    assert response.status_code == 200, response.json()
    return response.json()["refund"]


def refund_in_parts(order: RandomOrder, *, edited: bool) -> None:
    """Refund all items, shipping and duties in random parts, as suggested."""
    random, units = order.run.random, [line["id"] for line in order.body["line_items"] for _ in range(line["quantity"])]
    at_once = calculate(order, build_body(order, units, is_last=True))
    random.shuffle(units)
    sums: dict[int, list[Decimal]] = defaultdict(lambda: [ZERO, ZERO])
    while units:
        count = random.randint(1, min(len(units), 4))
        part, units = units[:count], units[count:]
        refund = refund_suggested(order, build_body(order, part, is_last=not units))
        for row in refund["refund_line_items"]:
            line_sums = sums[row["line_item_id"]]
            line_sums[0] += get_amount(row["subtotal_set"])
            line_sums[1] += get_amount(row["total_tax_set"])
    if not edited:
        for row in at_once["refund_line_items"]:
            expected = [Decimal(row["subtotal"]), Decimal(row["total_tax"])]
            order.expect(sums[row["line_item_id"]], expected, "line unit by unit")
    order.reload()
    check_tax_lines(order)
    transactions = order.run.api.get(f"{order.path}/transactions.json").json()["transactions"]
    kept = sum((Decimal(row["amount"]) * (-1 if row["kind"] == "refund" else 1) for row in transactions), ZERO)
    state = [order.body[name] for name in ("financial_status", "current_total_price", "total_outstanding")]
    if kept or state[0] != "refunded" or any(Decimal(amount) for amount in state[1:]):
        order.run.leftovers.append(f"{order.body['name']}: {kept} {state}")


def build_body(order: RandomOrder, units: list[int], *, is_last: bool) -> JsonObject:
    random = order.run.random
    body: JsonObject = {
        "currency": order.currency,
        "refund_line_items": [{"line_item_id": line, "quantity": units.count(line)} for line in dict.fromkeys(units)],
    }
    if is_last and order.body["shipping_lines"]:
        body["shipping"] = {"full_refund": True}
    elif order.body["shipping_lines"] and random.random() < 0.3:
        left = Decimal(calculate(order, {"currency": order.currency})["shipping"]["maximum_refundable"])
        body["shipping"] = {"amount": format_decimal(left * random.randint(0, 9) / 10, order.currency)}
    refunded = {part["duty_id"] for refund in order.body["refunds"] for part in refund["duties"]}
    duties = [duty["id"] for line in order.body["line_items"] for duty in line["duties"]]
    if is_last:
        body["refund_duties"] = [{"duty_id": duty, "refund_type": "FULL"} for duty in duties if duty not in refunded]
    return body


def refund_suggested(order: RandomOrder, body: JsonObject) -> JsonObject:
    run = order.run
    calculated = calculate(order, body)
    suggested = [{**row, "kind": "refund"} for row in calculated["transactions"]]
    response = run.api.post(f"{order.path}/refunds.json", {"refund": {**body, "transactions": suggested}})
    assert response.status_code == 201, response.json()
    refund: JsonObject = response.json()["refund"]
    run.refunds += 1
    run.discrepancies += sum(row["kind"] == "refund_discrepancy" for row in refund["order_adjustments"])
    shipping = [row for row in refund["order_adjustments"] if row["kind"] == "shipping_refund"]
    parts = add_up(refund["refund_line_items"], "subtotal_set") + add_up(refund["duties"], "amount_set")
    parts -= add_up(shipping, "amount_set")
    shipping_lines = add_up(refund["refund_shipping_lines"], "subtotal_amount_set")
    order.expect(-add_up(shipping, "amount_set"), shipping_lines, "refunded shipping")
    order.expect(get_amount(refund["total_duties_set"]), add_up(refund["duties"], "amount_set"), "duties")
    if not order.body["taxes_included"]:
        parts += add_up(refund["refund_line_items"], "total_tax_set") + add_up(refund["duties"], "tax_amount_set")
        parts -= add_up(shipping, "tax_amount_set")
    check_refunded_taxes(order, refund)
    order.expect(refund["tax_lines"], calculated["tax_lines"], "calculated taxes")
    money = sum((Decimal(row["amount"]) for row in refund["transactions"]), ZERO)
    if order.in_presentment or order.currency == order.body["currency"]:
        order.expect(money, parts, "refunded")
    lines = zip(calculated["refund_line_items"], refund["refund_line_items"], strict=True)
    for row, saved in lines:
        amounts = Decimal(row["subtotal"]), Decimal(row["total_tax"])
        order.expect(amounts, (get_amount(saved["subtotal_set"]), get_amount(saved["total_tax_set"])), "calculated")
    order.reload()
    return refund
