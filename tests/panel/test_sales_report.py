from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from time_machine import TimeMachineFixture

from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import Order
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundLineInput, RefundRequest, RefundTransactionInput
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order, make_variant
from tests.support.panel.client import Panel, PanelWith
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

REPORT, FILE = "orders_order_report", "orders_order_report_file"
# May 6 in Auckland, but May 5 in UTC.
NOW = datetime(2031, 5, 5, 22, tzinfo=UTC)
DAYS = {"first": "2031-05-05", "last": "2031-05-06"}
VAT: Attrs = {"title": "VAT", "rate": Decimal("0.1")}
JARS = {"title": "Jar", "price": Decimal("5.00"), "quantity": 3, "tax_lines": [VAT | {"price": Decimal("1.50")}]}
CUP = {"title": "Cup", "price": Decimal("7.00"), "quantity": 1}


@pytest.fixture
def report_client(admin_client_with: PanelWith, shop: Shop, time_machine: TimeMachineFixture) -> Panel:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    shop.refresh_from_db()
    time_machine.move_to(NOW, tick=False)
    return admin_client_with("reports")


def create_sale(shop: Shop, hours: int = 0, *, changed: Attrs | None = None, **values: Any) -> Order:
    """Create an order that is ``hours`` old, by default of two mugs for 20.00."""
    order = make_order(shop, **values)
    with shop_scope(shop):
        Order.objects.filter(pk=order.pk).update(**{"processed_at": NOW - timedelta(hours=hours), **(changed or {})})
    return order


def get_tables(panel: Panel, **query: str) -> JsonObject:
    response = panel.get(REPORT, **{**DAYS, **query})
    assert response.status_code == 200
    return dict(response.context["tables"])


def get_file(panel: Panel, table: str) -> list[str]:
    response = panel.get(FILE, **DAYS, table=table)
    name = f'attachment; filename="{table}-2031-05-05-2031-05-06.csv"'
    assert (response["Content-Type"], response["Content-Disposition"]) == ("text/csv; charset=utf-8", name)
    return list(response.content.decode("utf-8-sig").splitlines())


def test_days_are_compared_with_the_previous_days(report_client: Panel, shop: Shop) -> None:
    """Compare sales of 60.00 on May 5 and 6 with sales of 40.00 on May 3 and 4."""
    for hours in (0, 1, 24, 48, 72, 96):
        create_sale(shop, hours)

    table = get_tables(report_client)["sales"]

    assert table.title == "60.00 USD, 50% more than in the previous period"
    assert table.note == "3 orders. Previous period (3 May 2031 to 4 May 2031): 40.00 USD from 2 orders."
    assert table.rows == [("6 May 2031", 2, "40.00", 1, "20.00"), ("5 May 2031", 1, "20.00", 1, "20.00")]
    assert [(pair.back, pair.front) for pair in table.pairs] == [(50, 50), (50, 100)]
    ticks = [(tick.position, tick.label) for tick in table.axes.values]
    assert ticks == [(100, "0 USD"), (50, "20 USD"), (0, "40 USD")]
    assert [tick.label for tick in table.axes.labels] == ["5 May", "6 May"]
    assert get_file(report_client, "sales") == [
        "Day,Orders,Money (USD),Orders before,Money before (USD)",
        "2031-05-05,1,20.00,1,20.00",
        "2031-05-06,2,40.00,1,20.00",
    ]


def test_days_are_written_as_the_reader_writes_them(report_client: Panel, shop: Shop) -> None:
    for hours in (0, 24):
        create_sale(shop, hours)
    User.objects.filter(pk=report_client.user.pk).update(language="de")

    response = report_client.get(REPORT, **DAYS)

    table = dict(response.context["tables"])["sales"]
    assert [tick.label for tick in table.axes.labels] == ["5. Mai", "6. Mai"]
    assert table.note.startswith("2 Bestellungen. Zeitraum davor (3. Mai 2031 bis 4. Mai 2031): ")
    assert [row[0] for row in table.rows] == ["6. Mai 2031", "5. Mai 2031"]


@pytest.mark.parametrize(
    ("hours", "title"),
    [
        ((), "0.00 USD, same as in the previous period"),
        ((0,), "20.00 USD, no sales in the previous period"),
        ((0, 48, 72), "20.00 USD, 50% less than in the previous period"),
    ],
)
def test_changes_are_described_in_words(report_client: Panel, shop: Shop, hours: tuple[int, ...], title: str) -> None:
    for hour in hours:
        create_sale(shop, hour)

    assert get_tables(report_client)["sales"].title == title


def test_returning_customers_had_bought_before(report_client: Panel, shop: Shop) -> None:
    ada, bob = make_customer(), make_customer()
    for hours, customer in ((500, ada), (24, ada), (24, bob), (0, bob), (0, None)):
        create_sale(shop, hours, changed={"customer": customer})

    table = get_tables(report_client)["returning"]

    assert table.title == "2 orders from returning customers"
    assert table.note == "2 of 4 orders came from returning customers (67% of the orders with a known customer)."
    assert table.rows == [("6 May 2031", 1, 0, 1), ("5 May 2031", 1, 1, 0)]
    assert [(pair.back, pair.front) for pair in table.pairs] == [(100, 50), (100, 50)]
    assert get_file(report_client, "returning") == [
        "Day,Returning customers,First orders,Unknown customers",
        "2031-05-05,1,1,0",
        "2031-05-06,1,0,1",
    ]


def test_orders_without_purchase_make_no_returning_customer(report_client: Panel, shop: Shop) -> None:
    ada = make_customer()
    create_sale(shop, 50, changed={"customer": ada, "test": True})
    create_sale(shop, 40, changed={"customer": ada, "status": "cancelled", "cancelled_at": NOW})
    create_sale(shop, 0, changed={"customer": ada})

    assert get_tables(report_client)["returning"].rows == [("6 May 2031", 0, 1, 0)]


def test_best_sellers_go_by_what_they_were_bought_for(report_client: Panel, shop: Shop) -> None:
    """Check revenue: two orders of two mugs at 10.00, and three jars at 5.00 plus 1.50 tax (16.50 in total)."""
    for hours in (0, 24):
        create_sale(shop, hours)
    named_order = create_sale(shop, 1, lines=[JARS | {"title": "Old jar"}])
    named_order.line_items.update(product=make_variant(shop, product_title="Jar").product)
    create_sale(shop, 1, lines=[{"title": "=1+1", "price": Decimal("1.00"), "quantity": 3}])

    table = get_tables(report_client)["products"]

    assert table.rows == [("Mug", 2, 4, "40.00"), ("Jar", 1, 3, "16.50"), ("=1+1", 1, 3, "3.00")]
    assert [bar.height for bar in table.bars] == [100, 41, 8]
    assert get_file(report_client, "products") == [
        "Product,Orders,Units,Money (USD)",
        "Mug,2,4,40.00",
        "Jar,1,3,16.50",
        "'=1+1,1,3,3.00",
    ]


def test_taxes_that_prices_include_count_once_and_discounts_not(report_client: Panel, shop: Shop) -> None:
    order = create_sale(shop, lines=[JARS], taxes_included=True)
    order.line_items.update(discount=Decimal("2.00"))

    assert get_tables(report_client)["products"].rows == [("Jar", 1, 3, "13.00")]


def test_orders_that_are_no_sales_here_are_left_out(report_client: Panel, shop: Shop, other_shop: Shop) -> None:
    no_sales: list[Attrs] = [{"cancelled_at": NOW, "status": "cancelled"}, {"test": True}]
    for changed in (*no_sales, {"processed_at": NOW - timedelta(days=9)}):
        create_sale(shop, changed=changed)
    create_sale(other_shop)

    assert [list(table.rows) for table in get_tables(report_client).values()] == [[], [], []]
    assert get_file(report_client, "products") == ["Product,Orders,Units,Money (USD)"]


def test_orders_in_other_currencies_are_counted_apart(report_client: Panel, shop: Shop) -> None:
    create_sale(shop, changed={"currency": "EUR"})

    tables_by_title = get_tables(report_client)

    assert tables_by_title["sales"].footer == "Not included: 1 order in other currencies."
    assert [list(table.rows) for table in tables_by_title.values()] == [[], [], []]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"first": "2031-05-07"}, "Enter a date on or after the start date."),
        ({"first": "2030-05-05"}, "Enter a shorter period. A report covers at most one year."),
        ({"first": "0001-01-01", "last": "0001-02-01"}, "There are no sales in this period. Enter different dates."),
        ({"first": "x"}, "Enter a valid date."),
    ],
)
def test_days_that_are_none_or_too_many_are_refused(report_client: Panel, query: dict[str, str], message: str) -> None:
    response = report_client.get(REPORT, **{**DAYS, **query})

    assert response.status_code == 200
    assert message in response.content.decode()
    assert "tables" not in response.context
    assert report_client.get(FILE, **{**DAYS, **query}).status_code == 404


def test_the_report_costs_the_same_queries_however_much_was_sold(report_client: Panel, shop: Shop) -> None:
    costs = []
    for _ in range(2):
        create_sale(shop)
        report_client.get(REPORT, **DAYS)
        with CaptureQueriesContext(connection) as queries:
            report_client.get(REPORT, **DAYS)
        costs.append(len(queries))

    assert costs[0] == costs[1]


def test_units_removed_by_an_edit_count_only_if_refunded(report_client: Panel, shop: Shop) -> None:
    """Check sales of an order of three mugs for 31.90, after one mug is removed and a cup for 7.70 is added.

    Refunded items count as sold, because the refund report contains the refunds.
    """
    price = {"price": Decimal("10.00"), "total_discount": Decimal("1.00"), "tax_lines": [VAT | {"price": None}]}
    order = create_sale(shop, lines=[{"title": "Mug", "quantity": 3, **price}], financial_status="paid")
    (line,) = get_line_items(order)
    edit_lines.edit_lines(order, OrderEdit({line.pk: LineEdit(2)}, [CUP]), actor="staff:1", at=NOW)

    def get_report() -> tuple[str, list[tuple[object, ...]]]:
        tables_by_title = get_tables(report_client)
        return tables_by_title["sales"].title.partition(",")[0], list(tables_by_title["products"].rows)

    def refund(units: int) -> None:
        inputs, payments = (
            [RefundLineInput(line.pk, units, prefers_removed=True)],
            [RefundTransactionInput(Decimal("10.00"))],
        )
        refund_request = RefundRequest(line_inputs=inputs, transaction_inputs=payments)
        create.create_refund(order, refund_request, actor="system", at=NOW)

    cups = ("Cup", 1, 1, "7.70")
    assert get_report() == ("28.96 USD", [("Mug", 1, 2, "21.26"), cups])
    for units in (1, 2):
        refund(units)
        assert get_report() == ("39.60 USD", [("Mug", 1, 3, "31.90"), cups])


def test_lines_removed_by_an_edit_are_not_sold(report_client: Panel, shop: Shop) -> None:
    order = create_sale(shop)
    (line,) = get_line_items(order)
    edit_lines.edit_lines(order, OrderEdit({line.pk: LineEdit(0)}, [CUP]), actor="staff:1", at=NOW)

    assert get_tables(report_client)["products"].rows == [("Cup", 1, 1, "7.00")]


def test_the_home_page_asks_for_returning_customers_and_best_sellers(report_client: Panel, shop: Shop) -> None:
    for number in range(6):
        create_sale(shop, lines=[{"title": f"Mug {number}", "price": Decimal(10 + number), "quantity": 1}])
    ((_, section),) = report_client.get(days="7").context["sections"]

    response = report_client.http.get(section["address"])
    html = response.content.decode()

    assert section["address"] == f"{report_client.url(REPORT)}answers/?first=2031-04-30"
    assert [name for name, _ in response.context["tables"]] == ["returning", "products"]
    rows = dict(response.context["tables"])["products"].rows
    assert [row[0] for row in rows] == [f"Mug {n}" for n in (5, 4, 3, 2, 1)]
    assert "More rows in the exported file: 1" in html
    assert "table=returning&amp;first=2031-04-30" in html
    assert report_client.get("orders_order_report_answers", first="x").status_code == 404
    assert report_client.get(FILE, **DAYS, table="people").status_code == 404
