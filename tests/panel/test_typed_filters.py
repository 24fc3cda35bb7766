"""Filters that one types into: what fits, what is said of it, and what cannot be read."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from apps.catalog.models import Product
from apps.customers.models import Customer
from apps.ground.tenancy import shop_scope
from apps.orders.admin.filters import ChannelFilter, TagFilter
from apps.orders.models import Order
from apps.shops.models import Shop
from tests.catalog.factories import make_product
from tests.customers.factories import make_customer
from tests.orders.factories import make_order
from tests.panel.conftest import Panel

LISTS = {"orders": "orders_order_changelist", "products": "catalog_product_changelist"}


def names(answer: Any) -> list[str]:
    return sorted(str(row) for row in answer.context["cl"].result_list)


def chips(answer: Any) -> list[str]:
    return [chip.words for chip in answer.context["cl"].narrowing.chips]


@pytest.fixture
def orders(shop: Shop, panel_with: Any) -> Panel:
    """Three orders; the days are those of New York."""
    Shop.objects.filter(pk=shop.pk).update(timezone="America/New_York")
    shop.refresh_from_db()
    panel: Panel = panel_with("orders", "products", "customers")
    with shop_scope(shop):
        for name, moment, total in (
            ("#1", datetime(2026, 3, 2, 4, 59, tzinfo=UTC), "9.90"),
            ("#2", datetime(2026, 3, 2, 5, 0, tzinfo=UTC), "10.00"),
            ("#3", datetime(2026, 3, 3, 4, 59, tzinfo=UTC), "1234.50"),
        ):
            made = make_order(shop)
            Order.objects.filter(pk=made.pk).update(name=name, processed_at=moment, total_price=Decimal(total))
    return panel


@pytest.mark.parametrize(
    ("query", "fitting", "chip"),
    [
        ({"processed_from": "2026-03-02"}, ["#2", "#3"], "Date: from 2 Mar 2026"),
        ({"processed_to": "2026-03-01"}, ["#1"], "Date: to 1 Mar 2026"),
        ({"processed_from": "2026-03-02", "processed_to": "2026-03-02"}, ["#2", "#3"], "Date: 2 Mar 2026 – 2 Mar 2026"),
        ({"total_from": "10"}, ["#2", "#3"], "Total: from 10.00"),
        ({"total_to": "9,90"}, ["#1"], "Total: to 9.90"),
        ({"total_from": "9.90", "total_to": "10"}, ["#1", "#2"], "Total: 9.90 – 10.00"),
        ({"total_from": "", "total_to": " "}, ["#1", "#2", "#3"], None),
    ],
)
def test_days_and_amounts(orders: Panel, query: dict[str, str], fitting: list[str], chip: str | None) -> None:
    answer = orders.get(LISTS["orders"], **query)

    assert names(answer) == fitting
    assert chips(answer) == ([chip] if chip else [])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"processed_from": "2026-02-30"}, "Enter a valid date."),
        ({"processed_to": "9999-12-31"}, "Enter a valid date."),
        ({"processed_from": "0001-01-01"}, "Enter a valid date."),
        ({"total_from": "a lot"}, "Enter a number"),
        ({"total_to": "1,234"}, "Write it without the comma"),
        ({"total_from": "9" * 400}, ""),
        ({"total_from": "NaN"}, "Enter a number"),
    ],
)
def test_what_cannot_be_read_is_said_and_fits_nothing(orders: Panel, query: dict[str, str], said: str) -> None:
    answer = orders.get(LISTS["orders"], **query)

    assert names(answer) == []
    assert said in answer.content.decode()
    assert 'aria-invalid="true"' in answer.content.decode()
    assert len(chips(answer)) == 1


def test_one_form_asks_for_all_and_keeps_what_else_the_address_says(orders: Panel) -> None:
    asked = {"view": "open", "q": "#1", "financial_status__exact": "paid", "total_from": "1", "p": "2"}
    page = orders.get(LISTS["orders"], **asked).content.decode()
    start = page.index('id="filter-form"')
    form = page[start : page.index("</form>", start)]

    for name, value in (("view", "open"), ("q", "#1")):
        assert f'type="hidden" name="{name}" value="{value}"' in form
    assert '<option value="paid" selected>' in form
    for name in ("financial_status__exact", "sending", "processed_from", "total_from", "channel", "tag"):
        assert form.count(f'name="{name}"') == 1
    assert 'name="p"' not in form


@pytest.mark.parametrize(
    ("query", "fitting", "chip"),
    [
        ({"channel": "WEB"}, ["#1", "#2"], "Channel: WEB"),
        ({"channel": "we"}, [], "Channel: we"),
        ({"channel": "web", "tag": "vip"}, ["#1"], "Channel: web"),
        ({"tag": "Vip"}, ["#1", "#3"], "Tag: Vip"),
        ({"tag": "vi"}, [], "Tag: vi"),
        ({"tag": "vip, gift"}, [], "Tag: vip, gift"),
        ({"tag": "50%"}, ["#3"], "Tag: 50%"),
        ({"tag": "ÜBER"}, ["#3"], "Tag: ÜBER"),
        ({"sending": "unfulfilled"}, ["#2", "#3"], "Fulfillment status: Unfulfilled"),
        ({"sending": "fulfilled"}, ["#1"], "Fulfillment status: Fulfilled"),
        ({"sending": "nonsense"}, ["#1", "#2", "#3"], "Fulfillment status: nonsense"),
    ],
)
def test_channels_tags_and_how_far_orders_are_sent(
    shop: Shop, orders: Panel, query: dict[str, str], fitting: list[str], chip: str
) -> None:
    with shop_scope(shop):
        Order.rows().filter(name="#1").update(source_name="web", tags="gift, VIP", fulfillment_status="fulfilled")
        Order.rows().filter(name="#2").update(source_name="Web", tags="vips")
        Order.rows().filter(name="#3").update(source_name="pos", tags="50%, vip, ÜBER")

    answer = orders.get(LISTS["orders"], **query)

    assert names(answer) == fitting
    assert chips(answer)[0] == chip


@pytest.mark.postgres
def test_channels_and_tags_have_their_indexes(shop: Shop) -> None:
    with shop_scope(shop):
        money = {"currency": "USD", "presentment_currency": "USD"}
        Order.objects.bulk_create(
            Order(shop=shop, number=n, name=f"#{n}", tags=f"t-{n}, all", source_name=f"from {n}", **money)
            for n in range(3_000)
        )
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE orders_order")
        newest = Order.rows().order_by("-pk")
        parameters: dict[str, Any] = {"request": None, "model": Order, "model_admin": None}
        by_channel = ChannelFilter(params={}, **parameters).fitting(newest, ["From 7"])
        by_tag = TagFilter(params={}, **parameters).fitting(newest, ["T-7"])

        assert "orders_order_by_channel" in by_channel[:25].explain()
        assert "orders_order_by_tag" in by_tag[:25].explain()


@pytest.mark.parametrize(
    ("query", "fitting"),
    [
        ({"vendor": "milliner"}, ["Hat"]),
        ({"vendor": "mill"}, []),
        ({"type": "COATS"}, ["Coat"]),
        ({"tag": "Warm"}, ["Coat", "Hat"]),
        ({"tag": "warm", "vendor": "Other"}, ["Coat"]),
        ({"created_to": "2020-01-01"}, ["Hat"]),
    ],
)
def test_words_of_products(shop: Shop, panel_with: Any, query: dict[str, str], fitting: list[str]) -> None:
    panel = panel_with("products")
    with shop_scope(shop):
        hat = make_product("Hat", vendor="Milliner", tags="warm, red")
        make_product("Coat", vendor="Other", product_type="Coats", tags="Warm")
        make_product("Scarf")
        Product.objects.filter(pk=hat.pk).update(created_at=datetime(2019, 5, 1, tzinfo=UTC))

    answer = panel.get(LISTS["products"], **query)

    assert sorted(row.title for row in answer.context["cl"].result_list) == fitting
    assert len(chips(answer)) == len(query)


def test_customers_by_the_day_they_became_known(shop: Shop, panel_with: Any) -> None:
    panel = panel_with("customers")
    with shop_scope(shop):
        early, late = make_customer(email="early@example.com"), make_customer(email="late@example.com")
        Customer.objects.filter(pk=early.pk).update(created_at=datetime(2019, 5, 1, tzinfo=UTC))

    def known(**days: str) -> list[int]:
        return [row.pk for row in panel.get("customers_customer_changelist", **days).context["cl"].result_list]

    assert known(created_to="2019-12-31") == [early.pk]
    assert known(created_from="2020-01-01") == [late.pk]


def test_customers_by_one_of_their_tags(shop: Shop, panel_with: Any) -> None:
    panel = panel_with("customers")
    with shop_scope(shop):
        make_customer(email="a@example.com", tags="gift, VIP")
        make_customer(email="b@example.com", tags="vips")
        vip = make_customer(email="c@example.com", tags="vip")
        gift = Customer.objects.get(email="a@example.com")

    def tagged(tag: str) -> set[int]:
        return {row.pk for row in panel.get("customers_customer_changelist", tag=tag).context["cl"].result_list}

    assert tagged("vip") == {vip.pk, gift.pk}
    assert tagged("gift") == {gift.pk}
    assert tagged('" OR state:enabled') == set()
