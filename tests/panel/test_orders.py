import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop, User
from apps.core.types import Attrs
from apps.customers.domain.search_columns import rebuild_search_columns
from apps.customers.models import Customer
from apps.imports_exports.domain import exports
from apps.imports_exports.models import Export
from apps.orders.domain.edit_lines import LineEdit, OrderEdit, edit_lines
from apps.orders.models import Comment, Order
from tests.support.api_client import Response
from tests.support.factories.orders import get_available, make_order, make_variant
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, PAGE = "orders_order_changelist", "orders_order_change"


@pytest.fixture
def order_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "edit_orders", "customers")


@pytest.fixture
def order(shop: Shop) -> Order:
    anna: Attrs = {"first_name": "Anna", "last_name": "Lindqvist"}
    address = anna | {"address1": "Storgatan 1", "country": "Sweden"}
    values: Attrs = {"email": "anna@example.com", "note": "Ring <b>twice</b>", "financial_status": "authorized"}
    return make_order(shop, customer=anna, shipping_address=address, **values)


def reload_order(order: Order) -> Order:
    return Order.objects.get(pk=order.pk)


def send_form(panel: Panel, order: Order, name: str, **data: str) -> Response:
    """Submit a form on the order's page with the form key."""
    key = panel.form_key(PAGE, order.pk)
    return panel.http.post(panel.url(f"orders_order_{name}", order.pk), {"form_key": key, **data}, follow=True)


def test_addresses_name_the_country_in_the_readers_language(order_client: Panel, order: Order) -> None:
    billing_address = {"country": "United States", "country_code": "US", "province": "California"}
    Order.objects.filter(pk=order.pk).update(billing_address=billing_address)

    for language, countries in (("en", ["Sweden", "United States"]), ("de", ["Schweden", "Vereinigte Staaten"])):
        User.objects.filter(pk=order_client.user.pk).update(language=language)
        addresses = order_client.get(PAGE, order.pk).context["addresses"]
        assert [lines[-1] for _, lines in addresses] == countries
    assert addresses[1][1][0] == "Kalifornien"


def test_the_list_has_views_and_finds_orders(order_client: Panel, order: Order, shop: Shop) -> None:
    closed = make_order(shop)
    send_form(order_client, closed, "close")

    def names(**query: str) -> list[str]:
        response = order_client.get(LIST, **query)
        assert response.status_code == 200
        return [row.name for row in response.context["cl"].result_list]

    views = {"closed": ["#1002"], "all": ["#1002", "#1001"], "unpaid": ["#1001"], "unfulfilled": ["#1001"]}
    assert {view: names(view=view) for view in (*views, "cancelled")} == {**views, "cancelled": []}
    words = {"1002": ["#1002"], "#1002": ["#1002"], "lindq": ["#1001"], "anna@example.com": ["#1001"], "nobody": []}
    assert {word: names(q=word) for word in words} == words
    assert names() == ["#1001"]


def test_the_list_shows_days_and_hides_the_status_that_all_rows_share(order_client: Panel, shop: Shop) -> None:
    Order.objects.filter(pk=make_order(shop).pk).update(processed_at=datetime(2026, 11, 25, 12, 30, tzinfo=UTC))

    pages = [order_client.get("orders_order_changelist", **query) for query in ({}, {"view": "all"}, {"q": "#1001"})]

    assert ["field-state" in page.content.decode() for page in pages] == [False, True, True]
    cell = re.search(r'field-processed_at[^>]* title="([^"]*)">([^<]*)<', pages[0].content.decode())
    assert cell
    assert (cell[2], cell[1][:13]) == ("25 Nov 2026", "25 Nov 2026, ")


def test_the_list_shows_items_and_delivery_in_the_same_queries(
    order_client: Panel, shop: Shop, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    express = {"title": "Express", "price": Decimal("9.00")}
    make_order(shop, shipping=[express])
    order_client.get(LIST)
    with CaptureQueriesContext(connection) as statements:
        order_client.get(LIST)
    for quantity in (3, 4):
        make_order(shop, lines=[{"title": "Cup", "price": Decimal("5.00"), "quantity": quantity}], shipping=[express])

    with django_assert_num_queries(len(statements)):
        response = order_client.get(LIST)

    rows = response.context["cl"].result_list
    assert [(row.item_count, row.delivery_method) for row in rows[:2]] == [(4, "Express"), (3, "Express")]
    html = response.content.decode()
    assert re.findall(r"field-quantity[^>]*>(\d+)<", html) == ["4", "3", "2"]
    assert re.findall(r">Unfulfilled</span><br> <small[^>]*>(\w+)<", html) == ["Express"] * 3


def test_the_page_tells_the_story_and_escapes_it(order_client: Panel, order: Order) -> None:
    response = order_client.get(PAGE, order.pk)

    text = response.content.decode()
    parts = {"Mug", "20.00 USD", "Anna Lindqvist", "Storgatan 1", "Authorization", "Order placed", "Authorized"}
    assert {part for part in parts if part not in text} == set()
    assert "Ring &lt;b&gt;twice" in text
    assert "<b>twice" not in text


def test_an_order_without_anything_is_shown(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)
    order.line_items.all().delete()

    assert order_client.get(PAGE, order.pk).status_code == 200


def test_cancel_asks_and_gives_stock_back(order_client: Panel, shop: Shop) -> None:
    variant = make_variant(shop, stock=3)
    lines = [{"variant_id": variant.pk, "quantity": 2}]
    order = make_order(shop, lines=lines, inventory_behaviour="decrement_obeying_policy")
    response = order_client.get("orders_order_cancel", order.pk)

    send_form(order_client, order, "cancel", reason="inventory", restock="on")

    assert b"2 \xc3\x97 Mug - Blue" in response.content
    assert response.context["form"]["notify"].value() is bool(order.email)
    assert (reload_order(order).status, reload_order(order).cancel_reason) == ("cancelled", "inventory")
    assert get_available(variant) == 3


@pytest.mark.parametrize("kind", ["authorization", "sale"])
def test_canceling_mentions_authorizations_if_there_are_some(order_client: Panel, shop: Shop, kind: str) -> None:
    paid = [{"kind": kind, "status": "success", "amount": Decimal("10.00")}]
    page = order_client.get("orders_order_cancel", make_order(shop, transactions=paid).pk).content.decode()

    assert ("Open authorizations will be voided." in page) is (kind == "authorization")


def test_actions_close_open_and_pay(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)

    send_form(order_client, order, "paid")
    send_form(order_client, order, "close")
    closed = reload_order(order)
    send_form(order_client, order, "open")

    assert (closed.status, closed.financial_status) == ("closed", "paid")
    assert reload_order(order).status == "open"
    refused = send_form(order_client, order, "paid")
    assert "must be greater than 0" in refused.content.decode()


def test_comments_are_on_the_timeline(admin_client_with: PanelWith, order: Order) -> None:
    clerk = admin_client_with("orders")

    send_form(clerk, order, "comment", comment="Called <i>Anna</i>")
    empty, nul = (send_form(clerk, order, "comment", comment=comment) for comment in ("  ", "a\0b"))

    assert "Called &lt;i&gt;Anna" in clerk.get(PAGE, order.pk).content.decode()
    assert "Comment can&#x27;t be blank." in empty.content.decode()
    assert "Comment is invalid." in nul.content.decode()
    assert Comment.objects.get().actor == f"staff:{clerk.user.pk}"


@pytest.mark.parametrize(
    ("currency", "expected_output"), [("USD", "140.45 USD"), ("JPY", "140 JPY"), ("KWD", "140.450 KWD")]
)
def test_the_timeline_formats_amounts(order_client: Panel, shop: Shop, currency: str, expected_output: str) -> None:
    price = Decimal(expected_output.split(maxsplit=1)[0])
    order = make_order(shop, currency=currency, lines=[{"title": "Vase", "price": price, "quantity": 1}])

    send_form(order_client, order, "paid")

    texts = [moment.text for moment in order_client.get(PAGE, order.pk).context["timeline"]]
    assert f"Sale of {expected_output} (Success)" in texts


def test_the_orders_of_many_buyers_are_all_found_and_truly_counted(order_client: Panel, shop: Shop) -> None:
    people = [Customer(shop=shop, first_name="Ada" if number % 2 else "Grace") for number in range(600)]
    for person in people:
        rebuild_search_columns(person, [])
    customers = Customer.objects.bulk_create(people)
    Order.objects.bulk_create(
        Order(shop=shop, number=number, name=f"#{number}", customer=person, currency="USD")
        for number, person in enumerate(customers, 5000)
    )

    def count_orders(term: str) -> int:
        return int(order_client.get(LIST, q=term, view="all").context["cl"].result_count)

    counts = {"ada": 300, "first_name:grace OR ada": 600, "5007": 1, "bob": 0}
    assert {term: count_orders(term) for term in counts} == counts


@pytest.mark.parametrize("query", ["view=%00", "financial_status__exact=a%00b", "q=%00"])
def test_addresses_with_nul_are_refused(order_client: Panel, order: Order, query: str) -> None:
    assert order_client.http.get(f"{order_client.url(LIST)}?{query}").status_code == 400
    assert order_client.http.get(f"{order_client.url(LIST)}%00/change/").status_code == 400


def test_bulk_close_says_what_it_did(order_client: Panel, order: Order, shop: Shop) -> None:
    closed = make_order(shop)
    send_form(order_client, closed, "close")

    selected = {"action": "close_orders", "_selected_action": [order.pk, closed.pk]}
    response = order_client.http.post(order_client.url(LIST) + "?view=all", selected, follow=True)

    assert "1 order closed. 1 order was already closed or canceled." in response.content.decode()


def test_orders_are_exported(
    admin_client_with: PanelWith, order: Order, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_order(shop)
    form = {"action": "export_selected", "_selected_action": [other.pk]}
    clerk, exporter = admin_client_with("orders"), admin_client_with("orders", "export_orders")

    refused = clerk.http.post(clerk.url(LIST), form)
    request = exporter.http.post(exporter.url(LIST), form)
    monkeypatch.setattr(exports, "MAX_SELECTED", 0)
    too_many = exporter.http.post(exporter.url(LIST), form, follow=True)

    export = Export.objects.get()
    assert (export.filters, export.user_id) == ({"ids": [other.pk]}, exporter.user.pk)
    assert request["Location"] == exporter.url("imports_exports_export_change", export.pk)
    assert "/export/" not in refused.get("Location", "")
    assert "The list has more than 0 rows. Filter it first." in too_many.content.decode()


def test_current_totals_are_shown_wherever_totals_are(order_client: Panel, order: Order, shop: Shop) -> None:
    (line,) = order.line_items.all()
    edit_lines(order, OrderEdit({line.pk: LineEdit(1)}, ()), actor="system", at=timezone.now())
    other = make_order(shop, customer={"id": order.customer_id})

    response, customer = order_client.get(LIST), order_client.get("customers_customer_change", order.customer_id)
    matching_response = order_client.get("search", s=order.name, extended="1")
    beside = order_client.get(PAGE, other.pk)

    assert b'20.00 USD<br> <small class="bo-subtle">now 10.00 USD</small>' in response.content
    assert b"20.00 USD, now 10.00 USD" in customer.content
    assert [row["total"] for row in beside.context["buyer"]["others"]] == ["20.00 USD, now 10.00 USD"]
    assert "20.00 USD, now 10.00 USD" in matching_response.context["results"][0].description
    assert [row["total"] for row in order_client.get(PAGE, order.pk).context["buyer"]["others"]] == ["20.00 USD"]


def test_delete_goes_through_the_service(order_client: Panel, order: Order) -> None:
    order_client.post("orders_order_delete", order.pk, post="yes")

    assert not Order.objects.exists()
    assert Event.objects.filter(topic="orders/delete").exists()


def test_the_page_links_to_the_customer_and_products(admin_client_with: PanelWith, order: Order, shop: Shop) -> None:
    variant = make_variant(shop)
    lines = [{"variant_id": variant.pk, "quantity": 1}]
    later = make_order(shop, customer={"id": order.customer_id}, lines=lines, financial_status="paid")
    seller, clerk = admin_client_with("orders", "customers", "products"), admin_client_with("orders")

    response, html = seller.get(PAGE, later.pk), clerk.get(PAGE, later.pk).content.decode()

    text = response.content.decode()
    assert (response.context["buyer"]["count"], response.context["buyer"]["spent"]) == (2, "10.00 USD")
    assert [row["row"].pk for row in response.context["buyer"]["others"]] == [order.pk]
    for page, pk in ((PAGE, order.pk), ("catalog_product_change", variant.product_id)):
        assert seller.url(page, pk) in text
        assert seller.url(page, pk) not in html
    assert seller.url(PAGE, later.pk) in seller.get("customers_customer_change", order.customer_id).content.decode()
