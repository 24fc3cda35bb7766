"""Tests for the sales figures on the home page."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from time_machine import TimeMachineFixture

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.orders.models import Order
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.types import JsonObject

# May 6 in Auckland, but May 5 in UTC.
NOW = datetime(2031, 5, 5, 22, tzinfo=UTC)


@pytest.fixture
def report_client(admin_client_with: PanelWith, shop: Shop, time_machine: TimeMachineFixture) -> Panel:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    time_machine.move_to(NOW, tick=False)
    return admin_client_with("dashboard", "overviews")


def create_sale(shop: Shop, at: datetime, **fields: object) -> Order:
    order = make_order(shop)
    with shop_scope(shop):
        Order.objects.filter(pk=order.pk).update(**{"processed_at": at, "total_price": Decimal("20.10"), **fields})
    return order


def get_chart(panel: Panel, **query: str) -> JsonObject:
    ((_, section),) = panel.get(**query).context["sections"]
    return dict(section)


def test_the_chart_adds_up_the_shops_days(report_client: Panel, shop: Shop) -> None:
    for hours in (1, 2, 24):
        create_sale(shop, NOW - timedelta(hours=hours))

    section = get_chart(report_client)

    output = [(str(day.day), day.text, day.orders, day.height) for day in section["days"] if day.orders]
    assert output == [("2031-05-05", "20.10", 1, 50), ("2031-05-06", "40.20", 2, 100)]
    assert (section["total"], section["orders"], len(section["days"])) == ("60.30", 3, 30)
    assert report_client.get().context["cards"][0][1].number == "40.20"


@pytest.mark.parametrize(
    "fields",
    [
        {"cancelled_at": NOW, "status": "cancelled"},
        {"test": True},
        {"currency": "KWD"},
        {"processed_at": NOW + timedelta(days=1)},
    ],
)
def test_orders_that_are_no_sales_here_are_not_added(
    report_client: Panel, shop: Shop, other_shop: Shop, fields: Attrs
) -> None:
    create_sale(shop, NOW, **fields)
    create_sale(other_shop, NOW)

    assert (get_chart(report_client)["orders"], get_chart(report_client)["total"]) == (0, "0.00")


@pytest.mark.parametrize(("days_query", "count"), [("7", 7), ("90", 90), ("31", 30), ("x", 30), ("٧", 30)])
def test_the_range_is_chosen(report_client: Panel, days_query: str, count: int) -> None:
    assert len(get_chart(report_client, days=days_query)["days"]) == count


@pytest.mark.parametrize(
    ("names", "cards", "sections"), [((), [], 0), (("dashboard",), ["Sales"], 0), (("overviews",), [], 1)]
)
def test_parts_need_permission(
    admin_client_with: PanelWith, names: tuple[str, ...], cards: list[str], sections: int
) -> None:
    page = admin_client_with(*names).get()

    assert [card.title for card, *_ in page.context["cards"]] == cards
    assert len(page.context["sections"]) == sections


def test_the_chart_costs_one_query_however_much_was_sold(report_client: Panel, shop: Shop) -> None:
    costs = []
    for _ in range(2):
        create_sale(shop, NOW)
        report_client.get()
        with CaptureQueriesContext(connection) as queries:
            report_client.get()
        costs.append(len(queries))

    assert costs[0] == costs[1]


def test_the_previous_days_are_shown_for_comparison(report_client: Panel, shop: Shop) -> None:
    for days in (0, 7, 8, 13, 14):
        create_sale(shop, NOW - timedelta(days=days))

    section = get_chart(report_client, days="7")

    sums = ("total", "orders", "total_before", "orders_before")
    assert [section[name] for name in sums] == ["20.10", 1, "60.30", 3]
    beside = [(str(day.day), day.text, str(then.day), then.text) for day, then in section["rows"]]
    assert beside[0] == ("2031-05-06", "20.10", "2031-04-29", "20.10")
    assert beside[-1] == ("2031-04-30", "0.00", "2031-04-23", "20.10")
    compared = [(row.label, row.value, row.before, row.change, row.is_rise) for row in section["comparisons"]]
    assert compared == [
        ("Sales", "20.10 USD", "60.30 USD", "−67%", False),
        ("Orders", "1", "3", "−67%", False),
        ("Average order", "20.10 USD", "20.10 USD", "0%", False),
    ]
    html = " ".join(report_client.get(days="7").content.decode().split())
    assert "Compared with the 7 days before, starting 23 Apr." in html
    assert "before: 60.30 USD" in html


@pytest.mark.parametrize(
    ("price", "values"),
    [
        ("1.00", ["0 USD", "1 USD"]),
        ("19.90", ["0 USD", "5 USD", "10 USD", "15 USD"]),
        ("48.00", ["0 USD", "20 USD", "40 USD"]),
        ("5400.00", ["0 USD", "2,000 USD", "4,000 USD"]),
        ("99000.00", ["0 USD", "25,000 USD", "50,000 USD", "75,000 USD"]),
    ],
)
def test_the_axis_has_round_values(report_client: Panel, shop: Shop, price: str, values: list[str]) -> None:
    create_sale(shop, NOW, total_price=Decimal(price))

    axes = get_chart(report_client)["axes"]

    assert [tick.label for tick in axes.values] == values
    assert axes.labels[-1].label == "today"
    assert f">{values[-1]}</text>" in report_client.get().content.decode()


def test_the_chart_links_to_file_and_report(report_client: Panel, admin_client_with: PanelWith, shop: Shop) -> None:
    for days in (0, 7):
        create_sale(shop, NOW - timedelta(days=days))
    both = admin_client_with("overviews", "reports")
    html = both.get(days="7").content.decode()
    (link,) = re.findall(r'href="([^"]+)">Download sales as CSV<', html)

    file = both.http.get(unescape(link)).content.decode().splitlines()

    assert (len(file), file[-1]) == (8, "2031-05-06,1,20.10,1,20.10")
    assert f'{both.url("orders_order_report")}?first=2031-04-30">Sales report</a>' in html
    # The link is hidden from staff members who cannot open the report.
    assert "Download sales as CSV" not in report_client.get(days="7").content.decode()
