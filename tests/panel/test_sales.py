"""Tests of sales on the home page: figures, days and permissions."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from apps.shops.models import Shop
from tests.orders.factories import make_order
from tests.panel.conftest import Panel, PanelWith

# May 6 in Auckland, still May 5 in UTC.
NOW = datetime(2031, 5, 5, 22, tzinfo=UTC)


@pytest.fixture
def panel(panel_with: PanelWith, shop: Shop, time_machine: Any) -> Panel:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    time_machine.move_to(NOW, tick=False)
    return panel_with("dashboard", "overviews")


def sold(shop: Shop, at: datetime, **fields: Any) -> Order:
    order = make_order(shop)
    with shop_scope(shop):
        Order.objects.filter(pk=order.pk).update(**{"processed_at": at, "total_price": Decimal("20.10"), **fields})
    return order


def chart(panel: Panel, **query: str) -> dict[str, Any]:
    ((_, section),) = panel.get(**query).context["sections"]
    values: dict[str, Any] = section
    return values


def test_the_chart_adds_up_the_shops_days(panel: Panel, shop: Shop) -> None:
    for hours in (1, 2, 24):
        sold(shop, NOW - timedelta(hours=hours))

    section = chart(panel)

    output = [(str(day.day), day.text, day.orders, day.height) for day in section["days"] if day.orders]
    assert output == [("2031-05-05", "20.10", 1, 50), ("2031-05-06", "40.20", 2, 100)]
    assert (section["total"], section["orders"], len(section["days"])) == ("60.30", 3, 30)
    assert panel.get().context["cards"][0][1].number == "40.20"


@pytest.mark.parametrize(
    "fields",
    [
        {"cancelled_at": NOW, "status": "cancelled"},
        {"test": True},
        {"currency": "KWD"},
        {"processed_at": NOW + timedelta(days=1)},
    ],
)
def test_what_is_no_sale_is_not_added(panel: Panel, shop: Shop, fields: dict[str, Any]) -> None:
    sold(shop, NOW, **fields)

    assert (chart(panel)["orders"], chart(panel)["total"]) == (0, "0.00")


def test_sales_of_another_shop_are_not_added(panel: Panel, other_shop: Shop) -> None:
    sold(other_shop, NOW)

    assert chart(panel)["orders"] == 0


@pytest.mark.parametrize(("days_query", "count"), [("7", 7), ("90", 90), ("31", 30), ("x", 30), ("٧", 30)])
def test_the_range_is_chosen(panel: Panel, days_query: str, count: int) -> None:
    assert len(chart(panel, days=days_query)["days"]) == count


@pytest.mark.parametrize(
    ("names", "cards", "sections"), [((), [], 0), (("dashboard",), ["Sales"], 0), (("overviews",), [], 1)]
)
def test_each_part_needs_its_permission(
    panel_with: PanelWith, names: tuple[str, ...], cards: list[str], sections: int
) -> None:
    page = panel_with(*names).get()

    assert [card.title for card, *_ in page.context["cards"]] == cards
    assert len(page.context["sections"]) == sections


def test_the_chart_costs_one_query_however_much_was_sold(panel: Panel, shop: Shop) -> None:
    costs = []
    for _ in range(2):
        sold(shop, NOW)
        panel.get()
        with CaptureQueriesContext(connection) as queries:
            panel.get()
        costs.append(len(queries))

    assert costs[0] == costs[1]


def test_the_days_before_stand_beside(panel: Panel, shop: Shop) -> None:
    for days in (0, 7, 8, 13, 14):
        sold(shop, NOW - timedelta(days=days))

    section = chart(panel, days="7")

    assert (section["total"], section["orders"]) == ("20.10", 1)
    assert (section["total_before"], section["orders_before"]) == ("60.30", 3)
    beside = [(str(day.day), day.text, str(then.day), then.text) for day, then in section["rows"]]
    assert beside[0] == ("2031-05-06", "20.10", "2031-04-29", "20.10")
    assert beside[-1] == ("2031-04-30", "0.00", "2031-04-23", "20.10")
    html = panel.get(days="7").content.decode()
    assert "Previous period, from 23 Apr: 60.30 USD in 3 orders" in " ".join(html.split())


def test_the_chart_leads_to_its_file_and_to_the_report(panel: Panel, panel_with: PanelWith, shop: Shop) -> None:
    sold(shop, NOW)
    sold(shop, NOW - timedelta(days=7))
    both = panel_with("overviews", "reports")
    html = both.get(days="7").content.decode()
    (link,) = re.findall(r'href="([^"]+)">Sales as CSV<', html)

    file = both.http.get(unescape(link)).content.decode().splitlines()

    assert len(file) == 8
    assert file[-1] == "2031-05-06,1,20.10,1,20.10"
    assert f'{both.url("orders_order_report")}?first=2031-04-30">Sales report</a>' in html
    # Hidden from staff who may not open the report.
    assert "Sales as CSV" not in panel.get(days="7").content.decode()
