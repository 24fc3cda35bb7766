from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.catalog.models import Product
from apps.core.events.models import Event
from apps.core.rest.reading import render_cache
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.orders.models import LineItem, Order, OrderCounter, Transaction
from tests.support.api_client import ApiClient, ClientWith, Response, get_errors
from tests.support.factories.orders import get_available, make_order, make_variant
from tests.support.types import Json, JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

OBEY = "decrement_obeying_policy"
BOOTS = {
    "title": "Big Brown Bear Boots",
    "price": 74.99,
    "grams": "1300",
    "quantity": 3,
    "tax_lines": [{"price": 13.5, "rate": 0.06, "title": "State tax"}],
}
NAMES = {"first_name": "Ada", "last_name": "Lovelace"}
STREET = {"address1": "1 Main Street", "phone": "555-0100", "zip": "K1A 0B1"}
ADDRESS = {**NAMES, **STREET, "city": "Ottawa", "province": "Ontario", "country": "Canada"}


def post_order(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("orders.json", {"order": {"line_items": [BOOTS], **fields}})
    assert response.status_code == 201, response.content
    return response.json()["order"]


def test_national_phones_are_read_in_the_country_of_the_shipping_address(api: ApiClient) -> None:
    address = {**NAMES, "city": "Berlin", "country": "DE"}
    order = post_order(api, phone="030 123456", shipping_address=address, customer={**NAMES, "phone": "030 123457"})
    again = post_order(api, shipping_address=address, customer={**NAMES, "phone": "(030) 123457"})
    changed = api.put(f"orders/{order['id']}.json", {"order": {"phone": "040 765432"}}).json()["order"]

    assert (order["phone"], order["customer"]["phone"]) == ("+4930123456", "+4930123457")
    assert again["customer"]["id"] == order["customer"]["id"]
    assert changed["phone"] == "+4940765432"


def get_order_errors(api: ApiClient, **fields: object) -> JsonObject:
    return get_errors(api.post("orders.json", {"order": {"line_items": [BOOTS], **fields}}))


@pytest.fixture
def full_order(api: ApiClient, shop: Shop) -> JsonObject:
    variant = make_variant(shop, stock=9)
    return post_order(
        api,
        line_items=[
            {**BOOTS, "properties": [{"name": "Engraving", "value": "For Ada"}], "total_discount": "4.00"},
            {"variant_id": variant.pk, "quantity": 1},
        ],
        email="ada@example.com",
        phone="+16135550100",
        billing_address=ADDRESS,
        shipping_address=ADDRESS,
        shipping_lines=[{"title": "Post", "price": "9.00", "code": "STD", "source": "shop"}],
        discount_codes=[{"code": "TEN", "amount": "10", "type": "percentage"}],
        note="Ring twice",
        note_attributes=[{"name": "Gift", "value": "yes"}],
        tags="vip, early",
        inventory_behaviour=OBEY,
        transactions=[{"kind": "sale", "status": "success", "amount": "50.00", "gateway": "manual"}],
        browser_ip="192.0.2.7",
        customer={**NAMES, "email": "ada@example.com"},
        buyer_accepts_marketing=True,
    )


def test_wire_of_every_route(api: ApiClient, full_order: JsonObject) -> None:
    path = f"orders/{full_order['id']}"

    for route, body in {
        "POST /orders.json": {"order": full_order},
        "GET /orders.json": api.get("orders.json").json(),
        "GET /orders/count.json": api.get("orders/count.json").json(),
        "GET /orders/{id}.json": api.get(f"{path}.json").json(),
        "PUT /orders/{id}.json": api.put(f"{path}.json", {"order": {"note": "x"}}).json(),
        **{
            f"POST /orders/{{id}}/{end}.json": api.post(f"{path}/{end}.json").json()
            for end in ("close", "open", "cancel")
        },
    }.items():
        assert_fits("order", route, body)
    # Use the wire table of the order route, because in the table of the customer route no field can be null.
    of_customer = api.get(f"customers/{full_order['customer']['id']}/orders.json", status="any").json()
    assert_fits("order", "GET /orders.json", of_customer)
    assert api.delete(f"{path}.json").json() == {}


def test_create_prices_an_order_and_takes_its_total_as_proof(api: ApiClient) -> None:
    sale = {"kind": "sale", "status": "success", "amount": 238.47}
    order = post_order(api, currency="EUR", total_tax=13.5, total_price="238.47", transactions=[sale])

    assert (order["name"], order["number"], order["order_number"]) == ("#1001", 1, 1001)
    assert order["total_line_items_price"] == order["subtotal_price"] == "224.97"
    assert (order["total_tax"], order["total_price"], order["total_outstanding"]) == ("13.50", "238.47", "0.00")
    assert (order["financial_status"], order["total_weight"]) == ("paid", 3900)
    assert order["total_price_set"]["presentment_money"] == {"amount": "238.47", "currency_code": "EUR"}
    assert order["line_items"][0]["tax_lines"] == [
        {
            "price": "13.50",
            "rate": 0.06,
            "title": "State tax",
            "price_set": {
                "shop_money": {"amount": "13.50", "currency_code": "EUR"},
                "presentment_money": {"amount": "13.50", "currency_code": "EUR"},
            },
            "channel_liable": None,
        }
    ]


@pytest.mark.parametrize(
    ("field", "amount", "message"),
    [
        ("total_price", "238.46", "must be 238.47"),
        ("total_tax", 1, "must be 13.50"),
        ("subtotal_price", "0", "must be 224.97"),
        ("total_discounts", "3.00", "must be 0.00"),
        ("total_line_items_price", "74.99", "must be 224.97"),
    ],
)
def test_contradictory_totals_are_refused(api: ApiClient, field: str, amount: object, message: str) -> None:
    errors = get_order_errors(api, email="ada@example.com", **{field: amount})

    assert errors == {field: [message]}
    for model in (Order, Customer, OrderCounter):
        assert not model.objects.exists()
    assert not Event.objects.filter(topic__startswith="orders/").exists()


def test_create_shares_discounts_over_lines_to_the_cent(api: ApiClient) -> None:
    lines = [{"title": name, "price": "33.33", "quantity": 1} for name in "abc"]
    codes = [{"code": "TEN", "amount": "10.00", "type": "fixed_amount"}]

    order = post_order(api, line_items=lines, discount_codes=codes)

    shares = [line["discount_allocations"][0]["amount"] for line in order["line_items"]]
    assert shares == ["3.33", "3.34", "3.33"]
    assert (order["total_discounts"], order["subtotal_price"]) == ("10.00", "89.99")
    assert order["discount_codes"] == codes
    assert order["discount_applications"][0]["target_selection"] == "all"


def test_create_takes_percentages_and_shipping_codes(api: ApiClient) -> None:
    order = post_order(
        api,
        line_items=[{"title": "a", "price": "50.00", "quantity": 2}],
        shipping_lines=[{"title": "Post", "price": "9.00"}],
        discount_codes=[
            {"code": "P", "amount": "12.5", "type": "percentage"},
            {"code": "S", "amount": "20.00", "type": "shipping"},
        ],
    )

    assert (order["subtotal_price"], order["total_discounts"], order["total_price"]) == ("87.50", "21.50", "87.50")
    assert order["shipping_lines"][0]["discounted_price"] == "0.00"
    assert [code["amount"] for code in order["discount_codes"]] == ["12.50", "9.00"]


def test_taxes_of_the_whole_order_are_shared_over_the_taxable_lines(api: ApiClient) -> None:
    lines = [
        {"title": "a", "price": "10.00", "quantity": 1},
        {"title": "b", "price": "20.00", "quantity": 1},
        {"title": "c", "price": "70.00", "quantity": 1, "taxable": False},
    ]

    order = post_order(api, line_items=lines, tax_lines=[{"title": "VAT", "rate": "0.2", "price": "5.99"}])

    assert [[tax["price"] for tax in line["tax_lines"]] for line in order["line_items"]] == [["2.00"], ["3.99"], []]
    assert (order["total_tax"], order["total_price"], order["tax_lines"][0]["price"]) == ("5.99", "105.99", "5.99")


@pytest.mark.parametrize(
    ("order", "line"),
    [({"tax_exempt": True}, {}), ({}, {"taxable": False}), ({"tax_exempt": True}, {"taxable": False})],
)
def test_a_rate_of_the_order_taxes_nothing_exempt(api: ApiClient, order: JsonObject, line: JsonObject) -> None:
    lines = [{"title": "Book", "price": "100.00", "quantity": 1, **line}]

    by_rate = post_order(api, line_items=lines, tax_lines=[{"title": "VAT", "rate": 0.2}], **order)
    by_price = post_order(api, line_items=lines, tax_lines=[{"title": "VAT", "rate": 0.2, "price": "5.00"}], **order)

    assert (by_rate["total_tax"], by_rate["total_price"]) == ("0.00", "100.00")
    assert (by_price["total_tax"], by_price["total_price"]) == ("5.00", "105.00")


def test_a_tax_without_a_price_follows_from_its_rate(api: ApiClient) -> None:
    line = {"title": "a", "price": "119.00", "quantity": 1, "tax_lines": [{"title": "VAT", "rate": "0.19"}]}

    added = post_order(api, line_items=[line])
    included = post_order(api, line_items=[line], taxes_included=True)

    assert (added["total_tax"], added["total_price"]) == ("22.61", "141.61")
    assert (included["total_tax"], included["total_price"]) == ("19.00", "119.00")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"line_items": []}, "line_items"),
        ({"line_items": [{"title": "a", "quantity": 1}]}, "line_items.0.price"),
        ({"line_items": [{"price": "1.00", "quantity": 1}]}, "line_items.0.title"),
        ({"line_items": [{**BOOTS, "quantity": 0}]}, "line_items.0.quantity"),
        ({"line_items": [{**BOOTS, "quantity": "1_0"}]}, "line_items.0.quantity"),
        ({"line_items": [{"variant_id": 1}]}, "line_items.0.variant_id"),
        ({"line_items": [{**BOOTS, "product_id": 1}]}, "line_items.0.product_id"),
        ({"line_items": [{**BOOTS, "total_discount": "300.00"}]}, "line_items.0.total_discount"),
        ({"line_items": ["x"]}, "line_items.0"),
        ({"line_items": {}}, "line_items"),
        ({"currency": "XYZ"}, "currency"),
        ({"currency": "usd"}, "currency"),
        ({"presentment_currency": "EUR"}, "exchange_rate"),
        ({"presentment_currency": "EUR", "exchange_rate": "0"}, "exchange_rate"),
        ({"exchange_rate": "2"}, "exchange_rate"),
        ({"email": "nobody"}, "email"),
        ({"phone": "12"}, "phone"),
        ({"customer": {"id": 1}}, "customer"),
        ({"customer": {"email": "nobody"}}, "customer.email"),
        ({"customer": "x"}, "customer"),
        ({"shipping_address": {"country": "Atlantis"}}, "shipping_address.country"),
        ({"discount_codes": [{"code": "A", "amount": "101", "type": "percentage"}]}, "discount_codes.0.amount"),
        ({"discount_codes": [{"code": "A", "amount": "1", "type": "magic"}]}, "discount_codes.0.type"),
        ({"shipping_lines": [{"title": "Post"}]}, "shipping_lines.0.price"),
        ({"financial_status": "refunded"}, "financial_status"),
        ({"financial_status": "bogus"}, "financial_status"),
        ({"fulfillment_status": "partial"}, "fulfillment_status"),
        ({"inventory_behaviour": "steal"}, "inventory_behaviour"),
        ({"processed_at": "2026-02-30"}, "processed_at"),
        ({"browser_ip": "1.2.3"}, "browser_ip"),
        ({"transactions": [{"kind": "refund", "amount": "1.00"}]}, "transactions.0.kind"),
        ({"transactions": [{"kind": "capture", "amount": "1.00"}]}, "transactions.0.parent_id"),
        ({"transactions": [{"kind": "sale", "amount": "1.00", "currency": "EUR"}]}, "transactions.0.currency"),
        ({"metafields": [{"namespace": "a"}]}, "metafields.0.key"),
        ({"tax_lines": [{"title": "VAT", "rate": "0.1", "price": "1.00"}]}, "tax_lines"),
    ],
)
def test_create_refuses_what_does_not_fit(api: ApiClient, fields: JsonObject, field: str) -> None:
    errors = get_order_errors(api, **fields)

    assert field in errors, errors
    assert not Order.objects.exists()
    assert not Event.objects.filter(topic__startswith="orders/").exists()


@pytest.mark.parametrize(
    "amount", ["1_000", "１２", "٣", " 5 ", "1e2", "-0.00", "5.", "+5", "NaN", "0.005", "1e1000000", True, None, [], ""]
)
def test_amounts_are_plain_digits_with_the_decimals_of_the_currency(api: ApiClient, amount: object) -> None:
    errors = get_order_errors(api, line_items=[{"title": "a", "price": amount, "quantity": 1}])

    assert list(errors) == ["line_items.0.price"]


@pytest.mark.parametrize(
    ("currency", "price", "expected_output"),
    [("JPY", "500.0", "500"), ("JPY", "500.5", None), ("KWD", "1.234", "1.234"), ("USD", "1.234", None)],
)
def test_decimals_follow_the_currency(api: ApiClient, currency: str, price: str, expected_output: str | None) -> None:
    lines = [{"title": "a", "price": price, "quantity": 1}]

    if expected_output is None:
        assert get_order_errors(api, currency=currency, line_items=lines) == {"line_items.0.price": ["is invalid"]}
    else:
        order = post_order(api, currency=currency, line_items=lines)
        assert (order["total_price"], order["currency"]) == (expected_output, currency)


@pytest.mark.parametrize(
    "fields",
    [
        {"line_items": [{"title": "Mint", "price": "999999999999.99", "quantity": 1_000_000}]},
        {"line_items": [{"title": "Mint", "price": "999999999999.99"}, {"title": "Coin", "price": "0.01"}]},
        {"line_items": [{"title": "Mint", "price": "1", "tax_lines": [{"title": "VAT", "price": "999999999999.99"}]}]},
    ],
)
def test_totals_that_no_column_holds_are_refused(api: ApiClient, fields: JsonObject) -> None:
    assert get_order_errors(api, **fields) == {"total_price": ["must be less than 1000000000000"]}
    assert not Order.objects.exists()
    assert not OrderCounter.objects.exists()


def test_the_largest_total_is_kept_exactly(api: ApiClient) -> None:
    line = {"title": "Oil", "price": "999999999999.999", "quantity": 1}

    order = post_order(api, line_items=[line], currency="KWD", financial_status="paid")

    assert (order["total_price"], order["total_outstanding"]) == ("999999999999.999", "0.000")


def test_an_order_shows_the_money_that_the_buyer_saw(api: ApiClient) -> None:
    lines = [{"title": "a", "price": "10.00", "quantity": 1}]

    order = post_order(api, line_items=lines, presentment_currency="JPY", exchange_rate="151.27")

    assert order["currency"] == "USD"
    assert order["total_price_set"] == {
        "shop_money": {"amount": "10.00", "currency_code": "USD"},
        "presentment_money": {"amount": "1513", "currency_code": "JPY"},
    }


def test_lines_of_variants_are_completed_from_the_catalog(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, stock=5)

    line = post_order(api, line_items=[{"variant_id": variant.pk}])["line_items"][0]

    assert (line["title"], line["variant_title"], line["name"]) == ("Mug", "Blue", "Mug - Blue")
    assert (line["sku"], line["vendor"], line["grams"], line["price"]) == ("MUG-1", "Pottery", 300, "10.00")
    assert (line["product_id"], line["product_exists"]) == (variant.product_id, True)
    assert line["variant_inventory_management"] == "platform"
    assert get_available(variant) == 5


def test_lines_outlive_their_product(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop)
    order = post_order(api, line_items=[{"variant_id": variant.pk}])
    api.get(f"orders/{order['id']}.json")

    Product.objects.get(pk=variant.product_id).delete()

    line = api.get(f"orders/{order['id']}.json").json()["order"]["line_items"][0]
    assert (line["product_id"], line["variant_id"], line["product_exists"], line["title"]) == (None, None, False, "Mug")


def test_another_shops_variant_cannot_be_bought(api: ApiClient, other_shop: Shop) -> None:
    variant = make_variant(other_shop)

    assert get_order_errors(api, line_items=[{"variant_id": variant.pk}]) == {"line_items.0.variant_id": ["is invalid"]}


def test_create_finds_the_customer_or_makes_one(api: ApiClient) -> None:
    first = post_order(api, email="Ada@Example.com", shipping_address=ADDRESS)
    second = post_order(api, email="ada@example.com", transactions=[{"kind": "sale", "amount": "238.47"}])
    third = post_order(api, customer={"id": first["customer"]["id"]})

    customer = Customer.objects.get()
    assert {order["customer"]["id"] for order in (first, second, third)} == {customer.pk}
    assert first["customer"]["default_address"]["city"] == "Ottawa"
    assert (customer.orders_count, customer.total_spent) == (3, Decimal("238.47"))
    assert (customer.last_order_id, customer.last_order_name) == (third["id"], "#1003")
    assert third["email"] == "Ada@Example.com"


def test_a_change_of_the_customer_shows_on_the_order_at_once(api: ApiClient) -> None:
    order = post_order(api, email="ada@example.com")
    path = f"orders/{order['id']}.json"
    api.get(path)

    api.put(f"customers/{order['customer']['id']}.json", {"customer": {"first_name": "Augusta"}})

    assert api.get(path).json()["order"]["customer"]["first_name"] == "Augusta"
    assert api.get("orders.json").json()["orders"][0]["customer"]["first_name"] == "Augusta"


def test_a_test_order_counts_for_nothing_and_is_processed_now(api: ApiClient) -> None:
    before = timezone.now()
    post_order(api, email="ada@example.com", test=True, currency="EUR", financial_status="paid")

    customer = Customer.objects.get()
    assert (customer.total_spent, customer.last_order_currency) == (Decimal(0), "")
    assert Order.objects.get().processed_at >= before


@pytest.mark.parametrize(
    ("status", "kinds"),
    [
        ("pending", []),
        ("authorized", ["authorization"]),
        ("paid", ["sale"]),
        ("voided", ["authorization", "void"]),
    ],
)
def test_a_status_alone_creates_a_transaction(api: ApiClient, status: str, kinds: list[str]) -> None:
    order = post_order(api, financial_status=status)

    assert order["financial_status"] == status
    assert list(Transaction.objects.order_by("pk").values_list("kind", flat=True)) == kinds


def test_an_order_that_was_sent_already_has_nothing_left_to_send(api: ApiClient) -> None:
    order = post_order(api, fulfillment_status="fulfilled")

    assert (order["fulfillment_status"], order["line_items"][0]["fulfillment_status"]) == ("fulfilled", "fulfilled")
    assert order["line_items"][0]["fulfillable_quantity"] == 0
    assert api.post(f"orders/{order['id']}/cancel.json", {}).status_code == 422


def test_stock_is_taken_as_the_order_says(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, stock=3)
    line = {"variant_id": variant.pk, "quantity": 2}

    post_order(api, line_items=[line])
    assert get_available(variant) == 3
    post_order(api, line_items=[line], inventory_behaviour=OBEY)
    assert get_available(variant) == 1
    errors = get_order_errors(api, line_items=[line], inventory_behaviour=OBEY)
    assert errors == {"line_items.0.quantity": ["is more than the quantity in stock (1)"]}
    assert get_available(variant) == 1
    post_order(api, line_items=[line], inventory_behaviour="decrement_ignoring_policy")
    assert get_available(variant) == -1


def test_a_variant_that_may_be_oversold_is(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, stock=1, inventory_policy="continue")

    post_order(api, line_items=[{"variant_id": variant.pk, "quantity": 4}], inventory_behaviour=OBEY)

    assert get_available(variant) == -3


def test_cancel_gives_the_stock_back_once(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, stock=3)
    line = {"variant_id": variant.pk, "quantity": 2}
    order = post_order(api, line_items=[line], inventory_behaviour=OBEY, financial_status="authorized")
    path = f"orders/{order['id']}/cancel.json"

    response = api.post(path, {"reason": "customer"})
    second_response = api.post(path, {})

    cancelled = response.json()["order"]
    assert (response.status_code, response.json()["notice"]) == (200, "Order has been canceled")
    assert (cancelled["cancel_reason"], cancelled["fulfillment_status"]) == ("customer", "restocked")
    assert (cancelled["financial_status"], cancelled["current_total_price"]) == ("voided", "0.00")
    assert cancelled["line_items"][0]["current_quantity"] == 0
    assert get_errors(second_response) == {"base": ["The order is already canceled"]}
    assert get_available(variant) == 3


def test_cancel_without_restock_leaves_stock_and_units(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, stock=3)
    lines = [{"variant_id": variant.pk, "quantity": 2}]
    order = post_order(api, line_items=lines, inventory_behaviour=OBEY)

    cancelled = api.post(f"orders/{order['id']}/cancel.json", {"restock": False}).json()["order"]

    assert get_available(variant) == 1
    assert cancelled["line_items"][0]["current_quantity"] == 2
    assert (cancelled["line_items"][0]["fulfillable_quantity"], cancelled["fulfillment_status"]) == (0, None)


def test_cancel_takes_its_parameters_from_the_query_too(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, stock=3)
    order = post_order(api, line_items=[{"variant_id": variant.pk}], inventory_behaviour=OBEY)
    path = f"orders/{order['id']}/cancel.json"

    refused = [api.post(f"{path}?reason=whim"), api.post(f"{path}?restock=FALSE")]
    cancelled = api.post(f"{path}?reason=fraud&restock=False", {"reason": "customer"})

    assert [response.status_code for response in refused] == [422, 422]
    assert [list(response.json()["errors"]) for response in refused] == [["reason"], ["restock"]]
    assert cancelled.json()["order"]["cancel_reason"] == "customer"
    assert get_available(variant) == 2


def test_orders_are_closed_and_opened_again(api: ApiClient) -> None:
    order = post_order(api)
    path = f"orders/{order['id']}"

    closed = api.post(f"{path}/close.json").json()["order"]
    twice = api.post(f"{path}/close.json").json()["order"]
    opened = api.post(f"{path}/open.json").json()["order"]

    assert closed["closed_at"] is not None
    assert twice == closed
    assert opened["closed_at"] is None
    api.post(f"{path}/cancel.json")
    assert api.post(f"{path}/open.json").status_code == 422


def test_update_changes_what_may_be_changed_and_nothing_else(api: ApiClient) -> None:
    order = post_order(api, email="ada@example.com")
    body = {
        **order,
        "note": "Ring twice",
        "tags": "b, a, B",
        "email": "new@example.com",
        "note_attributes": [{"name": "colour", "value": "red"}],
        "shipping_address": {"address1": "123 Ship Street", "city": "Shipsville"},
        "total_price": "1.00",
        "financial_status": "paid",
        "line_items": [],
        "name": "#1",
        "metafields": [{"key": "new", "value": "x", "type": "single_line_text_field", "namespace": "global"}],
    }

    changed = api.put(f"orders/{order['id']}.json", {"order": body}).json()["order"]

    assert (changed["note"], changed["tags"], changed["email"]) == ("Ring twice", "a, b", "new@example.com")
    assert changed["shipping_address"]["city"] == "Shipsville"
    assert changed["note_attributes"] == [{"name": "colour", "value": "red"}]
    for name in ("total_price", "financial_status", "line_items", "name", "customer"):
        assert changed[name] == order[name]
    assert len(api.get(f"orders/{order['id']}/metafields.json").json()["metafields"]) == 1


def test_update_keeps_the_parts_of_an_address_that_it_does_not_name(api: ApiClient) -> None:
    order = post_order(api, shipping_address=ADDRESS)

    def change_address(**parts: object) -> Json:
        response = api.put(f"orders/{order['id']}.json", {"order": {"shipping_address": parts}})
        assert response.status_code == 200, response.content
        return response.json()["order"]["shipping_address"]

    moved = change_address(address1="123 Ship Street", city="Shipsville")
    abroad = change_address(country="Germany")
    second_result = change_address(**abroad)
    cleared = change_address(**dict.fromkeys(abroad))

    assert moved == {**order["shipping_address"], "address1": "123 Ship Street", "city": "Shipsville"}
    assert (abroad["country_code"], abroad["province"], abroad["city"]) == ("DE", None, "Shipsville")
    assert second_result == abroad
    assert cleared is None
    assert change_address(city="Bonn")["first_name"] is None
    narnia = {"shipping_address": {"country": "Narnia"}, "phone": "x"}
    assert "shipping_address.country" in get_errors(api.put(f"orders/{order['id']}.json", {"order": narnia}))


def test_update_takes_an_order_from_its_customer(api: ApiClient) -> None:
    order = post_order(api, email="ada@example.com")

    changed = api.put(f"orders/{order['id']}.json", {"order": {"customer": None}}).json()["order"]

    assert changed["customer"] is None
    assert Customer.objects.get().orders_count == 0


def test_delete_takes_lines_and_transactions_along(api: ApiClient) -> None:
    order = post_order(api, email="ada@example.com", financial_status="paid")

    response = api.delete(f"orders/{order['id']}.json")

    assert (response.status_code, response.json()) == (200, {})
    assert (LineItem.objects.count(), Transaction.objects.count(), Customer.objects.get().orders_count) == (0, 0, 0)
    assert Event.objects.filter(topic="orders/delete").count() == 1
    assert post_order(api)["name"] == "#1002"


def test_a_customer_with_orders_cannot_be_deleted(api: ApiClient) -> None:
    order = post_order(api, email="ada@example.com")

    response = api.delete(f"customers/{order['customer']['id']}.json")

    assert (response.status_code, response.json()) == (422, {"errors": {"base": ["Error deleting customer"]}})


def test_lists_show_open_orders_unless_the_status_says_otherwise(api: ApiClient) -> None:
    opened, closed, cancelled = (post_order(api)["id"] for _ in range(3))
    api.post(f"orders/{closed}/close.json")
    api.post(f"orders/{cancelled}/cancel.json")

    def ids(**query: str) -> list[int]:
        return [order["id"] for order in api.get("orders.json", **query).json()["orders"]]

    assert ids() == ids(status="open") == [opened]
    assert (ids(status="closed"), ids(status="cancelled")) == ([closed], [cancelled])
    assert ids(status="any") == [cancelled, closed, opened]
    assert api.get("orders/count.json").json() == {"count": 1}
    assert api.get("orders/count.json", status="any").json() == {"count": 3}


def test_lists_take_every_filter(api: ApiClient, client_with: ClientWith) -> None:
    paid_row_id = post_order(api, financial_status="paid", processed_at="2026-01-02T03:04:05Z")["id"]
    row_id = post_order(api, fulfillment_status="fulfilled")["id"]
    stranger = client_with("write_orders")
    foreign = post_order(stranger)["id"]

    def ids(client: ApiClient = api, **query: object) -> list[int]:
        return [order["id"] for order in client.get("orders.json", **query).json()["orders"]]

    everything, mine = [foreign, row_id, paid_row_id], [row_id, paid_row_id]
    cases: list[tuple[JsonObject, list[int]]] = [
        ({"financial_status": "paid"}, [paid_row_id]),
        ({"financial_status": "unpaid"}, [foreign, row_id]),
        ({"financial_status": "any"}, everything),
        ({"fulfillment_status": "shipped"}, [row_id]),
        *(({"fulfillment_status": status}, [foreign, paid_row_id]) for status in ("unshipped", "unfulfilled")),
        *(({"name": name}, [paid_row_id]) for name in ("#1001", "1001")),
        ({"ids": f"{paid_row_id},{row_id}"}, mine),
        ({"since_id": paid_row_id}, [row_id, foreign]),
        ({"processed_at_max": "2026-01-03"}, [paid_row_id]),
        ({"processed_at_min": "2026-01-03"}, [foreign, row_id]),
        ({"created_at_max": "2026-01-03"}, []),
        ({"updated_at_min": "2026-01-03", "limit": 1}, [foreign]),
        *(({"attribution_app_id": app}, mine) for app in (api.installation.app_id, "current")),
    ]
    assert [(query, ids(**query)) for query, _ in cases] == cases
    assert ids(stranger, attribution_app_id="current") == [foreign]
    for bad in ({"status": "x"}, {"financial_status": "x"}, {"attribution_app_id": "x"}, {"processed_at_min": "x"}):
        assert api.get("orders.json", **bad).status_code == 400


def test_orders_of_a_customer_are_that_customers(api: ApiClient) -> None:
    mine = post_order(api, email="ada@example.com")
    post_order(api, email="bob@example.com")

    orders = api.get(f"customers/{mine['customer']['id']}/orders.json").json()["orders"]

    assert [order["id"] for order in orders] == [mine["id"]]
    assert api.get("customers/999/orders.json").status_code == 404


def test_writes_record_what_happened_without_personal_data(api: ApiClient) -> None:
    order = post_order(api, email="ada@example.com", financial_status="paid")
    api.put(f"orders/{order['id']}.json", {"order": {"email": "new@example.com", "tags": "x"}})
    api.post(f"orders/{order['id']}/cancel.json")

    events = list(Event.objects.filter(topic__startswith="order").order_by("pk"))
    topics = "orders/create order_transactions/create orders/paid orders/updated orders/updated orders/cancelled"
    assert [event.topic for event in events] == topics.split()
    assert events[3].changes == {"email": ["(hidden)", "(hidden)"], "tags": ["", "(hidden)"]}
    assert {event.actor for event in events} == {f"app:{api.installation.app_id}"}


def test_units_count_as_sold_once_they_are_paid(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop)
    order = post_order(api, line_items=[{"variant_id": variant.pk, "quantity": 3}])

    def get_units_sold() -> int:
        return Product.objects.get(pk=variant.product_id).units_sold

    assert get_units_sold() == 0
    api.post(f"orders/{order['id']}/transactions.json", {"transaction": {"kind": "sale", "amount": "30.00"}})
    assert get_units_sold() == 3
    api.delete(f"orders/{order['id']}.json")
    assert get_units_sold() == 0


def test_cached_renderings_equal_new_renderings(api: ApiClient, full_order: JsonObject) -> None:
    path = f"orders/{full_order['id']}"
    writes: list[Callable[[], Response]] = [
        lambda: api.put(f"{path}.json", {"order": {"note": "a"}}),
        lambda: api.post(f"{path}/transactions.json", {"transaction": {"kind": "sale", "amount": "1.00"}}),
        lambda: api.post(f"{path}/close.json"),
        lambda: api.post(f"{path}/open.json"),
        lambda: api.post(f"{path}/cancel.json"),
    ]
    for write in writes:
        assert write().status_code in {200, 201}
        body = api.get(f"{path}.json").json()
        render_cache.cache.clear()
        assert api.get(f"{path}.json").json() == body


def test_a_best_seller_is_deleted_without_reading_or_naming_its_lines(api: ApiClient, shop: Shop) -> None:
    def statements(count: int) -> tuple[int, int]:
        """Delete a product with ``count`` orders; return the number of SQL statements and the length of the longest."""
        variant = make_variant(shop, sku=f"SKU-{count}")
        line = {"variant_id": variant.pk, "title": "Mug", "price": Decimal("1.00"), "quantity": 1}
        orders = [make_order(shop, lines=[line, line]) for _ in range(count)]
        before = dict(Order.objects.values_list("pk", "version"))
        with CaptureQueriesContext(connection) as queries:
            assert api.delete(f"products/{variant.product_id}.json").status_code == 200
        assert not LineItem.objects.filter(variant_id=variant.pk).exists()
        after = dict(Order.objects.values_list("pk", "version"))
        assert all(after[order.pk] > before[order.pk] for order in orders)
        return len(queries), max(len(query["sql"]) for query in queries.captured_queries)

    statements(1)
    few_count, many_count = statements(2), statements(12)

    assert many_count[0] == few_count[0]
    assert many_count[1] <= few_count[1] + 10
