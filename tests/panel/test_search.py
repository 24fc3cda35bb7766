from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.catalog.admin.search import search_products as of_products
from apps.catalog.models import Product, ProductTag, Variant
from apps.core.admin.lists import search
from apps.core.admin.lists.search import search_rows
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.inventory.models import InventoryItem
from apps.metafields.domain.write import set_metafields
from apps.metafields.models import Metafield
from apps.orders.admin.search import MatchingCustomers
from apps.orders.admin.search import find_orders as of_orders
from apps.orders.models import LineItem, Order, Transaction
from tests.support.databases.statistics import collect_statistics
from tests.support.factories.catalog import make_image, make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.inventory import get_first_location, set_stock
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.long_lists import ROWS, create_products
from tests.support.subtests import Subtests

pytestmark = pytest.mark.usefixtures("in_shop")


@pytest.fixture
def search_client(admin_client_with: PanelWith, shop: Shop) -> Panel:
    """Create five products and return a client with access to products."""
    for title in ("Blue mug", "Red mug", "Mug of oak", "Oak board", "Ma"):
        make_product(title, status="draft" if title == "Red mug" else "active")
    return admin_client_with("products")


def list_names(panel: Panel, **query: str) -> list[str]:
    return [product.title for product in panel.get("catalog_product_changelist", **query).context["cl"].result_list]


def test_words_are_found_in_any_column_newest_first_and_within_the_filter(search_client: Panel) -> None:
    found = {
        "mug": ["Mug of oak", "Red mug", "Blue mug"],
        "oak mug": ["Mug of oak"],
        "mug-of": ["Mug of oak"],  # part of the handle
        '"oak board"': ["Oak board"],
        "spoon": [],
        # A short search text only matches the beginning of a field.
        "ma": ["Ma"],
        "oa": ["Oak board"],
        # Next to a longer word, a short word matches the beginning of any word.
        "mug oa": ["Mug of oak"],
        "board o": ["Oak board"],
        "mug ed": [],
        "mug . (": [],
    }
    assert {text: list_names(search_client, q=text) for text in found} == found
    assert list_names(search_client, q="mug", status__exact="draft") == ["Red mug"]
    assert list_names(search_client, q="mug", o="2") == ["Blue mug", "Mug of oak", "Red mug"]


def test_each_column_gives_so_many_rows_and_the_newest(search_client: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_COUNTED_ROWS", 2)

    assert list_names(search_client, q="mug") == ["Mug of oak", "Red mug"]


def fill_products(shop: Shop) -> None:
    values: Attrs = {"shop": shop, "created_at": timezone.now(), "group": "00000000-0000-0000-0000-000000000000"}
    values |= {"topic": "orders/create", "subject_type": "orders.order"}
    with shop_scope(shop):
        create_products(shop)
        Event.objects.bulk_create(
            Event(subject_id=n, subject_label=f"#{n + 1000}", actor=f"staff:{n % 200 if n % 2 else 7}", **values)
            for n in range(ROWS)
        )
        collect_statistics()


@pytest.mark.postgres
@pytest.mark.shop_with(fill=fill_products)
def test_each_column_is_asked_by_its_own_index(admin_client_with: PanelWith) -> None:
    expected = {
        "events_event_label_parts": (Event, ("subject_label__icontains",), "#5678"),
        "catalog_product_title_parts": (Product, ("title_key__contains",), "05678"),
        "catalog_product_handle_beginnings": (Product, ("handle__istartswith",), "thing-5678"),
        "inventory_item_sku_beginnings": (Variant, ("inventory_item__sku__istartswith",), "s05678"),
        "catalog_variant_title_beginnings": (Variant, ("title_key__startswith",), "form s05678"),
    }

    for index, (model, lookups, text) in expected.items():
        rows = search_rows(model.objects.all(), lookups, f'"{text}"', limit=100)
        query_plan = rows.explain()
        assert rows.count() == 1, index
        assert index in query_plan, query_plan
    short = search_rows(Product.objects.all(), ("title_key__contains",), "th 05678", limit=100)
    assert short.count() == 1
    assert "catalog_product_title_parts" in short.explain()
    with CaptureQueriesContext(connection) as queries:
        admin_client_with("staff_audit_log_view").get("events_event_changelist", who="staff:7")
    page = next(
        query["sql"] for query in queries if 'FROM "events_event"' in query["sql"] and "LIMIT 500" in query["sql"]
    )
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {page}")
        query_plan = str(cursor.fetchall())
    assert "events_event_acts_by_actor" in query_plan, query_plan


def explain_search(panel: Panel, term: str) -> list[tuple[str, str]]:
    results = panel.get("search", s=term, extended="1").context["results"]
    return [(result.title, result.description) for result in results]


def test_an_order_is_found_with_its_buyer_total_and_state(shop: Shop, admin_client_with: PanelWith) -> None:
    line = {"title": "Mug", "price": Decimal("12.50"), "quantity": 2}
    order = make_order(shop, lines=[line], customer={"first_name": "Ada", "last_name": "Lovelace"})

    response = explain_search(admin_client_with("orders"), order.name)

    assert response == [(order.name, "Order · Ada Lovelace · 25.00 USD · Open, Payment pending, Unfulfilled")]


def test_variants_and_their_stock_are_found_by_the_names_of_their_products(search_client: Panel) -> None:
    make_product("Quilted coat", prices=("1.00", "2.00"))
    scarf = Variant.objects.get(product=make_product("Quilted scarf"))
    InventoryItem.objects.filter(pk=scarf.inventory_item_id).update(sku="QS-1")
    set_stock(scarf.inventory_item, get_first_location(search_client.shop), 3)

    query_plan = explain_search(search_client, "quilted")

    items = {name for name, kind in query_plan if kind.startswith("Inventory item")}
    assert items == {"Quilted scarf", "Quilted coat · 1", "Quilted coat · 2"}
    assert ("Quilted scarf", "Inventory item · QS-1") in query_plan
    assert ("Quilted coat · 1", "Inventory item") in query_plan
    assert [name.partition(": ")[0] for name, kind in query_plan if kind == "Inventory change"] == ["Quilted scarf"]
    assert ("Quilted scarf", "Variant · QS-1") in explain_search(search_client, "qs-1")


def test_a_product_is_found_with_its_picture(search_client: Panel) -> None:
    image = make_image(Product.objects.get(title="Oak board"))

    results = search_client.get("search", s="oak board", extended="1").context["results"]
    (board,) = (result for result in results if result.description.startswith("Product "))

    assert image.key in board.image
    assert board.description == "Product · Acme · Active"


def list_order_names(panel: Panel, text: str) -> list[str]:
    return [order.name for order in panel.get("orders_order_changelist", q=text).context["cl"].result_list]


def test_products_are_found_by_sku_barcode_vendor_tag_and_metafield(search_client: Panel) -> None:
    now = timezone.now()
    lamp = make_product("Lamp", vendor="Northern Light", tags="indoor, sale")
    variant = Variant.objects.get(product=lamp)
    Variant.objects.filter(pk=variant.pk).update(barcode="4006381333931")
    InventoryItem.objects.filter(pk=variant.inventory_item_id).update(sku="LMP-77")
    care = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "Dust only"}
    set_metafields(lamp, [care], actor="system", at=now)

    with Subtests() as checks:
        for text in ("lmp-7", "4006381333931", "northern light", "NORTHERN L", "nor", "Indoor", "dust only"):
            with checks(text):
                assert list_names(search_client, q=text) == ["Lamp"]
        for text in ("333931", "Light", "no", "indoor, sale", "dust"):
            with checks(text):
                assert list_names(search_client, q=text) == []


def test_orders_are_found_by_sku_city_tag_payment_and_partial_name(shop: Shop, admin_client_with: PanelWith) -> None:
    panel = admin_client_with("orders")
    line = {"title": "Mug", "sku": "MUG-9", "price": Decimal("12.50"), "quantity": 1}
    paid_payment = {"kind": "authorization", "amount": Decimal("12.50"), "authorization": "ch_77x", "gateway": "manual"}
    customer = {"first_name": "Katharina", "last_name": "Lindqvist"}
    values: Attrs = {"tags": "gift wrap, vip", "shipping_address": {"city": "Malmö", "country_code": "SE"}}
    order = make_order(shop, lines=[line], customer=customer, transactions=[paid_payment], **values)
    other = make_order(shop, lines=[{**line, "sku": "MUG-91"}], tags="wholesale")
    # An order is also found by the end of its number, which could be the payment's id.
    Order.objects.filter(pk=other.pk).update(name="OTHER")
    payment = Transaction.objects.get(order=order)

    with Subtests() as checks:
        for text in ("mug-9", "Malmö", "gift", "ch_77x", str(payment.pk), "thari", "dqvis", order.name):
            with checks(text):
                assert list_order_names(panel, text) == [order.name]
        for text in ("Mal", "ch_77", "ari lind"):
            with checks(text):
                assert list_order_names(panel, text) == []


def test_frequent_names_find_newest_orders(
    shop: Shop, admin_client_with: PanelWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = admin_client_with("orders")
    orders = [make_order(shop, customer={"first_name": "Grace", "last_name": f"Hopper{number}"}) for number in range(4)]
    newest = [order.name for order in reversed(orders)]
    assert list_order_names(panel, "grace hopper") == newest
    assert list_order_names(panel, "rac") == newest
    monkeypatch.setattr("apps.orders.admin.search.COMMON_TERM_SCAN", 3)
    for enough, output in ((3, newest[:3]), (4, newest)):
        monkeypatch.setattr("apps.orders.admin.search.COMMON_TERM_MATCHES", enough)
        for text in ("grace hopper", "grace", "rac"):
            listed_of = panel.get("orders_order_changelist", q=text).context["cl"]
            assert [order.name for order in listed_of.result_list] == output, text
            assert ("the 3 customers who ordered most recently" in listed_of.search_note) == (enough == 3), text
        # A search for a short word also shows the note about its length.
        short = panel.get("orders_order_changelist", q="gr").context["cl"].search_note
        assert "Enter at least three letters to search within names and tags" in short
        assert ("the 3 customers who ordered most recently" in short) == (enough == 3)
        # All orders of a customer with a rare name are found, however old they are.
        assert list_order_names(panel, "hopper0") == [orders[0].name]


def test_bulk_edit_selects_shown_rows(admin_client_with: PanelWith, monkeypatch: pytest.MonkeyPatch) -> None:
    panel, list_name = admin_client_with("customers"), "customers_customer_changelist"
    customers = [make_customer(first_name="Grace", last_name=f"Hopper{number}") for number in range(4)]
    for module in ("customers", "changelist_search"):
        monkeypatch.setattr(f"apps.customers.admin.{module}.MAX_SCAN", 3)
    monkeypatch.setattr("apps.customers.admin.changelist_search.COMMON_TERM_MATCHES", 3)

    changelist = panel.get(list_name, q="grace").context["cl"]
    by_name = panel.get(list_name, q="grace", o="1").context["cl"]
    few_changelist = panel.get(list_name, q="hopper0").context["cl"]

    assert [*changelist.result_list] == customers[:0:-1]
    assert [*by_name.result_list] == customers[:3]
    assert "among the first 3 customers in the list" in changelist.search_note
    assert ([*few_changelist.result_list], few_changelist.search_note) == (customers[:1], "")
    selected = {"action": "edit_selected", "select_across": "1", "_selected_action": str(customers[3].pk)}
    refused = panel.http.post(f"{panel.url(list_name)}?q=grace", selected, follow=True)
    assert "shows only some of the matching rows" in refused.content.decode()
    response = panel.http.post(f"{panel.url(list_name)}?q=grace", selected | {"select_across": "0"})
    assert "bulkedit" in response["Location"]


def test_frequent_names_find_some_customers(admin_client_with: PanelWith, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = admin_client_with("customers")
    exempt = [make_customer(first_name="Grace", tax_exempt=True) for _ in range(4)]
    make_customer(first_name="Ada", tax_exempt=True)
    for _ in range(3):
        make_customer(first_name="Grace")
    for module in ("customers", "changelist_search"):
        monkeypatch.setattr(f"apps.customers.admin.{module}.MAX_SCAN", 3)
    monkeypatch.setattr("apps.customers.admin.changelist_search.COMMON_TERM_MATCHES", 2)

    def list_orders(**query: str) -> tuple[set[int], str]:
        changelist = panel.get("customers_customer_changelist", q="grace", **query).context["cl"]
        return {row.pk for row in changelist.result_list}, changelist.search_note

    output, note = list_orders(tax_exempt__exact="1")
    assert len(output) in {2, 3}
    assert output <= {customer.pk for customer in exempt}
    assert "among the first 3 customers in the list" in note
    # The search finds all matches if the filter matches fewer rows than the search limit.
    monkeypatch.setattr("apps.customers.admin.changelist_search.MAX_SCAN", 6)
    monkeypatch.setattr("apps.customers.admin.changelist_search.COMMON_TERM_SCAN", 3)
    monkeypatch.setattr("apps.customers.admin.changelist_search.COMMON_TERM_MATCHES", 3)
    assert list_orders(tax_exempt__exact="1") == ({customer.pk for customer in exempt}, "")


def test_a_search_names_its_fields_and_its_limits(search_client: Panel, admin_client_with: PanelWith) -> None:
    def get_message(text: str, name: str = "catalog_product") -> str:
        return str(admin_client_with("products", "orders").get(f"{name}_changelist", q=text).context["cl"].search_note)

    assert "metafield" in search_client.get("catalog_product_changelist").content.decode()
    assert get_message("mug") == ""
    assert get_message("oa").startswith("“oa” only matches the beginning of a field")
    assert get_message("b oa").startswith("“oa” only matches the beginning of a field")
    assert get_message("oak bo") == ""
    assert get_message("a " * 11) == "Only the first 10 words of your search were used."
    text = "Enter at least three letters to search within names and tags"
    assert text in get_message("ka", "orders_order")


def fill_all(shop: Shop) -> None:
    """Create products and orders with rows in all searchable tables."""
    fill_products(shop)
    count = range(3_000)
    with shop_scope(shop):
        products = list(Product.objects.order_by("pk").values_list("pk", flat=True)[:3_000])
        ProductTag.objects.bulk_create(
            ProductTag(shop=shop, product_id=pk, name=f"Tag {pk}", key=f"tag {pk}") for pk in products
        )
        names: Attrs = {"shop": shop, "owner_resource": "product", "namespace": "a", "key": "b", "type": "x"}
        Metafield.objects.bulk_create(Metafield(owner_id=pk, value=f"V{pk}", **names) for pk in products)
        money = {"currency": "USD", "presentment_currency": "USD"}
        orders = Order.objects.bulk_create(
            Order(shop=shop, number=n, name=f"#{n}", tags=f"tag-{n}", shipping_address={"city": f"City {n}"}, **money)
            for n in count
        )
        units = {"quantity": 1, "current_quantity": 1, "fulfillable_quantity": 1}
        LineItem.objects.bulk_create(
            LineItem(shop=shop, order=order, title="Mug", name="Mug", sku=f"SKU-{order.number}", **units)
            for order in orders
        )
        sale: Attrs = {"shop": shop, "sequence": 1, "kind": "sale", "currency": "USD"}
        Transaction.objects.bulk_create(
            Transaction(order=order, authorization=f"ch_{order.number}", **sale) for order in orders
        )
        collect_statistics()


def test_frequent_tags_find_newest_orders(
    shop: Shop, admin_client_with: PanelWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.orders.admin.search.MAX_FOLLOWED", 1)
    monkeypatch.setattr("apps.orders.admin.search.NEWEST_ORDERS", 2)
    names = [make_order(shop, tags="vip").name for _ in range(4)]

    panel = admin_client_with("orders")
    order_names = list_order_names(panel, "vip")

    assert order_names[:2] == [names[3], names[2]]
    assert len(order_names) <= 3
    # Search terms of two letters are not compared with tags, so the message is not displayed.
    for term, many in (("vip", True), ("vipx", False), ("vi", False)):
        page = panel.get("orders_order_changelist", q=term).content.decode()
        assert ("More than 1 orders or customers match" in page) == many


@pytest.mark.postgres
@pytest.mark.shop_with(fill=fill_all)
def test_each_further_part_of_a_search_has_its_index() -> None:
    products = of_products(Product.rows().order_by(), "Thing 7", most=10)
    orders = of_orders(Order.rows().order_by(), "Thing 7", MatchingCustomers([]), limit=10)
    text = " ".join(rows.explain() for parts in (products, orders) for rows in parts)

    for index in (
        "catalog_product_vendor_beginnings",
        "catalog_tag_by_key",
        "catalog_variant_by_barcode",
        "inventory_item_sku_beginnings",
        "metafields_metafield_by_value",
        "orders_lineitem_by_sku",
        "orders_transaction_by_code",
        "orders_order_by_city",
        "orders_order_tag_parts",
    ):
        assert index in text, (index, text)
