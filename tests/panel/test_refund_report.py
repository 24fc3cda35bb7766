from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from time_machine import TimeMachineFixture

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.models import Order
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundLineInput, RefundRequest, RefundTransactionInput
from apps.refunds.models import Refund
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import BY, create_bogus_order, refund_amount, run_refund_jobs
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

REPORT, FILE = "refunds_refund_report", "refunds_refund_report_file"
# May 6 in Auckland, but May 5 in UTC.
NOW = datetime(2031, 5, 5, 22, tzinfo=UTC)
DAYS = {"first": "2031-05-01", "last": "2031-05-06"}


@pytest.fixture
def report_client(admin_client_with: PanelWith, shop: Shop, time_machine: TimeMachineFixture) -> Panel:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    shop.refresh_from_db()
    time_machine.move_to(NOW, tick=False)
    return admin_client_with("reports")


def make_refund(shop: Shop, hours: int = 0, *, title: str = "Mug", reason: str = "", **order: object) -> Refund:
    """Create an order of two items at 10.00 each with a total tax of 1.00, and refund one item."""
    tax = [{"title": "VAT", "rate": Decimal(0), "price": Decimal("1.00")}]
    line = {"title": title, "price": Decimal("10.00"), "quantity": 2, "tax_lines": tax}
    new_order = make_order(shop, lines=[line], **{"financial_status": "paid", **order})
    with shop_scope(shop):
        units = [RefundLineInput(new_order.line_items.get().pk)]
        payments = [RefundTransactionInput(Decimal("10.50"))]
        refund_request = RefundRequest(line_inputs=units, transaction_inputs=payments, reason=reason)
        row = create.create_refund(Order.objects.get(pk=new_order.pk), refund_request, at=NOW, **BY)
        Refund.objects.filter(pk=row.pk).update(processed_at=NOW - timedelta(hours=hours))
    return row


def get_tables(panel: Panel, **query: str) -> dict[str, list[tuple[str, int, int, str]]]:
    response = panel.get(REPORT, **{**DAYS, **query})
    assert response.status_code == 200
    return {table.name: list(table.rows) for table in response.context["tables"]}


def test_refunds_are_added_up_by_day_reason_and_product(report_client: Panel, shop: Shop) -> None:
    make_refund(shop, reason="damage")
    make_refund(shop, 1, title="Jar", reason="damage")
    make_refund(shop, 24)

    page = report_client.get(REPORT, **DAYS)

    assert get_tables(report_client) == {
        "periods": [("6 May 2031", 2, 2, "21.00"), ("5 May 2031", 1, 1, "10.50")],
        "reasons": [("Damage", 2, 2, "21.00"), ("No reason given", 1, 1, "10.50")],
        "products": [("Mug", 2, 2, "21.00"), ("Jar", 1, 1, "10.50")],
    }
    assert (page.context["money"], page.context["total"].refunds) == ("31.50 USD", 3)
    assert [bar.height for bar in page.context["bars"]] == [1, 1, 1, 1, 50, 100]


@pytest.mark.parametrize(
    ("step", "names"),
    [("week", ["Week of 5 May 2031", "Week of 28 Apr 2031"]), ("month", ["May 2031", "April 2031"])],
)
def test_days_are_put_together(report_client: Panel, shop: Shop, step: str, names: list[str]) -> None:
    make_refund(shop)
    make_refund(shop, 6 * 24)

    assert [name for name, *_ in get_tables(report_client, first="2031-04-01", step=step)["periods"]] == names


def test_unrelated_refunds_are_left_out(report_client: Panel, shop: Shop, other_shop: Shop) -> None:
    make_refund(shop, test=True)
    make_refund(shop, 6 * 24)
    make_refund(other_shop)
    refund_amount(create_bogus_order(shop, behavior="bogus:fail"), "5.00")
    run_refund_jobs(shop)
    euros = make_refund(shop)
    Order.objects.filter(pk=euros.order_id).update(currency="EUR")

    page = report_client.get(REPORT, **DAYS)

    total = page.context["total"]
    assert (total.refunds, total.quantity, total.amount, total.other_currencies) == (1, 0, 0, 1)
    assert "1 refund in another currency" in " ".join(page.content.decode().split())


def test_the_file_is_for_spreadsheets(report_client: Panel, shop: Shop) -> None:
    make_refund(shop, title="=HYPERLINK(1)")

    products = report_client.get(FILE, **DAYS, table="products")
    periods = report_client.get(FILE, **DAYS)

    name = 'attachment; filename="refunds-products-2031-05-01-2031-05-06.csv"'
    assert (products["Content-Type"], products["Content-Disposition"]) == ("text/csv; charset=utf-8", name)
    rows = ["Product,Refunds,Units,Money (USD)", "'=HYPERLINK(1),1,1,10.50"]
    assert products.content.decode("utf-8-sig").splitlines() == rows
    assert periods.content.decode("utf-8-sig").splitlines()[-2:] == ["2031-05-05,0,0,0.00", "2031-05-06,1,1,10.50"]
    unknown = ({**DAYS, "table": "people"}, {"first": "x"})
    assert [report_client.get(FILE, **query).status_code for query in unknown] == [404, 404]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"first": "2031-05-07"}, "Enter a date on or after the start date."),
        ({"first": "2030-05-05"}, "Enter a shorter period. A report by day covers at most one year."),
        ({"first": "2020-05-06", "step": "month"}, "Enter a shorter period. A report covers at most five years."),
        ({"first": "0001-01-01", "last": "0001-02-01"}, "There are no refunds in this period. Enter different dates."),
        ({"first": "x"}, "Enter a valid date."),
        ({"step": "hour"}, "Select a valid choice."),
    ],
)
def test_days_that_are_none_or_too_many_are_refused(report_client: Panel, query: dict[str, str], message: str) -> None:
    response = report_client.get(REPORT, **{**DAYS, **query})

    assert response.status_code == 200
    assert message in response.content.decode()
    assert "tables" not in response.context


def test_the_report_costs_the_same_queries_however_much_was_refunded(report_client: Panel, shop: Shop) -> None:
    costs = []
    for _ in range(2):
        make_refund(shop)
        report_client.get(REPORT, **DAYS)
        with CaptureQueriesContext(connection) as queries:
            report_client.get(REPORT, **DAYS)
        costs.append(len(queries))

    assert costs[0] == costs[1]


def test_the_menu_shows_where_one_is_and_nothing_else(report_client: Panel) -> None:
    # The report's URL starts with the URL of refunds.
    groups = report_client.get(REPORT, **DAYS).context["sidebar_navigation"]

    assert [item["title"] for group in groups for item in group["items"] if item["active"]] == ["Refund report"]
