from decimal import Decimal

import pytest

from apps.core.types import Attrs
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.types import JsonObject
from tests.support.wire_tables import find_misfits

pytestmark = pytest.mark.usefixtures("in_shop")

DUTY: Attrs = {
    "harmonized_system_code": "520300",
    "country_code_of_origin": "ca",
    "shop_money": {"amount": "12.50", "currency_code": "USD"},
    "tax_lines": [{"title": "VAT", "rate": 0.1}],
}
LINE: Attrs = {"title": "Mug", "price": "10.00", "quantity": 2, "duties": [DUTY]}


def post_order(api: ApiClient, status: int = 201, **values: object) -> JsonObject:
    response = api.post("orders.json", {"order": {"currency": "USD", "line_items": [LINE], **values}})
    assert response.status_code == status, response.json()
    results: JsonObject = response.json()["order" if status == 201 else "errors"]
    return results


def test_duties_come_on_top_with_the_taxes_on_them(api: ApiClient) -> None:
    order = post_order(api, presentment_currency="EUR", exchange_rate="0.9")

    [duty] = order["line_items"][0]["duties"]
    pk = duty["id"]
    dollars, euros = {"amount": "1.25", "currency_code": "USD"}, {"amount": "1.13", "currency_code": "EUR"}
    assert duty == {
        "id": pk,
        "harmonized_system_code": "520300",
        "country_code_of_origin": "CA",
        "shop_money": {"amount": "12.50", "currency_code": "USD"},
        "presentment_money": {"amount": "11.25", "currency_code": "EUR"},
        "tax_lines": [
            {
                "title": "VAT",
                "rate": 0.1,
                "price": "1.25",
                "price_set": {"shop_money": dollars, "presentment_money": euros},
                "channel_liable": None,
            }
        ],
        "admin_graphql_api_id": f"gid://platform/Duty/{pk}",
    }
    assert order["original_total_duties_set"] == order["current_total_duties_set"]
    assert order["current_total_duties_set"]["shop_money"] == {"amount": "12.50", "currency_code": "USD"}
    assert order["current_total_duties_set"]["presentment_money"] == {"amount": "11.25", "currency_code": "EUR"}
    assert (order["subtotal_price"], order["total_tax"], order["total_price"]) == ("20.00", "1.25", "33.75")
    assert [(tax["title"], tax["price"]) for tax in order["tax_lines"]] == [("VAT", "1.25")]
    assert order["duties_included"] is False
    # The wire tables only describe orders without duties.
    mismatches = find_misfits("order", "GET /orders/{id}.json", {"order": order})
    assert [item for item in mismatches if "_duties_set" not in item and "fulfillments" not in item] == []


def test_an_order_without_duties_has_no_sums_of_them(api: ApiClient) -> None:
    order = post_order(api, line_items=[{**LINE, "duties": []}])

    assert order["line_items"][0]["duties"] == []
    assert (order["original_total_duties_set"], order["current_total_duties_set"]) == (None, None)


def test_duties_include_taxes_where_prices_do_and_exempt_orders_have_none(api: ApiClient) -> None:
    inside = post_order(api, taxes_included=True)
    exempt = post_order(api, tax_exempt=True)

    assert (inside["total_tax"], inside["total_price"]) == ("1.14", "32.50")
    assert (exempt["total_tax"], exempt["total_price"]) == ("0.00", "32.50")


def test_a_cancelled_order_owes_no_duties(api: ApiClient) -> None:
    order = post_order(api)

    response = api.post(f"orders/{order['id']}/cancel.json", {})

    cancelled = response.json()["order"]
    assert cancelled["original_total_duties_set"]["shop_money"]["amount"] == "12.50"
    assert cancelled["current_total_duties_set"]["shop_money"]["amount"] == "0.00"
    assert (cancelled["current_total_tax"], cancelled["current_total_price"]) == ("0.00", "0.00")


@pytest.mark.parametrize(
    ("duty", "errors"),
    [
        ({"shop_money": None}, {"shop_money": ["can't be blank"]}),
        ({"shop_money": {}}, {"shop_money.amount": ["can't be blank"]}),
        ({"shop_money": {"amount": "-1"}}, {"shop_money.amount": ["must be greater than or equal to 0"]}),
        ({"shop_money": {"amount": "1.005"}}, {"shop_money.amount": ["is invalid"]}),
        ({"shop_money": {"amount": "1", "currency_code": "EUR"}}, {"shop_money.currency_code": ["is invalid"]}),
        ({"country_code_of_origin": "XX"}, {"country_code_of_origin": ["is invalid"]}),
        ({"harmonized_system_code": "cotton"}, {"harmonized_system_code": ["is invalid"]}),
        ({"tax_lines": [{"title": "VAT", "price": "0.001"}]}, {"tax_lines.0.price": ["is invalid"]}),
    ],
)
def test_invalid_duties_are_refused(api: ApiClient, duty: JsonObject, errors: JsonObject) -> None:
    order = post_order(api, 422, line_items=[{**LINE, "duties": [{**DUTY, **duty}]}])

    assert order == {f"line_items.0.duties.0.{name}": messages for name, messages in errors.items()}
    assert not Order.objects.exists()


def test_a_duty_as_it_was_shown_is_taken_again(api: ApiClient) -> None:
    first = post_order(api)
    second_order = post_order(api, line_items=first["line_items"])

    assert second_order["total_price"] == first["total_price"]
    assert second_order["line_items"][0]["duties"][0]["id"] != first["line_items"][0]["duties"][0]["id"]
    assert set(Order.objects.values_list("total_duties", "total_tax")) == {(Decimal("12.50"), Decimal("1.25"))}
