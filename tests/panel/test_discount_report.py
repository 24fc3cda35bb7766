"""The discount report: what codes and reasons gave in a period, as pages and CSV files."""

import csv
import io
from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from random import Random

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.discounts.domain import discount_report
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.domain.sales_report import get_sales_by_day
from apps.orders.models import Order
from apps.refunds.domain.refund_report import RefundReportRange
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

REPORT, FILE = "discount_report", "discount_report_file"
MAY = {"first": "2025-05-01", "last": "2025-05-31", "step": "day"}
SPAN = RefundReportRange(date(2025, 5, 1), date(2025, 5, 31), "month")


@pytest.fixture
def in_auckland(shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    shop.refresh_from_db()


def post_order(api: ApiClient, at: str, **fields: object) -> JsonObject:
    """Create an order, by default of four vases for 100.00 in total."""
    lines = [{"title": "Vase", "price": "25.00", "quantity": 4}]
    body = {"line_items": lines, "processed_at": at, "financial_status": "paid", **fields}
    response = api.post("orders.json", {"order": body})
    assert response.status_code == 201, response.content
    return response.json()["order"]


def build_code(code: str, amount: str, kind: str = "fixed_amount") -> JsonObject:
    return {"discount_codes": [{"code": code, "amount": amount, "type": kind}]}


def read_file(panel: Panel, table: str, **query: str) -> list[list[str]]:
    response = panel.get(FILE, table=table, **{**MAY, **query})
    assert response.status_code == 200
    return list(csv.reader(io.StringIO(response.content.decode("utf-8-sig"))))


def remove_items(order: JsonObject, kept: int) -> None:
    edit = OrderEdit({order["line_items"][0]["id"]: LineEdit(kept)})
    edit_lines.edit_lines(Order.objects.get(pk=order["id"]), edit, actor="system", at=timezone.now())


@pytest.mark.usefixtures("in_auckland")
def test_codes_and_reasons_are_added_up_by_period(api: ApiClient, admin_client_with: PanelWith) -> None:
    post_order(api, "2025-05-02T00:00:00Z", email="ada@example.com", **build_code("summer", "10", "percentage"))
    post_order(api, "2025-05-02T01:00:00Z", email="ada@example.com", **build_code("SUMMER", "5.00"))
    post_order(api, "2025-05-20T00:00:00Z", email="bo@example.com", **build_code("SUMMER", "5.00"))
    post = {"shipping_lines": [{"title": "Post", "price": "4.00"}]}
    post_order(api, "2025-05-20T00:00:00Z", **post, **build_code("POST", "100", "shipping"))
    manual = {"type": "manual", "title": "Damaged box", "value": "8.00", "value_type": "fixed_amount"}
    allocation = {"amount": "8.00", "discount_application_index": 0}
    vase = {"title": "Vase", "price": "50.00", "quantity": 1}
    discounted = {**vase, "discount_allocations": [allocation]}
    post_order(api, "2025-05-20T00:00:00Z", line_items=[discounted], discount_applications=[manual])
    post_order(api, "2025-05-20T00:00:00Z", line_items=[{**vase, "total_discount": "2.00"}])
    post_order(api, "2025-05-21T00:00:00Z")
    # June 1 in Auckland.
    post_order(api, "2025-05-31T12:00:00Z", **build_code("SUMMER", "50.00"))
    with shop_scope(factories.make_shop()):
        code = {"code": "SUMMER", "amount": Decimal(9), "type": "fixed_amount"}
        make_order(codes=[code], processed_at=datetime(2025, 5, 20, tzinfo=UTC))
    panel = admin_client_with("reports")

    codes, reasons, periods, details = (read_file(panel, name) for name in ("codes", "reasons", "periods", "details"))

    # Sales before discounts: 5 orders of 100.00, two of 50.00 and one shipping of 4.00.
    assert codes == [
        ["Code", "Orders", "Customers", "Discounts (USD)", "Share of sales (%)"],
        ["SUMMER", "3", "2", "20.00", "3.3"],
        ["POST", "1", "0", "4.00", "0.7"],
    ]
    assert reasons == [
        ["Reason", "Type", "Orders", "Customers", "Discounts (USD)", "Share of sales (%)"],
        ["Damaged box", "manual", "1", "0", "8.00", "1.3"],
        ["", "manual", "1", "0", "2.00", "0.3"],
    ]
    assert periods[1:] == [
        ["2025-05-02", "2", "1", "15.00", "0.00", "15.00", "7.5"],
        ["2025-05-20", "4", "1", "9.00", "10.00", "19.00", "6.2"],
    ]
    assert [row[:3] + row[5:] for row in details[1:]] == [
        ["2025-05-02", "SUMMER", "discount_code", "15.00", "7.5"],
        ["2025-05-20", "Damaged box", "manual", "8.00", "2.6"],
        ["2025-05-20", "SUMMER", "discount_code", "5.00", "1.6"],
        ["2025-05-20", "POST", "discount_code", "4.00", "1.3"],
        ["2025-05-20", "", "manual", "2.00", "0.7"],
    ]
    assert read_file(panel, "codes", first="2025-06-01", last="2025-06-30")[1:] == [
        ["SUMMER", "1", "0", "50.00", "50.0"]
    ]
    page = panel.get(REPORT, **MAY).content.decode()
    assert "34.00 USD" in page
    assert all(text in page for text in ("Damaged box", "No reason given", "2 May 2025"))


def test_orders_count_as_in_the_sales_report(api: ApiClient, admin_client_with: PanelWith) -> None:
    at = "2025-05-10T12:00:00Z"
    canceled = post_order(api, at, **build_code("CANCELED", "5.00"))
    assert api.post(f"orders/{canceled['id']}/cancel.json", {}).status_code == 200
    post_order(api, at, test=True, **build_code("TEST", "5.00"))
    post_order(api, at, currency="EUR", **build_code("EURO", "5.00"))
    edited = post_order(api, at, **build_code("EDITED", "10.00"))
    remove_items(edited, kept=1)
    refunded = post_order(api, at, **build_code("REFUNDED", "10.00"))
    items = [{"line_item_id": refunded["line_items"][0]["id"], "quantity": 4, "restock_type": "no_restock"}]
    refund = {"refund_line_items": items, "transactions": []}
    assert api.post(f"orders/{refunded['id']}/refunds.json", {"refund": refund}).status_code == 201
    removed = post_order(api, at, **build_code("REMOVED", "10.00"))
    remove_items(removed, kept=0)
    panel = admin_client_with("reports")

    rows = read_file(panel, "codes")[1:]

    # 22.50 of the edited order and 90.00 of the refunded order were sold.
    assert rows == [["REFUNDED", "1", "0", "10.00", "8.0"], ["EDITED", "1", "0", "2.50", "2.0"]]
    assert "1 order in another currency is not included." in panel.get(REPORT, **MAY).content.decode()


def test_gift_cards_are_neither_sales_nor_discounts(api: ApiClient, admin_client_with: PanelWith) -> None:
    card = make_gift_card("500.00")
    payment = {"kind": "sale", "gateway": "gift_card", "receipt": {"gift_card_id": card.pk}, "amount": "90.00"}
    paid = {"financial_status": None, "transactions": [payment]}
    post_order(api, "2025-05-10T12:00:00Z", **paid, **build_code("TEN", "10.00"))
    panel = admin_client_with("reports")

    rows = read_file(panel, "codes")[1:]

    card.refresh_from_db()
    assert card.balance == Decimal("410.00")
    assert rows == [["TEN", "1", "0", "10.00", "10.0"]]
    [day] = get_sales_by_day(SPAN).values()
    assert (day.orders, day.amount) == (1, Decimal("90.00"))
    today = timezone.localdate()
    assert get_sales_by_day(RefundReportRange(today, today, "day")) == {}


@pytest.mark.parametrize("currency", ["USD", "JPY", "KWD"])
def test_random_orders_are_added_up_to_the_cent(api: ApiClient, shop: Shop, currency: str) -> None:
    random = Random(currency)
    Shop.objects.filter(pk=shop.pk).update(currency=currency)
    shop.refresh_from_db()
    places = {"USD": 2, "JPY": 0, "KWD": 3}[currency]
    unit = Decimal(1).scaleb(-places)

    def draw(most: int) -> str:
        return str(random.randrange(1, most) * unit)

    expected: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    orders = []
    for _ in range(20):
        lines = [
            {"title": f"Item {number}", "price": draw(9999), "quantity": random.randint(1, 7)} for number in range(3)
        ]
        if random.random() < 0.4:
            lines[0]["total_discount"] = draw(int(Decimal(str(lines[0]["price"])) / unit) + 1)
        codes = [
            {"code": code, "amount": draw(9999) if kind != "percentage" else "12.5", "type": kind}
            for code, kind in (("A", "percentage"), ("B", "fixed_amount"), ("C", "shipping"))
            if random.random() < 0.6
        ]
        shipping = [{"title": "Post", "price": draw(999)}]
        at = f"2025-05-{random.randint(1, 31):02}T12:00:00Z"
        orders.append(post_order(api, at, line_items=lines, discount_codes=codes, shipping_lines=shipping))
    for order in orders:
        if random.random() < 0.5:
            remove_items(order, kept=random.randint(0, order["line_items"][0]["quantity"] - 1))
        current = api.get(f"orders/{order['id']}.json").json()["order"]
        applications = current["discount_applications"]
        for row in [*current["line_items"], *current["shipping_lines"]]:
            sold, total = row.get("current_quantity", 1), row.get("quantity", 1)
            for allocation in row["discount_allocations"]:
                application = applications[allocation["discount_application_index"]]
                amount = Decimal(allocation["amount"]) * sold / total
                name = application.get("code", "")
                expected[application["type"], name] += amount.quantize(unit, ROUND_HALF_UP)

    rows = discount_report.get_discounts(SPAN, get_sales_by_day(SPAN))

    assert {(discount.kind, discount.name): given.amount for discount, given in rows} == {
        key: amount for key, amount in expected.items() if amount
    }
    periods = discount_report.get_discounts_by_period(SPAN, get_sales_by_day(SPAN))
    assert [given.amount for _period, given in periods] == [sum(expected.values())]


def test_the_report_of_a_new_shop_is_empty_and_needs_its_permission(admin_client_with: PanelWith) -> None:
    panel = admin_client_with(view_only=["reports"])

    page = panel.get(REPORT).content.decode()

    assert "0.00 USD" in page
    assert page.count("No discounts in this period.") == 4
    assert panel.get(FILE, table="nothing").status_code == 404
    others = admin_client_with("orders")
    assert (others.get(REPORT).status_code, others.get(FILE).status_code) == (403, 403)
