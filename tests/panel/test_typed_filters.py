import html
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F

from apps.catalog.admin.filters import PriceFilter, VariantProductFilter
from apps.catalog.models import Product, Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs
from apps.customers.admin.changelist_search import OrdersFilter, SpentFilter
from apps.customers.models import Customer
from apps.inventory.models import InventoryItem
from apps.orders.admin.changelist import ChannelFilter, TagFilter
from apps.orders.models import Order
from tests.support.api_client import Response
from tests.support.databases.statistics import collect_statistics
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.inventory import get_first_location, set_stock
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.long_lists import fill_lists

pytestmark = pytest.mark.usefixtures("in_shop")

# The variant list also filters by the product's shop, because indexes of the product table begin with the shop.
OF_SHOP: dict[Any, Attrs] = {Variant: {"product__shop": F("shop")}}
FILTERS = {"processed_from": "Date", "processed_to": "Date", "total_from": "Total", "total_to": "Total"}
LISTS = {"orders": "orders_order_changelist", "products": "catalog_product_changelist"}
LISTS |= {"customers": "customers_customer_changelist", "variants": "catalog_variant_changelist"}


def get_names(response: Response) -> list[str]:
    return sorted(str(row) for row in response.context["cl"].result_list)


def get_chips(response: Response) -> list[str]:
    return [chip.text for chip in response.context["cl"].active_filters.chips]


@pytest.fixture
def orders(shop: Shop, admin_client_with: PanelWith) -> Panel:
    """Create three orders in a shop with the New York time zone; return a client."""
    Shop.objects.filter(pk=shop.pk).update(timezone="America/New_York")
    shop.refresh_from_db()
    panel: Panel = admin_client_with("orders", "products", "customers")
    for name, moment, total in (
        ("#1", datetime(2026, 3, 2, 4, 59, tzinfo=UTC), "9.90"),
        ("#2", datetime(2026, 3, 2, 5, 0, tzinfo=UTC), "10.00"),
        ("#3", datetime(2026, 3, 3, 4, 59, tzinfo=UTC), "1234.50"),
    ):
        order = make_order(shop)
        Order.objects.filter(pk=order.pk).update(name=name, processed_at=moment, total_price=Decimal(total))
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
    response = orders.get(LISTS["orders"], **query)

    assert get_names(response) == fitting
    assert get_chips(response) == ([chip] if chip else [])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"processed_from": "2026-02-30"}, "Enter a valid date."),
        ({"processed_to": "9999-12-31"}, "Enter a valid date."),
        ({"processed_from": "0001-01-01"}, "Enter a valid date."),
        ({"total_from": "a lot"}, "Enter an amount in USD"),
        ({"total_to": "1,234"}, "Remove the comma"),
        ({"total_from": "9" * 400}, ""),
        ({"total_from": "NaN"}, "Enter an amount in USD"),
    ],
)
def test_invalid_input_is_reported_and_matches_nothing(orders: Panel, query: dict[str, str], message: str) -> None:
    response = orders.get(LISTS["orders"], **query)

    page = response.content.decode()
    assert (get_names(response), get_chips(response)) == ([], [])
    assert message in page
    assert 'aria-invalid="true"' in page
    [refused] = response.context["cl"].active_filters.invalid
    ((name, typed),) = query.items()
    assert refused.text.startswith(f"“{typed[:60]}” is not a valid value for the {FILTERS[name]} filter. ")
    assert refused.text in html.unescape(page)
    assert "No matches" not in page


def test_a_range_with_one_invalid_end_does_not_look_active(orders: Panel) -> None:
    query = {"total_from": "abc", "total_to": "100.50", "processed_from": "2026-03-02"}

    response = orders.get(LISTS["orders"], **query)

    assert (get_names(response), get_chips(response)) == ([], ["Date: from 2 Mar 2026"])
    [refused] = response.context["cl"].active_filters.invalid
    assert refused.text == "“abc” is not a valid value for the Total filter. Enter an amount in USD."
    assert refused.url_without == "?processed_from=2026-03-02"


def test_the_filter_form_contains_all_filters_and_keeps_other_parameters(orders: Panel) -> None:
    request = {"view": "open", "q": "#1", "financial_status__exact": "paid", "total_from": "1", "p": "2"}
    page = orders.get(LISTS["orders"], **request).content.decode()
    form = page.partition('id="filter-form"')[2].partition("</form>")[0]

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
        ({"sending": "unfulfilled"}, ["#2", "#3"], "Fulfillment: Unfulfilled"),
        ({"sending": "fulfilled"}, ["#1"], "Fulfillment: Fulfilled"),
        ({"sending": "nonsense"}, ["#1", "#2", "#3"], "Fulfillment: nonsense"),
    ],
)
def test_channels_tags_and_fulfillment(orders: Panel, query: dict[str, str], fitting: list[str], chip: str) -> None:
    Order.rows().filter(name="#1").update(source_name="web", tags="gift, VIP", fulfillment_status="fulfilled")
    Order.rows().filter(name="#2").update(source_name="Web", tags="vips")
    Order.rows().filter(name="#3").update(source_name="pos", tags="50%, vip, ÜBER")

    response = orders.get(LISTS["orders"], **query)

    assert get_names(response) == fitting
    assert get_chips(response)[0] == chip


@pytest.mark.postgres
def test_channels_and_tags_have_their_indexes(shop: Shop) -> None:
    money = {"currency": "USD", "presentment_currency": "USD"}
    Order.objects.bulk_create(
        Order(shop=shop, number=n, name=f"#{n}", tags=f"t-{n}, all", source_name=f"from {n}", **money)
        for n in range(3_000)
    )
    collect_statistics()
    newest = Order.rows().order_by("-pk")
    parameters: Attrs = {"request": None, "model": Order, "model_admin": None}
    by_channel = ChannelFilter(params={}, **parameters).filter_rows(newest, ["From 7"])
    by_tag = TagFilter(params={}, **parameters).filter_rows(newest, ["T-7"])

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
def test_words_of_products(admin_client_with: PanelWith, query: dict[str, str], fitting: list[str]) -> None:
    panel = admin_client_with("products")
    hat = make_product("Hat", vendor="Milliner", tags="warm, red")
    make_product("Coat", vendor="Other", product_type="Coats", tags="Warm")
    make_product("Scarf")
    Product.objects.filter(pk=hat.pk).update(created_at=datetime(2019, 5, 1, tzinfo=UTC))

    response = panel.get(LISTS["products"], **query)

    assert sorted(row.title for row in response.context["cl"].result_list) == fitting
    assert len(get_chips(response)) == len(query)


def list_letters(panel: Panel, **query: str) -> str:
    """Return the first letters of the matching customers' email addresses."""
    response = panel.get(LISTS["customers"], **query)
    return "".join(sorted(row.email[0] for row in response.context["cl"].result_list))


def test_customers_by_the_day_they_became_known(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("customers")
    for name in "ab":
        make_customer(email=f"{name}@example.com")
    Customer.objects.filter(email="a@example.com").update(created_at=datetime(2019, 5, 1, tzinfo=UTC))

    assert (list_letters(panel, created_to="2019-12-31"), list_letters(panel, created_from="2020-01-01")) == ("a", "b")


def test_customers_by_one_of_their_tags(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("customers")
    for name, tags in (("a", "gift, VIP"), ("b", "vips"), ("c", "vip")):
        make_customer(email=f"{name}@example.com", tags=tags)

    found = {tag: list_letters(panel, tag=tag) for tag in ("vip", "gift", '" OR state:enabled')}
    assert found == {"vip": "ac", "gift": "a", '" OR state:enabled': ""}


@pytest.mark.parametrize(
    ("query", "fitting", "chip"),
    [
        ({"spent_from": "100"}, "bc", "Amount spent: from 100.00"),
        ({"spent_to": "99,99"}, "a", "Amount spent: to 99.99"),
        ({"orders_from": "1", "orders_to": "4"}, "b", "Number of orders: 1 – 4"),
        ({"orders_to": "0"}, "a", "Number of orders: to 0"),
        ({"orders_from": "1000"}, "c", "Number of orders: from 1,000"),
        ({"spent_from": "100", "orders_to": "4", "o": "4"}, "b", "Amount spent: from 100.00"),
    ],
)
def test_customers_by_what_they_bought(
    admin_client_with: PanelWith, query: dict[str, str], fitting: str, chip: str
) -> None:
    panel = admin_client_with("customers")
    for name, spent, orders in (("a", "0", 0), ("b", "100", 1), ("c", "100.01", 1000)):
        customer = make_customer(email=f"{name}@example.com")
        Customer.objects.filter(pk=customer.pk).update(total_spent=Decimal(spent), orders_count=orders)

    assert list_letters(panel, **query) == fitting
    assert get_chips(panel.get(LISTS["customers"], **query))[0] == chip


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"orders_from": "-1"}, "greater than or equal to 0"),
        ({"orders_to": "many"}, "Enter a whole number."),
        ({"orders_to": "9" * 30}, "less than or equal to 2147483647"),
    ],
)
def test_bad_numbers_are_reported(admin_client_with: PanelWith, query: dict[str, str], message: str) -> None:
    make_customer()

    response = admin_client_with("customers").get(LISTS["customers"], **query)

    assert list(response.context["cl"].result_list) == []
    assert message in response.content.decode()


@pytest.mark.parametrize(
    ("query", "fitting", "chip"),
    [
        ({"product": "FELT hat"}, ["1.00", "2.00"], "Product: FELT hat"),
        ({"product": "felt"}, [], "Product: felt"),
        ({"price_from": "2"}, ["2.00", "3.00"], "Price: from 2.00"),
        ({"price_to": "1,99"}, ["1.00"], "Price: to 1.99"),
        ({"price_from": "2", "product": "Felt hat", "o": "-4"}, ["2.00"], "Product: Felt hat"),
        ({"stock": "low"}, ["3.00"], "Inventory: Low stock"),
        ({"stock": "low", "product": "coat"}, ["3.00"], "Product: coat"),
        ({"stock": "nonsense"}, ["1.00", "2.00", "3.00"], "Inventory: nonsense"),
    ],
)
def test_variants_by_product_price_and_stock(
    shop: Shop, admin_client_with: PanelWith, query: dict[str, str], fitting: list[str], chip: str
) -> None:
    panel = admin_client_with("products")
    Shop.objects.filter(pk=shop.pk).update(low_stock_at=2)
    shop.refresh_from_db()
    for title, prices, available in (("Felt hat", ("1.00", "2.00"), 3), ("Coat", ("3.00",), 2)):
        for variant in make_product(title, prices=prices).variants.all():
            InventoryItem.objects.filter(pk=variant.inventory_item_id).update(tracked=True)
            set_stock(variant.inventory_item, get_first_location(shop), available)

    response = panel.get(LISTS["variants"], **query)

    assert sorted(f"{row.price:.2f}" for row in response.context["cl"].result_list) == fitting
    assert get_chips(response)[0] == chip


@pytest.mark.postgres
@pytest.mark.shop_with(fill=fill_lists)
@pytest.mark.parametrize(
    ("model", "filtered", "values", "index"),
    [
        (Customer, SpentFilter, (Decimal(9), None), "customers_rank_by_spending"),
        (Customer, OrdersFilter, (None, 9), "customers_rank_by_orders"),
        (Variant, PriceFilter, (Decimal(9), Decimal(10)), "catalog_variant_by_price"),
        (Variant, VariantProductFilter, ("Thing 00123",), "catalog_product_by_title"),
    ],
)
def test_ranges_have_their_indexes(model: type[ShopOwned], filtered: Any, values: Any, index: str) -> None:
    filter_field = filtered(request=None, params={}, model=model, model_admin=None)
    filtered_page = filter_field.filter_rows(
        model.rows().filter(**OF_SHOP.get(model, {})).order_by(*filter_field.index_order), values
    )

    assert index in filtered_page[:25].explain()


def test_low_stock_is_offered_where_the_shop_says_what_it_is(shop: Shop, admin_client_with: PanelWith) -> None:
    panel = admin_client_with("products")
    for threshold in (None, 2):
        Shop.objects.filter(pk=shop.pk).update(low_stock_at=threshold)
        page = panel.get(LISTS["variants"]).content
        assert (b'id="filter-stock"' in page) == (threshold is not None)
