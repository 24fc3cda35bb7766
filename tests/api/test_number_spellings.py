"""Tests for numbers in bodies: zeros behind the decimal point do not change a number, and no value is lost."""

from decimal import Decimal
from typing import Any

import pytest

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.factories.inventory import get_available, get_first_location, make_item
from tests.support.types import JsonObject


def create_variant(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("products.json", {"product": {"title": "Mug", "variants": [fields]}})
    assert response.status_code == 201, response.content
    return response.json()["product"]["variants"][0]


@pytest.mark.parametrize("digits", [120.0, "120.0", "120.000", 120, "120"])
def test_whole_numbers_may_have_zeros_behind_the_point(api: ApiClient, shop: Shop, digits: object) -> None:
    item, location = make_item(shop), get_first_location(shop)
    body = {"inventory_item_id": float(item.pk), "location_id": str(location.pk), "available": digits}

    set_response = api.post("inventory_levels/set.json", body)
    variant = create_variant(api, grams=digits, position=1.0)

    assert set_response.status_code == 200, set_response.content
    assert get_available(item, location) == 120
    assert variant["grams"] == 120


@pytest.mark.parametrize("available", [1.5, "1.5", "1e2", "1.", ".0", "+1", " 1", "1,0", True])
def test_whole_numbers_are_refused_if_value_would_be_lost(api: ApiClient, shop: Shop, available: object) -> None:
    item, location = make_item(shop), get_first_location(shop)
    body = {"inventory_item_id": item.pk, "location_id": location.pk, "available": available}

    response = api.post("inventory_levels/set.json", body)

    assert get_errors(response) == {"available": ["is invalid"]}


@pytest.mark.parametrize(
    ("grams", "expected"), [(0.0, 0), ("28.349523125", 28), (28.5, 29), ("0.4", 0), (1e3, 1000), ("999.99999999", 1000)]
)
def test_grams_are_rounded_to_the_gram(api: ApiClient, grams: object, expected: int) -> None:
    assert create_variant(api, grams=grams)["grams"] == expected


def test_weights_are_rounded_to_six_decimals(api: ApiClient) -> None:
    variant = create_variant(api, weight="28.3495231255", weight_unit="g")

    assert (variant["weight"], variant["grams"]) == (28.349523, 28)


@pytest.mark.parametrize(
    ("currency", "price", "shown"),
    [
        ("USD", "19.990", "19.99"),
        ("USD", 19.990, "19.99"),
        ("USD", "19.9900000000", "19.99"),
        ("JPY", "1980.00", "1980"),
        ("JPY", 1980.0, "1980"),
        ("KWD", "1.2340", "1.234"),
    ],
)
def test_prices_may_have_zeros_at_the_end(client_with: ClientWith, currency: str, price: object, shown: str) -> None:
    shop = factories.make_shop(domain="money.example", currency=currency)
    api = client_with(*factories.ALL_SCOPES, shop=shop)

    variant = create_variant(api, price=price, compare_at_price=price)
    line = {"title": "Mug", "price": price, "quantity": 2.0, "total_discount": "0.00"}
    order = api.post("orders.json", {"order": {"line_items": [line], "total_tip_received": "0.000"}}).json()["order"]

    assert (variant["price"], variant["compare_at_price"]) == (shown, shown)
    assert (order["line_items"][0]["price"], order["line_items"][0]["quantity"]) == (shown, 2)
    assert Decimal(order["total_price"]) == 2 * Decimal(shown)


@pytest.mark.parametrize(("currency", "price"), [("USD", "19.995"), ("JPY", "1980.50"), ("KWD", "1.2345")])
def test_prices_are_refused_if_value_would_be_lost(client_with: ClientWith, currency: str, price: str) -> None:
    shop = factories.make_shop(domain="money.example", currency=currency)
    api = client_with(*factories.ALL_SCOPES, shop=shop)

    product = api.post("products.json", {"product": {"title": "Mug", "variants": [{"price": price}]}})
    order = api.post("orders.json", {"order": {"line_items": [{"title": "Mug", "price": price}]}})

    assert get_errors(product) == {"variants.0.price": ["is invalid"]}
    assert get_errors(order) == {"line_items.0.price": ["is invalid"]}


def test_payments_and_refunds_of_yen_may_have_zero_decimals(client_with: ClientWith) -> None:
    shop = factories.make_shop(domain="yen.example", currency="JPY")
    api = client_with(*factories.ALL_SCOPES, shop=shop)
    line = {"title": "Mug", "price": "1980.00", "tax_lines": [{"title": "VAT", "rate": 0.1, "price": "198.00"}]}
    order = api.post("orders.json", {"order": {"line_items": [line]}}).json()["order"]

    sale = api.post(f"orders/{order['id']}/transactions.json", {"transaction": {"kind": "sale", "amount": "2178.00"}})
    refund = api.post(
        f"orders/{order['id']}/refunds.json",
        {"refund": {"transactions": [{"parent_id": sale.json()["transaction"]["id"], "amount": 78.0}]}},
    )

    assert (order["total_price"], order["total_tax"]) == ("2178", "198")
    assert sale.json()["transaction"]["amount"] == "2178"
    assert refund.status_code == 201, refund.content
    assert refund.json()["refund"]["transactions"][0]["amount"] == "78"


@pytest.mark.parametrize("rate", [0.0825, "0.08749999999999999", 0.08749999999999999, "0.070000000000000001", "0.20"])
def test_tax_rates_keep_their_digits(api: ApiClient, shop: Shop, rate: Any) -> None:
    line = {"title": "Mug", "price": "10.00", "tax_lines": [{"title": "VAT", "rate": rate}]}

    response = api.post("orders.json", {"order": {"line_items": [line]}})

    assert response.status_code == 201, response.content
    assert response.json()["order"]["line_items"][0]["tax_lines"][0]["rate"] == float(rate)
