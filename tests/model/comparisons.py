"""Requests of the state machine, and the comparison of their responses with the models."""

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

from tests.model.arithmetic import PLACES, ZERO
from tests.model.order_model import LineModel, Money, OrderModel, Suggestion, Terms
from tests.model.stock_model import StockModel
from tests.support import order_driver
from tests.support.stateful import ShopMachine
from tests.support.types import Json, JsonObject

UNFINISHED = {"open", "in_progress", "scheduled", "on_hold"}


@dataclass
class Figures:
    """The steps by their first word, and the comparisons of all histories of a run."""

    steps: Counter[str] = field(default_factory=Counter)
    comparisons: int = 0
    mismatches: list[str] = field(default_factory=list)


@dataclass
class DrivenOrder:
    """An order of the product with its models. ``lines`` are the line models by id, in the order of the response."""

    pk: int
    name: str
    amounts: OrderModel
    stock: StockModel
    lines: dict[int, LineModel]

    @property
    def path(self) -> str:
        return f"orders/{self.pk}"

    @property
    def terms(self) -> Terms:
        return self.amounts.terms


class ComparedShop(ShopMachine):
    """A shop with orders, that sends requests and compares the responses with the models."""

    figures: ClassVar[Figures]

    def __init__(self) -> None:
        super().__init__()
        self.orders: list[DrivenOrder] = []
        self.log: list[str] = []
        # Variants by inventory item, and the available quantities by variant and location.
        self.items: dict[int, int] = {}
        self.stock: Counter[tuple[int, int]] = Counter()

    def send(self, path: str, body: object = None) -> Json:
        response = self.api.post(path, body)
        assert response.status_code in {200, 201}, (self.log, path, body, response.content)
        return response.json()

    def read(self, path: str, **query: object) -> Json:
        response = self.api.get(path, **query)
        assert response.status_code == 200, (path, response.content)
        return response.json()

    def expect(self, what: str, actual: object, expected: object) -> None:
        self.figures.comparisons += 1
        if actual != expected:
            self.figures.mismatches.append(what)
        assert actual == expected, f"{what}: {actual}, expected {expected}. Steps: {self.log}"

    def expect_money(self, what: str, money_set: Any, expected: Money) -> None:
        self.expect(f"{what} in the order's currency", Decimal(money_set["shop_money"]["amount"]), expected.shop)
        self.expect(f"{what} in presentment", Decimal(money_set["presentment_money"]["amount"]), expected.shown)

    def read_order(self, order: DrivenOrder) -> JsonObject:
        return dict(self.read(f"{order.path}.json")["order"])

    def read_fulfillment_orders(self, order: DrivenOrder) -> list[JsonObject]:
        return list(self.read(f"{order.path}/fulfillment_orders.json")["fulfillment_orders"])

    def compare_restock_locations(self, order: DrivenOrder, rows: list[JsonObject]) -> None:
        """Without a location, items go back to the locations that they were taken from."""
        stock = order.stock
        waiting: Counter[tuple[int, int]] = Counter()
        for pk, units in stock.waiting.items():
            for line, count in units.items():
                waiting[line, stock.locations[pk]] += count
        sent = {location for location, _units in stock.sent.values()}
        for row in rows:
            key = row["line_item_id"], row["location_id"]
            if row["restock_type"] == "cancel":
                self.expect(f"canceled items at {key}", row["quantity"] <= waiting[key], True)
                waiting[key] -= row["quantity"]
            elif row["restock_type"] == "return":
                self.expect(f"returned items at {key}", row["location_id"] in sent, True)

    def compare_suggestion(self, order: DrivenOrder, calculated: JsonObject, suggested: Suggestion) -> None:
        prices: Counter[int] = Counter()
        rows = calculated["refund_line_items"]
        lines = list(dict.fromkeys(row["line_item_id"] for row in rows))
        sums = {pk: [ZERO, ZERO] for pk in lines}
        for row in rows:
            prices[row["line_item_id"]] += row["quantity"]
            sums[row["line_item_id"]][0] += Decimal(row["subtotal"])
            sums[row["line_item_id"]][1] += Decimal(row["total_tax"])
        for pk, (price, tax) in zip(lines, suggested.lines, strict=True):
            self.expect(f"calculated price of {pk}", sums[pk][0], price.shown)
            self.expect(f"calculated tax of {pk}", sums[pk][1], tax.shown)
        self.expect("calculated shipping", Decimal(calculated["shipping"]["amount"]), suggested.shipping.shown)
        self.expect("calculated shipping tax", Decimal(calculated["shipping"]["tax"]), suggested.shipping_tax.shown)
        left = [payment.left for payment in order.amounts.payments]
        shares = [(share, most) for share, most in zip(suggested.shares, left, strict=True) if most]
        shown = calculated["transactions"]
        amounts = [(Decimal(row["amount"]), Decimal(row["maximum_refundable"])) for row in shown]
        self.expect("suggested transactions", amounts, shares)

    def compare_refund(
        self, order: DrivenOrder, shown: JsonObject, expected: Suggestion, withheld: Decimal, shares: list[Decimal]
    ) -> None:
        sums: dict[int, list[Money]] = {}
        for row in shown["refund_line_items"]:
            amounts = sums.setdefault(row["line_item_id"], [Money(), Money()])
            for index, name in enumerate(("subtotal_set", "total_tax_set")):
                pair = [Decimal(row[name][side]["amount"]) for side in ("shop_money", "presentment_money")]
                amounts[index] += Money(*pair)
        for pk, (price, tax) in zip(sums, expected.lines, strict=True):
            self.expect(f"refunded price of {pk}", sums[pk][0], price)
            self.expect(f"refunded tax of {pk}", sums[pk][1], tax)
        adjustments = {row["kind"]: row for row in shown["order_adjustments"]}
        self.expect("kinds of adjustments", len(adjustments), len(shown["order_adjustments"]))
        discrepancy = adjustments.pop("refund_discrepancy", {"amount": "0"})
        self.expect("discrepancy", Decimal(discrepancy["amount"]), withheld)
        if "shipping_refund" in adjustments:
            row = adjustments["shipping_refund"]
            self.expect_money("refunded shipping", row["amount_set"], Money() - expected.shipping)
            self.expect_money("refunded shipping tax", row["tax_amount_set"], Money() - expected.shipping_tax)
        else:
            self.expect("refunded shipping", Money(), expected.shipping)
        money = [Decimal(row["amount"]) for row in shown["transactions"]]
        self.expect("refunded money", money, [share for share in shares if share])

    def compare(self, order: DrivenOrder) -> None:
        shown = self.read_order(order)
        for name, amount in order.amounts.get_totals().items():
            self.expect_money(name, shown[f"{name}_set"], amount)
            if name in shown:
                self.expect(name, Decimal(shown[name]), amount.shop)
        self.compare_balance(order, Decimal(shown["total_outstanding"]))
        if not self.is_rounding(order):
            self.expect("financial status", shown["financial_status"], order.amounts.get_financial_status())
        self.expect("fulfillment status", shown["fulfillment_status"], order.stock.get_order_status())
        self.expect("cancellation", shown["cancelled_at"] is not None, order.amounts.is_cancelled)
        rows = {row["id"]: row for row in shown["line_items"]}
        self.expect("line items", list(rows), list(order.lines))
        for pk, line in order.lines.items():
            row = rows[pk]
            self.expect(f"price of {pk}", Decimal(row["price"]), line.price)
            self.expect(f"quantity of {pk}", row["quantity"], line.quantity)
            self.expect(f"current quantity of {pk}", row["current_quantity"], line.current)
            self.expect(f"current quantity of {pk} in stock", row["current_quantity"], order.stock.current[pk])
            self.expect(f"fulfillable quantity of {pk}", row["fulfillable_quantity"], order.stock.count_waiting(pk))
            self.expect(f"status of {pk}", row["fulfillment_status"], order.stock.get_line_status(pk))
            self.expect(f"tax of {pk}", sum((Decimal(tax["price"]) for tax in row["tax_lines"]), ZERO), line.tax)
        self.compare_fulfillment_orders(order)
        self.compare_stock()

    def compare_balance(self, order: DrivenOrder, shown: Decimal) -> None:
        """Compare the balance. In two currencies, each transaction of a part is rounded in the order's currency."""
        terms, model = order.terms, order.amounts
        balance = model.outstanding
        if not terms.has_two_currencies:
            self.expect("balance", shown, balance)
            return
        if model.paid == model.refunded and not model.get_totals()["current_total_price"].shop:
            self.expect("balance", shown, ZERO)
        self.expect("balance nearly", abs(shown - balance / terms.rate) <= self.get_tolerance(order), True)

    def get_tolerance(self, order: DrivenOrder) -> Decimal:
        terms, model = order.terms, order.amounts
        units = Decimal(10) ** -PLACES[terms.currency] + Decimal(10) ** -PLACES[terms.presentment] / terms.rate
        return units * (2 * len(model.lines) + len(model.payments) + 8)

    def is_rounding(self, order: DrivenOrder) -> bool:
        """Return True if only rounding between two currencies decides whether the order is paid or refunded."""
        terms, model = order.terms, order.amounts
        if not terms.has_two_currencies or not model.paid:
            return False
        totals = model.get_totals()
        sums = (totals["total_price"].shown, totals["current_total_price"].shown)
        differences = [model.paid - total for total in sums] + ([model.paid - model.refunded] if model.refunded else [])
        return any(
            difference and abs(difference) / terms.rate <= self.get_tolerance(order) for difference in differences
        )

    def compare_fulfillment_orders(self, order: DrivenOrder) -> None:
        waiting = order.stock.waiting_items
        for row in self.read_fulfillment_orders(order):
            counts = {
                line["line_item_id"]: line["fulfillable_quantity"]
                for line in row["line_items"]
                if line["fulfillable_quantity"]
            }
            self.expect(f"items of fulfillment order {row['id']}", counts, waiting.pop(row["id"], {}))
            location = order.stock.locations.get(row["id"])
            self.expect(f"location of {row['id']}", row["assigned_location_id"], location)
            self.expect(f"status of fulfillment order {row['id']}", row["status"] in UNFINISHED, bool(counts))
        self.expect("other fulfillment orders", waiting, {})

    def compare_stock(self) -> None:
        levels = self.read("inventory_levels.json", inventory_item_ids=",".join(map(str, self.items)))
        shown = {
            (self.items[row["inventory_item_id"]], row["location_id"]): row["available"]
            for row in levels["inventory_levels"]
        }
        for key, available in self.stock.items():
            self.expect(f"stock of variant and location {key}", shown.get(key), available)

    def teardown(self) -> None:
        """Run the nightly checks, which must agree with the model, and roll everything back."""
        try:
            if self.orders:
                self.expect("nightly checks", order_driver.find_differences(), [])
        finally:
            super().teardown()
