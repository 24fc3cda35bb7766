"""The tax report by rate, region and period, and the time zone of all reports about money."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from apps.refunds.models import Refund
from tests.support.api_client import ApiClient
from tests.support.panel.client import Panel, PanelWith
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

REPORT, FILE = "refunds_refund_taxes", "refunds_refund_taxes_file"
# May 6 in Auckland, but May 5 in UTC.
NOW = datetime(2031, 5, 5, 22, tzinfo=UTC)
DAYS = {"first": "2031-05-01", "last": "2031-05-06", "step": "day"}
GST, QST = ({"title": title, "rate": rate} for title, rate in (("GST", "0.05"), ("QST", "0.09975")))
MONTREAL = {"country_code": "CA", "province_code": "QC"}
BERLIN = {"country_code": "DE"}


@pytest.fixture
def report_client(admin_client_with: PanelWith, shop: Shop, time_machine: TimeMachineFixture) -> Panel:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    shop.refresh_from_db()
    time_machine.move_to(NOW, tick=False)
    return admin_client_with("reports")


def create_order(api: ApiClient, **values: object) -> JsonObject:
    line = {"title": "Mug", "price": "10.00", "quantity": 4, "tax_lines": [GST, QST]}
    body: JsonObject = {"line_items": [line], "financial_status": "paid", "shipping_address": MONTREAL, **values}
    response = api.post("orders.json", {"order": body})
    assert response.status_code == 201, response.json()
    return response.json()["order"]


def refund(api: ApiClient, order: JsonObject, quantity: int = 1) -> int:
    unit = {"line_item_id": order["line_items"][0]["id"], "quantity": quantity}
    body = {"currency": order["currency"], "refund_line_items": [unit]}
    response = api.post(f"orders/{order['id']}/refunds.json", {"refund": body})
    assert response.status_code == 201, response.json()
    return int(response.json()["refund"]["id"])


def get_tables(panel: Panel, **query: str) -> dict[str, list[tuple[str, ...]]]:
    response = panel.get(REPORT, **{**DAYS, **query})
    assert response.status_code == 200
    return {table.name: list(table.rows) for table in response.context["tables"]}


def get_file(panel: Panel, table: str, **query: str) -> list[str]:
    response = panel.get(FILE, **{**DAYS, **query}, table=table)
    assert response.status_code == 200
    return list(response.content.decode("utf-8-sig").splitlines())


def test_taxes_are_added_up_by_rate_region_and_period(report_client: Panel, api: ApiClient) -> None:
    yesterday = (NOW - timedelta(days=1)).isoformat()
    order = create_order(api, processed_at=yesterday)
    create_order(api, shipping_address=None, billing_address=BERLIN)
    refund(api, order)

    page = report_client.get(REPORT, **DAYS)
    tables = get_tables(report_client)

    assert tables == {
        "rates": [("GST", "5", "4.00", "0.50", "3.50"), ("QST", "9.975", "7.98", "1.00", "6.98")],
        "regions": [
            ("Canada", "Quebec", "GST", "5", "2.00", "0.50", "1.50"),
            ("Canada", "Quebec", "QST", "9.975", "3.99", "1.00", "2.99"),
            ("Germany", "–", "GST", "5", "2.00", "0.00", "2.00"),
            ("Germany", "–", "QST", "9.975", "3.99", "0.00", "3.99"),
        ],
        "periods": [
            ("5 May 2031", "GST", "5", "2.00", "0.00", "2.00"),
            ("5 May 2031", "QST", "9.975", "3.99", "0.00", "3.99"),
            ("6 May 2031", "GST", "5", "2.00", "0.50", "1.50"),
            ("6 May 2031", "QST", "9.975", "3.99", "1.00", "2.99"),
        ],
        "details": [
            ("5 May 2031", "Canada", "Quebec", "GST", "5", "2.00", "0.00", "2.00"),
            ("5 May 2031", "Canada", "Quebec", "QST", "9.975", "3.99", "0.00", "3.99"),
            ("6 May 2031", "Canada", "Quebec", "GST", "5", "0.00", "0.50", "-0.50"),
            ("6 May 2031", "Canada", "Quebec", "QST", "9.975", "0.00", "1.00", "-1.00"),
            ("6 May 2031", "Germany", "–", "GST", "5", "2.00", "0.00", "2.00"),
            ("6 May 2031", "Germany", "–", "QST", "9.975", "3.99", "0.00", "3.99"),
        ],
    }
    amounts = [page.context[name] for name in ("sales", "refunded", "net")]
    assert amounts == ["11.98 USD", "1.50 USD", "10.48 USD"]
    month = get_tables(report_client, step="month", first="2031-04-01")
    assert month["periods"][0] == ("May 2031", "GST", "5", "4.00", "0.50", "3.50")


def test_the_file_is_for_spreadsheets(report_client: Panel, api: ApiClient) -> None:
    formula = [{"title": "=HYPERLINK(1)", "rate": "0.05"}]
    create_order(api, line_items=[{"title": "Mug", "price": "10.00", "quantity": 1, "tax_lines": formula}])

    response = report_client.get(FILE, **DAYS)

    name = 'attachment; filename="taxes-details-2031-05-01-2031-05-06.csv"'
    assert (response["Content-Type"], response["Content-Disposition"]) == ("text/csv; charset=utf-8", name)
    assert get_file(report_client, "details") == [
        "Period,Country,Province,Tax,Rate (%),Sales (USD),Refunds (USD),Net (USD)",
        "2031-05-06,CA,QC,'=HYPERLINK(1),5,0.50,0.00,0.50",
    ]
    assert get_file(report_client, "rates")[1] == "'=HYPERLINK(1),5,0.50,0.00,0.50"
    unknown = ({**DAYS, "table": "people"}, {"first": "x"})
    assert [report_client.get(FILE, **query).status_code for query in unknown] == [404, 404]


def test_unrelated_orders_are_left_out(report_client: Panel, api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    refund(api, create_order(api, test=True))
    create_order(api, processed_at=(NOW - timedelta(days=6)).isoformat())
    for _ in range(2):
        refund(api, create_order(api, currency="EUR"))
    foreign = create_order(api)
    refund(api, foreign)
    with shop_scope(shop):
        Order.objects.filter(pk=foreign["id"]).update(shop=other_shop)
        Refund.objects.filter(order_id=foreign["id"]).update(shop=other_shop)

    page = report_client.get(REPORT, **DAYS)

    assert {name: rows for name, rows in get_tables(report_client).items() if rows} == {}
    text = " ".join(page.content.decode().split())
    assert "2 orders in other currencies are not included." in text
    assert "2 refunds in other currencies are not included." in text


def test_removed_items_and_canceled_orders_owe_no_taxes(report_client: Panel, api: ApiClient) -> None:
    edited, canceled, unpaid = create_order(api), create_order(api), create_order(api, financial_status="pending")
    edit = OrderEdit({edited["line_items"][0]["id"]: LineEdit(2)})
    edit_lines.edit_lines(Order.objects.get(pk=edited["id"]), edit, actor="system", at=timezone.now())
    refund(api, edited)
    refund(api, canceled)
    for order in (canceled, unpaid):
        assert api.post(f"orders/{order['id']}/cancel.json", {"restock": False}).status_code == 200

    # Of the edited order, 2 of 4 items were sold, and 1 was refunded. Of the canceled order, 1 item was refunded.
    assert get_tables(report_client)["rates"] == [
        ("GST", "5", "1.50", "1.00", "0.50"),
        ("QST", "9.975", "3.00", "2.00", "1.00"),
    ]


def test_all_reports_divide_days_at_midnight_in_the_shop(report_client: Panel, api: ApiClient) -> None:
    """Clocks in Auckland go back on April 6, so this day has 25 hours."""
    midnights = [datetime(2031, 4, 5, 11, tzinfo=UTC), datetime(2031, 4, 6, 12, tzinfo=UTC)]
    moments = [moment for midnight in midnights for moment in (midnight - timedelta(seconds=1), midnight)]
    for moment in moments:
        order = create_order(api, processed_at=moment.isoformat(), created_at=NOW.isoformat())
        Refund.objects.filter(pk=refund(api, order)).update(processed_at=moment)
    days = {"first": "2031-04-06", "last": "2031-04-06", "step": "day"}

    taxes = get_tables(report_client, **days)
    sales = dict(report_client.get("orders_order_report", **days).context["tables"])
    refunds = {row.name: row for row in report_client.get("refunds_refund_report", **days).context["tables"]}

    assert taxes["periods"][0] == ("6 Apr 2031", "GST", "5", "4.00", "1.00", "3.00")
    assert [row[:2] for row in sales["sales"].rows] == [("6 Apr 2031", 2)]
    assert [row[:2] for row in refunds["periods"].rows] == [("6 Apr 2031", 2)]
    assert [row[:2] for row in sales["products"].rows] == [("Mug", 2)]
    assert [row[0] for row in sales["returning"].rows] == ["6 Apr 2031"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"first": "2031-05-07"}, "Enter a date on or after the start date."),
        ({"first": "2030-05-05"}, "Enter a shorter period. A report by day covers at most one year."),
        ({"first": "0001-01-01", "last": "0001-02-01"}, "There are no taxes in this period. Enter different dates."),
        ({"step": "hour"}, "Select a valid choice."),
    ],
)
def test_days_that_are_none_or_too_many_are_refused(report_client: Panel, query: dict[str, str], message: str) -> None:
    response = report_client.get(REPORT, **{**DAYS, **query})

    assert response.status_code == 200
    assert message in response.content.decode()
    assert "tables" not in response.context


def test_the_report_costs_the_same_queries_however_many_orders(report_client: Panel, api: ApiClient) -> None:
    costs = []
    for _ in range(2):
        refund(api, create_order(api))
        report_client.get(REPORT, **DAYS)
        with CaptureQueriesContext(connection) as queries:
            report_client.get(REPORT, **DAYS)
        costs.append(len(queries))

    assert costs[0] == costs[1]


def test_the_order_page_shows_the_refunded_taxes(admin_client_with: PanelWith, api: ApiClient) -> None:
    order = create_order(api, presentment_currency="EUR", exchange_rate="0.9")
    pk = refund(api, order)
    panel = admin_client_with("orders", "refund_orders")

    for page in (panel.get("orders_order_change", order["id"]), panel.get("refunds_refund_change", pk)):
        text = " ".join(page.content.decode().split())
        assert "Refunded taxes: GST 5%: 0.50 USD (0.45 EUR); QST 9.975%: 1.00 USD (0.90 EUR)" in text


def test_sums_are_exact_on_every_database(report_client: Panel, api: ApiClient) -> None:
    tax = [{"title": "VAT", "rate": "0.07", "price": "0.07"}]
    for _ in range(30):
        create_order(api, line_items=[{"title": "Mug", "price": "1.00", "quantity": 1, "tax_lines": tax}])

    assert get_tables(report_client)["rates"] == [("VAT", "7", str(Decimal("0.07") * 30), "0.00", "2.10")]
