"""Compare the tax report with random orders and refunds, as the REST API returns them."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from apps.refunds.domain import tax_report
from apps.refunds.domain.refund_report import RefundReportRange
from apps.refunds.models import Refund
from tests.support.api_client import ApiClient
from tests.support.timing import scale_for_soak
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

ZONE = "America/Santiago"
# In Santiago, clocks go forward at midnight of September 7, and back at midnight of April 5.
FIRST, LAST = date(2025, 4, 1), date(2025, 9, 30)
EDGES = [date(2025, 4, 5), date(2025, 4, 6), date(2025, 9, 7), date(2025, 9, 8), FIRST, LAST + timedelta(days=1)]
TAXES = [
    {"title": title, "rate": rate} for title, rate in (("GST", 0.05), ("QST", 0.09975), ("VAT", 0.19), ("VAT", 0.07))
]
ADDRESSES: list[JsonObject | None] = [
    {"country_code": "CA", "province_code": "QC"},
    {"country_code": "CA", "province_code": "ON"},
    {"country_code": "DE"},
    {"country": "Germany", "province_code": "BE"},
    None,
]
PRESENTMENTS = [{}, {}, {"presentment_currency": "EUR", "exchange_rate": "0.9123"}]
PRESENTMENTS.append({"presentment_currency": "JPY", "exchange_rate": "151.27"})
# The day, country and province, and the title and rate of a tax.
Region = tuple[date, str, str]
Sums = dict[tuple[Region, str, Decimal], Decimal]


@dataclass
class Books:
    """The expected report, from the responses of the API."""

    api: ApiClient
    random: Random
    has_edits: bool
    sales: Sums = field(default_factory=lambda: defaultdict(Decimal))
    refunds: Sums = field(default_factory=lambda: defaultdict(Decimal))

    def draw_moment(self) -> datetime:
        """Return a random time, often just before or at a midnight when the clocks change."""
        if self.random.random() < 0.5:
            midnight = datetime.combine(self.random.choice(EDGES), datetime.min.time(), ZoneInfo(ZONE))
            return midnight.astimezone(UTC) + timedelta(seconds=self.random.choice([-1, 0, 1]))
        return datetime(2025, 3, 25, tzinfo=UTC) + timedelta(seconds=self.random.randrange(200 * 86400))

    def draw_taxes(self) -> list[JsonObject]:
        return self.random.sample(TAXES, self.random.choice([0, 1, 2, 3]))

    def draw_price(self, most: int = 3000) -> str:
        return f"{self.random.randrange(most) / 100:.2f}"

    def create_order(self) -> JsonObject:
        random = self.random
        lines = []
        for number in range(random.randint(1, 3)):
            duties = [{"shop_money": {"amount": self.draw_price(500)}, "tax_lines": self.draw_taxes()[:1]}]
            line = {"title": f"Item {number}", "price": self.draw_price(), "quantity": random.randint(1, 4)}
            lines.append({**line, "tax_lines": self.draw_taxes(), "duties": duties if random.random() < 0.3 else []})
        shipping = {"title": "Post", "price": self.draw_price(1000), "tax_lines": self.draw_taxes()}
        address = random.choice(ADDRESSES)
        body: JsonObject = {
            "line_items": lines,
            "shipping_lines": [shipping] if random.random() < 0.7 else [],
            "taxes_included": random.random() < 0.5,
            "financial_status": "paid",
            "processed_at": self.draw_moment().isoformat(),
            random.choice(["shipping_address", "billing_address"]): address,
            **random.choice(PRESENTMENTS),
        }
        if random.random() < 0.3:
            body["discount_codes"] = [{"code": "TEN", "amount": "10", "type": "percentage"}]
        response = self.api.post("orders.json", {"order": body})
        assert response.status_code == 201, response.json()
        return self.get_order(response.json()["order"]["id"])

    def get_order(self, pk: int) -> JsonObject:
        return self.api.get(f"orders/{pk}.json").json()["order"]

    def change_order(self, order: JsonObject) -> JsonObject:
        """Edit, partly refund or cancel the order, some of these several times."""
        random, pk = self.random, order["id"]
        for _ in range(random.choice([0, 1, 2, 3])):
            if self.has_edits and random.random() < 0.4:
                self.remove_an_item(self.get_order(pk))
            else:
                self.refund_a_part(self.get_order(pk))
        if random.random() < 0.1:
            assert self.api.post(f"orders/{pk}/cancel.json", {"restock": random.random() < 0.5}).status_code == 200
        return self.get_order(pk)

    def remove_an_item(self, order: JsonObject) -> None:
        lines = [line for line in order["line_items"] if line["current_quantity"] and line["fulfillable_quantity"]]
        if lines:
            line = self.random.choice(lines)
            edit = OrderEdit({line["id"]: LineEdit(line["current_quantity"] - 1)})
            row = Order.objects.get(pk=order["id"])
            edit_lines.edit_lines(row, edit, actor="system", at=timezone.now())

    def refund_a_part(self, order: JsonObject) -> None:
        random = self.random
        refunded: dict[int, int] = defaultdict(int)
        for refund in order["refunds"]:
            for row in refund["refund_line_items"]:
                refunded[row["line_item_id"]] += row["quantity"]
        parts = [
            {"line_item_id": line["id"], "quantity": random.randint(1, most)}
            for line in order["line_items"]
            if (most := line["quantity"] - refunded[line["id"]]) and random.random() < 0.6
        ]
        earlier = {row["duty_id"] for refund in order["refunds"] for row in refund["duties"]}
        duties = [duty["id"] for line in order["line_items"] for duty in line["duties"] if duty["id"] not in earlier]
        body: JsonObject = {
            "currency": order["presentment_currency"],
            "refund_line_items": parts,
            "shipping": {"full_refund": True} if random.random() < 0.3 else {"amount": "0"},
            "refund_duties": [{"duty_id": duty, "refund_type": "FULL"} for duty in duties if random.random() < 0.3],
        }
        response = self.api.post(f"orders/{order['id']}/refunds.json", {"refund": body})
        if response.status_code == 201:
            moment = max(self.draw_moment(), datetime.fromisoformat(order["processed_at"]))
            Refund.objects.filter(pk=response.json()["refund"]["id"]).update(processed_at=moment)

    def book(self, order: JsonObject) -> None:
        """Add the taxes of an order: of its refunds, and of what was sold and not removed without a refund."""
        address = order["shipping_address"] or order["billing_address"] or {}
        place = address.get("country_code") or address.get("country") or "", address.get("province_code") or ""
        sold_on = get_day(order["processed_at"]), *place
        own: dict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
        for refund in order["refunds"]:
            self.check_refund(refund)
            for tax in refund["tax_lines"]:
                key = tax["title"], Decimal(str(tax["rate"]))
                self.refunds[(get_day(refund["processed_at"]), *place), *key] += Decimal(tax["price"])
                own[key] += Decimal(tax["price"])
        if order["cancelled_at"] is None:
            left = {key: Decimal(0) for key in own}
            if not self.has_edits:
                left = {key: -amount for key, amount in own.items()}
                for tax in order["tax_lines"]:
                    key = tax["title"], Decimal(str(tax["rate"]))
                    left[key] = left.get(key, Decimal(0)) + Decimal(tax["price"])
                assert min(left.values(), default=0) >= 0
                assert sum(left.values()) == Decimal(order["current_total_tax"])
            else:
                left["", Decimal(0)] = Decimal(order["current_total_tax"])
            for key, amount in left.items():
                own[key] += amount
        for key, amount in own.items():
            self.sales[sold_on, *key] += amount

    def check_refund(self, refund: JsonObject) -> None:
        """Check that the taxes of a refund by rate add up to the tax of the refund in both currencies."""
        for money in ("shop_money", "presentment_money"):
            expected = [row["total_tax_set"] for row in refund["refund_line_items"]]
            expected += [row["tax_amount_set"] for row in refund["duties"]]
            shipping = [row["tax_amount_set"] for row in refund["order_adjustments"]]
            total = sum((Decimal(row[money]["amount"]) for row in expected), Decimal(0))
            total -= sum((Decimal(row[money]["amount"]) for row in shipping), Decimal(0))
            assert sum(Decimal(tax["price_set"][money]["amount"]) for tax in refund["tax_lines"]) == total


def get_day(moment: str) -> date:
    return datetime.fromisoformat(moment).astimezone(ZoneInfo(ZONE)).date()


def read_report(step: str, *, by_tax: bool) -> tuple[Sums, Sums]:
    sales: Sums = defaultdict(Decimal)
    refunds: Sums = defaultdict(Decimal)
    for tax, amounts in tax_report.get_taxes(RefundReportRange(FIRST, LAST, step)).items():
        region = tax.period, tax.country, tax.province
        key = (region, tax.title, tax.rate) if by_tax else (region, "", Decimal(0))
        sales[key] += amounts.sales
        refunds[key] += amounts.refunds
    return drop_zeros(sales), drop_zeros(refunds)


def drop_zeros(sums: Sums) -> Sums:
    return {key: amount for key, amount in sums.items() if amount}


def select(sums: Sums, step: str, *, by_tax: bool) -> Sums:
    """Return the sums of the days in the report, by period."""
    selected: Sums = defaultdict(Decimal)
    for ((day, *place), title, rate), amount in sums.items():
        if FIRST <= day <= LAST:
            first = {"day": day, "week": day - timedelta(days=day.weekday()), "month": day.replace(day=1)}[step]
            selected[((first, *place), title, rate) if by_tax else ((first, *place), "", Decimal(0))] += amount  # type: ignore[index]
    return drop_zeros(selected)


def compare(api: ApiClient, seed: int, *, orders: int, has_edits: bool) -> Books:
    shop = Shop.objects.get()
    Shop.objects.update(timezone=ZONE)
    shop.refresh_from_db()
    books = Books(api, Random(seed), has_edits)
    for _ in range(orders):
        books.book(books.change_order(books.create_order()))
    with timezone.override(ZoneInfo(ZONE)):
        for step in ("day", "week", "month"):
            sales, refunds = read_report(step, by_tax=not has_edits)
            assert sales == select(books.sales, step, by_tax=not has_edits)
            assert refunds == select(books.refunds, step, by_tax=not has_edits)
            assert sales
            assert refunds
        _sales, refunds = read_report("day", by_tax=True)
        assert refunds == select(books.refunds, "day", by_tax=True)
    assert list(consistency_checks.find_differences({"order totals", "order refunds"})) == []
    return books


@pytest.mark.parametrize("has_edits", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_the_report_equals_orders_and_refunds(api: ApiClient, seed: int, *, has_edits: bool) -> None:
    compare(api, seed, orders=40, has_edits=has_edits)


@pytest.mark.soak
@pytest.mark.parametrize("has_edits", [False, True])
def test_the_report_equals_many_orders_and_refunds(api: ApiClient, *, has_edits: bool) -> None:
    compare(api, 7, orders=scale_for_soak(2_000), has_edits=has_edits)
