"""Orders that another system has already discounted: discount applications with their allocations count."""

from typing import Any

import pytest

from tests.support.api_client import ApiClient, get_errors
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

LINES: list[JsonObject] = [
    {"title": "Mug", "price": "10.00", "quantity": 2},
    {"title": "Cup", "price": "5.00", "quantity": 1},
]


def build_order(kind: str, allocations: list[JsonObject], **fields: Any) -> JsonObject:
    application = {
        "type": kind,
        "title": "Spring",
        "value": "20.0",
        "value_type": "percentage",
        "target_type": "line_item",
        "target_selection": "all",
        "allocation_method": "across",
    }
    lines = [{**LINES[0], "discount_allocations": allocations}, LINES[1]]
    return {"line_items": lines, "discount_applications": [application], **fields}


def post_order(api: ApiClient, body: JsonObject) -> JsonObject:
    response = api.post("orders.json", {"order": body})
    assert response.status_code == 201, response.content
    return response.json()["order"]


@pytest.mark.parametrize("kind", ["automatic", "manual", "script", "discount_code"])
def test_given_allocations_are_kept(api: ApiClient, kind: str) -> None:
    allocations = [{"amount": "4.00", "discount_application_index": 0, "amount_set": {}}]
    codes = [{"code": "SPRING", "amount": "4.00", "type": "percentage"}]
    body = build_order(kind, allocations, discount_codes=codes if kind == "discount_code" else [])
    if kind == "discount_code":
        body["discount_applications"][0]["code"] = "SPRING"

    order = post_order(api, body)

    assert (order["total_discounts"], order["total_price"]) == ("4.00", "21.00")
    assert order["discount_codes"] == body["discount_codes"]
    assert order["discount_applications"][0]["type"] == kind
    assert order["discount_applications"][0]["value"] == "20.0"
    mug, cup = order["line_items"]
    assert [row["amount"] for row in mug["discount_allocations"]] == ["4.00"]
    assert cup["discount_allocations"] == []


def test_a_code_without_an_application_is_applied_to_the_rest(api: ApiClient) -> None:
    allocations = [{"amount": "4.00", "discount_application_index": 0}]
    codes = [{"code": "ONE", "amount": "1.00", "type": "fixed_amount"}]

    order = post_order(api, build_order("automatic", allocations, discount_codes=codes))

    assert (order["total_discounts"], order["discount_codes"][0]["amount"]) == ("5.00", "1.00")
    assert [row["type"] for row in order["discount_applications"]] == ["automatic", "discount_code"]


def test_an_order_that_is_sent_back_has_the_same_discounts(api: ApiClient) -> None:
    codes = [{"code": "TEN", "amount": "10", "type": "percentage"}]
    lines = [{**LINES[0], "total_discount": "2.00"}, LINES[1]]
    shipping = [{"title": "Post", "price": "3.00"}]
    first = post_order(api, {"line_items": lines, "discount_codes": codes, "shipping_lines": shipping})

    second = post_order(api, first)

    for name in ("total_price", "total_discounts", "discount_codes", "discount_applications"):
        assert second[name] == first[name]


@pytest.mark.parametrize(
    ("allocation", "field", "message"),
    [
        ({"amount": "4.00", "discount_application_index": 1}, ".0.discount_application_index", "is invalid"),
        ({"amount": "4.001", "discount_application_index": 0}, ".0.amount", "is invalid"),
        ({"amount": "20.01", "discount_application_index": 0}, "", "must be less than or equal to 20.00"),
    ],
)
def test_impossible_allocations_are_refused(api: ApiClient, allocation: JsonObject, field: str, message: str) -> None:
    response = api.post("orders.json", {"order": build_order("automatic", [allocation])})

    assert get_errors(response) == {f"line_items.0.discount_allocations{field}": [message]}


def test_allocations_without_applications_are_ignored(api: ApiClient) -> None:
    allocations = [{"amount": "4.00", "discount_application_index": 0}]
    lines = [{**LINES[0], "discount_allocations": allocations}]

    assert post_order(api, {"line_items": lines})["total_price"] == "20.00"


@pytest.mark.parametrize("rate", ["0.006694", "151.27", "0.912345"])
def test_the_exchange_rate_is_derived_from_amounts_in_both_currencies(api: ApiClient, rate: str) -> None:
    body = {"currency": "EUR", "presentment_currency": "USD", "exchange_rate": rate}
    lines = [{"title": "Mug", "price": "123456.78", "quantity": 3}, {"title": "Cup", "price": "5.00"}]
    first = post_order(api, {**body, "line_items": lines, "shipping_lines": [{"title": "Post", "price": "9.90"}]})
    assert "exchange_rate" not in first

    second = post_order(api, {name: first[name] for name in ("line_items", "shipping_lines", "total_price_set")})

    assert (second["currency"], second["presentment_currency"]) == ("EUR", "USD")
    assert second["total_price_set"] == first["total_price_set"]
    sets = [[row["price_set"] for row in order["line_items"]] for order in (first, second)]
    assert sets[0] == sets[1]
