"""Orders found by the end of their number, and similar search texts for searches without matches."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from apps.catalog.admin.search import suggest_titles
from apps.catalog.models import Product
from apps.core.search_query.similarity import MAX_WORD_LENGTH
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.admin.similar_names import suggest_names
from apps.customers.domain.search_columns import rebuild_search_columns
from apps.customers.models import Customer
from apps.orders.admin.number_search import find_by_number
from apps.orders.models import Order, OrderCounter
from apps.refunds.models import Refund
from tests.support import services
from tests.support.databases.statistics import collect_statistics
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.fulfillment import make_fulfillment_order
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.subtests import Subtests

pytestmark = pytest.mark.usefixtures("in_shop")

ROWS = 6_000


def list_order_names(panel: Panel, text: str) -> list[str]:
    return [order.name for order in panel.get("orders_order_changelist", q=text).context["cl"].result_list]


def list_suggestions(panel: Panel, text: str, model: str = "customers_customer") -> list[str]:
    changelist = panel.get(f"{model}_changelist", q=text).context["cl"]
    assert not [*changelist.result_list]
    return [suggestion.text for suggestion in changelist.suggestions]


def make_named_order(shop: Shop, name: str) -> Order:
    order = make_order(shop)
    Order.objects.filter(pk=order.pk).update(name=name)
    order.name = name
    return order


def test_orders_are_found_by_the_end_of_their_number(shop: Shop, admin_client_with: PanelWith) -> None:
    make_order(shop)
    OrderCounter.objects.update(last_number=2_306)
    newer, _ = make_order(shop), OrderCounter.objects.update(last_number=306)
    older = make_order(shop)
    OrderCounter.objects.update(last_number=2_400)
    assert [newer.name, older.name] == ["#3307", "#1307"]
    prefixed = make_named_order(shop, "EN2307-DE")
    unlike = [make_named_order(shop, name) for name in ("#13070", "EN3070-DE", "EN307-7")]
    panel = admin_client_with("orders")

    found = {
        "307": {older, newer, prefixed},
        "#307": {older, newer, prefixed},
        "1307": {older},
        "#1307": {older},
        "07": {older, newer},
        "2307": {prefixed},
        "en2307": {prefixed},
        "EN2307-DE": {prefixed},
        "307-de": {prefixed},
        "070-DE": {unlike[1]},
        "9307": set(),
    }
    with Subtests() as checks:
        for text, orders in found.items():
            with checks(text):
                assert set(list_order_names(panel, text)) == {order.name for order in orders}
    results = panel.get("search", s="307", extended="1").context["results"]
    assert {result.title for result in results} == {"#1307", "#3307", "EN2307-DE"}


def test_the_order_with_exactly_the_number_comes_alone(shop: Shop, admin_client_with: PanelWith) -> None:
    order = make_order(shop)
    OrderCounter.objects.update(last_number=int(f"1{order.name[1:]}") - 1_001)
    longer = make_order(shop)
    assert longer.name == f"#1{order.name[1:]}"
    panel = admin_client_with("orders")

    assert list_order_names(panel, order.name[1:]) == [order.name]
    assert set(list_order_names(panel, order.name[2:])) == {order.name, longer.name}


def test_fulfillment_orders_and_refunds_are_found_by_the_end_of_the_number(shop: Shop, owner_client: Panel) -> None:
    OrderCounter.objects.update_or_create(shop=shop, defaults={"last_number": 306})
    rows = [make_fulfillment_order() for _ in range(2)]
    refund = Refund.objects.create(shop=shop, order=rows[0].order)

    found = owner_client.get("fulfillment_fulfillmentorder_changelist", q="307").context["cl"].result_list
    assert [row.order.name for row in found] == ["#1307"]
    for text, refunds in (("307", [refund]), ("#307", [refund]), ("308", [])):
        assert [*owner_client.get("refunds_refund_changelist", q=text).context["cl"].result_list] == refunds


def test_similar_customer_names_are_suggested(shop: Shop, admin_client_with: PanelWith) -> None:
    for first_name, last_name in (
        ("João", "Gonçalves"),
        ("Ana", "Gonzales"),
        ("Rina", "Mukherjee"),
        ("Katharina", "Lindqvist"),
        ("Ada", "Smith"),
    ):
        make_customer(first_name=first_name, last_name=last_name)
    panel = admin_client_with("customers")

    expected = {
        "Gonzalves": ["Gonzales", "Gonçalves"],
        "Mukerjee": ["Mukherjee"],
        "Catharina": ["Katharina"],
        "atharina": ["Katharina"],
        "Smyth": ["Smith"],
        "katharina lindkvist": ["Katharina Lindqvist"],
        # Words of different customers are not combined.
        "ada mukerjee": [],
        "ina": [],
        "Xyzzy": [],
        "tag:Mukerjee": [],
        "mukerjee@example.com": [],
        "Mukerjee" * MAX_WORD_LENGTH: [],
    }
    with Subtests() as checks:
        for text, suggestions in expected.items():
            with checks(text):
                assert list_suggestions(panel, text) == suggestions


def test_a_suggestion_links_to_its_search_and_matches_have_none(shop: Shop, admin_client_with: PanelWith) -> None:
    make_customer(first_name="João", last_name="Gonçalves")
    panel = admin_client_with("customers")

    page = panel.get("customers_customer_changelist", q="Gonzalves", state="enabled").content.decode()
    assert "Did you mean:" in page
    link = f"{panel.url('customers_customer_changelist')}?q=Gon%C3%A7alves"
    assert f'<a href="{link}">Gonçalves</a>' in page
    (customer,) = panel.http.get(link).context["cl"].result_list
    assert customer.last_name == "Gonçalves"
    for text in ("Gonçalves", "goncal"):
        assert "Did you mean" not in panel.get("customers_customer_changelist", q=text).content.decode()


def test_orders_suggest_customers_who_ordered(shop: Shop, admin_client_with: PanelWith) -> None:
    make_customer(first_name="Rina", last_name="Mukherjee")
    order = make_order(shop, customer={"first_name": "Ana", "last_name": "Gonzales"})
    panel = admin_client_with("orders")

    assert list_suggestions(panel, "Mukerjee", "orders_order") == []
    assert list_suggestions(panel, "Gonzalez", "orders_order") == ["Gonzales"]
    assert list_order_names(panel, "Gonzales") == [order.name]


def test_similar_product_titles_are_suggested(admin_client_with: PanelWith) -> None:
    for title in ("Blue ceramic bowl", "Red ceramic bowl", "Schlüsselbund", "Oak board"):
        make_product(title)
    panel = admin_client_with("products")

    expected = {
        "Keramic": ["ceramic"],
        "blue ceramik boul": ["Blue ceramic bowl"],
        "Schlüselbund": ["Schlüsselbund"],
        "oak bord": ["Oak board"],
        "green": [],
    }
    with Subtests() as checks:
        for text, suggestions in expected.items():
            with checks(text):
                assert list_suggestions(panel, text, "catalog_product") == suggestions


def test_other_shops_suggest_nothing(shop: Shop, other_shop: Shop, admin_client_with: PanelWith) -> None:
    with shop_scope(other_shop):
        make_customer(first_name="Rina", last_name="Mukherjee")
        make_product("Ceramic bowl")
    panel = admin_client_with("customers", "products")

    assert list_suggestions(panel, "Mukerjee") == []
    assert list_suggestions(panel, "Keramic", "catalog_product") == []
    assert panel.get("search", s="Mukerjee", extended="1").context["suggestions"] == []


def test_the_palette_suggests_only_what_the_user_may_see(admin_client_with: PanelWith) -> None:
    make_customer(first_name="Rina", last_name="Mukherjee")
    panel = admin_client_with("customers")

    response = panel.get("search", s="Mukerjee", extended="1")
    assert not response.context["results"]
    (suggestion,) = response.context["suggestions"]
    assert (suggestion.title, suggestion.description) == ("Mukherjee", "Customers")
    assert suggestion.link == f"{panel.url('customers_customer_changelist')}?q=Mukherjee"
    assert "No results. Did you mean:" in response.content.decode()
    assert panel.get("search", s="Mukherjee", extended="1").context["suggestions"] == []
    assert admin_client_with("products").get("search", s="Mukerjee", extended="1").context["suggestions"] == []


def add_crowd(shop: Shop) -> None:
    with shop_scope(shop):
        rows = [Customer(shop=shop, first_name=f"Ana{n:05d}", last_name=f"Lindgren{n % 9}") for n in range(ROWS)]
        rows.append(Customer(shop=shop, first_name="Rina", last_name="Mukherjee"))
        for row in rows:
            rebuild_search_columns(row, [])
        Customer.objects.bulk_create(rows, batch_size=2_000)
        titles = [*(f"Wooden board {n}" for n in range(ROWS)), "Ceramic bowl"]
        Product.objects.bulk_create(
            [
                Product(shop=shop, title=title, title_key=title.lower(), handle=f"product-{n}")
                for n, title in enumerate(titles)
            ],
            batch_size=2_000,
        )
        money = {"currency": "USD", "presentment_currency": "USD"}
        Order.objects.bulk_create(
            [
                Order(shop=shop, number=n, name=f"EN{n}-DE" if n % 2 else f"#{n + 1000}", **money)
                for n in range(1, ROWS)
            ],
            batch_size=1_000,
        )
        OrderCounter.objects.create(shop=shop, last_number=ROWS)
        collect_statistics()


def explain_statements(captured: CaptureQueriesContext) -> str:
    plans = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if query["sql"].startswith("SELECT") and "set_config" not in query["sql"]:
                command = "EXPLAIN" if services.is_postgres() else "EXPLAIN QUERY PLAN"
                cursor.execute(f"{command} {query['sql'].replace('%', '%%')}", [])
                plans.append("\n".join(str(row) for row in cursor.fetchall()))
    return "\n".join(plans)


@pytest.mark.shop_with(fill=add_crowd)
def test_searches_without_matches_read_indexes() -> None:
    if services.is_postgres():
        indexes = ("customers_words_search", "catalog_product_title_parts", "orders_order_name_parts")
    else:
        indexes = ("customers_search VIRTUAL TABLE", "catalog_product_by_", "orders_order_by_name")
    searches: tuple[Callable[[], list[list[str]]], ...] = (
        lambda: [suggest_names("Mukerjee"), suggest_names("Catharina")],
        lambda: [suggest_titles("Keramic")],
        lambda: [[order.name for part in find_by_number(Order.rows(), "4711", 100) for order in part]],
    )
    expected = ([["Mukherjee"], []], [["Ceramic"]], [["EN4711-DE"]])
    for index, search, found in zip(indexes, searches, expected, strict=True):
        with CaptureQueriesContext(connection) as captured:
            assert search() == found
        plan = explain_statements(captured)
        assert index in plan, plan
        assert "Seq Scan" not in plan.replace("Seq Scan on orders_ordercounter", ""), plan
        assert "SCAN customers_customer" not in plan.replace("SCAN customers_customer USING", ""), plan


@pytest.mark.parametrize("count", [1, 30])
def test_suggestions_cost_the_same_queries_however_many_rows(
    count: int, shop: Shop, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(count):
        make_customer(first_name="Rina", last_name=f"Mukherjee{number}")
        make_product(f"Ceramic bowl {number}")

    # On PostgreSQL: the savepoint, the threshold, the names, and the release of the savepoint.
    with django_assert_num_queries(4 if services.is_postgres() else 2):
        suggest_names("Mukerjee")
    with django_assert_num_queries(4 if services.is_postgres() else 1):
        suggest_titles("Keramic")
    with django_assert_num_queries(0):
        suggest_names("rina@example.com")
