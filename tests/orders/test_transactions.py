"""Tests for transactions over REST: sales, authorizations, captures, voids and the resulting statuses."""

from decimal import Decimal

import pytest

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.orders.models import Transaction
from tests.support.api_client import ApiClient, Response
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

HUNDRED = [{"title": "Vase", "price": "100.00", "quantity": 1}]


@pytest.fixture
def order(api: ApiClient) -> JsonObject:
    """Create an unpaid order of 100.00."""
    return post_order(api)


def post_order(api: ApiClient, **fields: object) -> JsonObject:
    body = {"order": {"line_items": HUNDRED, "email": "ada@example.com", **fields}}
    response = api.post("orders.json", body)
    assert response.status_code == 201, response.content
    return response.json()["order"]


def post_transaction(api: ApiClient, order: JsonObject, **fields: object) -> Response:
    return api.post(f"orders/{order['id']}/transactions.json", {"transaction": fields})


def get_financial_status(api: ApiClient, order: JsonObject) -> str:
    return api.get(f"orders/{order['id']}.json").json()["order"]["financial_status"]


def test_wire_of_every_route(api: ApiClient, order: JsonObject) -> None:
    path = f"orders/{order['id']}/transactions"
    authorized = post_transaction(
        api, order, kind="authorization", amount="60.00", authorization="code-1", message="Approved"
    ).json()
    captured = post_transaction(api, order, kind="capture", amount="10.00", message="Captured").json()
    pk = authorized["transaction"]["id"]

    assert_fits("transaction", "POST /orders/{id}/transactions.json", captured)
    assert_fits("transaction", "GET /orders/{id}/transactions.json", api.get(f"{path}.json").json())
    assert_fits("transaction", "GET /orders/{id}/transactions/{id}.json", api.get(f"{path}/{pk}.json").json())
    assert_fits("transaction", "GET /orders/{id}/transactions/count.json", api.get(f"{path}/count.json").json())


def test_authorization_is_captured_in_parts(api: ApiClient, order: JsonObject) -> None:
    authorization = post_transaction(api, order, kind="authorization", amount="100.00").json()["transaction"]
    assert get_financial_status(api, order) == "authorized"
    assert authorization["payment_id"] == "#1001.1"

    first = post_transaction(api, order, kind="capture", amount="40.00", parent_id=authorization["id"])
    assert (first.status_code, get_financial_status(api, order)) == (201, "partially_paid")
    transaction = api.get(f"orders/{order['id']}/transactions/{authorization['id']}.json").json()["transaction"]
    assert transaction["total_unsettled_set"]["shop_money"] == {"amount": "60.00", "currency": "USD"}
    beyond = post_transaction(api, order, kind="capture", amount="60.01")
    assert beyond.json() == {"errors": {"amount": ["must be less than or equal to 60.00"]}}
    rest = post_transaction(api, order, kind="capture")

    assert rest.json()["transaction"]["amount"] == "60.00"
    assert rest.json()["transaction"]["parent_id"] == authorization["id"]
    assert get_financial_status(api, order) == "paid"
    assert post_transaction(api, order, kind="capture", parent_id=authorization["id"]).status_code == 422
    assert post_transaction(api, order, kind="void", parent_id=authorization["id"]).status_code == 422


def test_void_ends_an_authorization(api: ApiClient, order: JsonObject) -> None:
    authorization = post_transaction(api, order, kind="authorization").json()["transaction"]

    void = post_transaction(api, order, kind="void", parent_id=authorization["id"], authorization="code-1")

    assert (authorization["amount"], void.json()["transaction"]["amount"]) == ("100.00", "0.00")
    assert void.json()["transaction"]["authorization"] is None
    assert (void.status_code, get_financial_status(api, order)) == (201, "voided")
    assert post_transaction(api, order, kind="capture", amount="1.00", parent_id=authorization["id"]).status_code == 422
    assert post_transaction(api, order, kind="void", parent_id=authorization["id"]).status_code == 422


def test_a_captured_authorization_cannot_be_voided(api: ApiClient, order: JsonObject) -> None:
    post_transaction(api, order, kind="authorization")
    post_transaction(api, order, kind="capture", amount="1.00")

    response = post_transaction(api, order, kind="void")

    assert response.status_code == 422
    assert get_financial_status(api, order) == "partially_paid"


def test_sales_pay_what_is_owed_and_no_more(api: ApiClient, order: JsonObject, shop: Shop) -> None:
    assert post_transaction(api, order, kind="sale", amount="99.99").status_code == 201
    assert get_financial_status(api, order) == "partially_paid"
    assert post_transaction(api, order, kind="sale", amount="0.02").json() == {
        "errors": {"amount": ["must be less than or equal to 0.01"]}
    }
    assert post_transaction(api, order, kind="sale").json()["transaction"]["amount"] == "0.01"

    assert get_financial_status(api, order) == "paid"
    with shop_scope(shop):
        assert Customer.objects.get().total_spent == Decimal("100.00")
        assert Event.objects.filter(topic="orders/paid").count() == 1
        assert Event.objects.filter(topic="order_transactions/create").count() == 2


def test_captures_of_several_authorizations_take_no_more_than_is_owed(api: ApiClient, order: JsonObject) -> None:
    for _ in range(2):
        post_transaction(api, order, kind="authorization", amount="100.00")
    post_transaction(api, order, kind="sale", amount="30.00")

    refused = post_transaction(api, order, kind="capture", amount="70.01")
    rest = post_transaction(api, order, kind="capture")
    second_response = post_transaction(api, order, kind="capture")

    assert refused.json() == {"errors": {"amount": ["must be less than or equal to 70.00"]}}
    assert rest.json()["transaction"]["amount"] == "70.00"
    assert second_response.status_code == 422
    assert api.get(f"orders/{order['id']}.json").json()["order"]["total_outstanding"] == "0.00"


def test_a_capture_names_its_authorization_by_the_code(api: ApiClient, order: JsonObject) -> None:
    first = post_transaction(api, order, kind="authorization", amount="40.00", authorization="auth-1").json()[
        "transaction"
    ]
    second = post_transaction(api, order, kind="authorization", amount="60.00", authorization="auth-2").json()[
        "transaction"
    ]

    by_code = post_transaction(api, order, kind="capture", authorization="auth-1").json()["transaction"]
    newest = post_transaction(api, order, kind="capture", authorization="capture-7").json()["transaction"]

    assert (by_code["parent_id"], by_code["amount"]) == (first["id"], "40.00")
    assert (newest["parent_id"], newest["amount"]) == (second["id"], "60.00")


def test_failed_attempts_move_nothing(api: ApiClient, order: JsonObject) -> None:
    failed = post_transaction(api, order, kind="sale", amount="100.00", status="failure", error_code="card_declined")

    assert failed.json()["transaction"]["error_code"] == "card_declined"
    assert get_financial_status(api, order) == "pending"
    authorization = post_transaction(api, order, kind="authorization", status="failure").json()["transaction"]
    assert post_transaction(api, order, kind="capture", parent_id=authorization["id"]).status_code == 422


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kind": "refund", "amount": "1.00"}, "kind"),
        ({"kind": "gift"}, "kind"),
        ({"kind": "sale", "amount": "0.00"}, "amount"),
        ({"kind": "sale", "amount": "0.005"}, "amount"),
        ({"kind": "sale", "amount": "1e1"}, "amount"),
        ({"kind": "sale", "amount": "-1.00"}, "amount"),
        ({"kind": "sale", "amount": "1.00", "currency": "EUR"}, "currency"),
        ({"kind": "sale", "status": "odd"}, "status"),
        ({"kind": "capture", "amount": "1.00"}, "parent_id"),
        ({"kind": "void"}, "parent_id"),
        ({"kind": "capture", "parent_id": 999999}, "parent_id"),
        ({"kind": "capture", "parent_id": "x"}, "parent_id"),
        ({"kind": "sale", "receipt": "x"}, "receipt"),
    ],
)
def test_invalid_values_are_refused(
    api: ApiClient, order: JsonObject, shop: Shop, fields: JsonObject, field: str
) -> None:
    response = post_transaction(api, order, **fields)

    assert response.status_code == 422, response.content
    assert list(response.json()["errors"]) == [field]
    with shop_scope(shop):
        assert not Transaction.objects.exists()


def test_a_transaction_of_another_order_is_no_parent_and_not_found(api: ApiClient, order: JsonObject) -> None:
    other = post_order(api)
    foreign = post_transaction(api, other, kind="authorization").json()["transaction"]

    assert post_transaction(api, order, kind="capture", parent_id=foreign["id"]).status_code == 422
    assert api.get(f"orders/{order['id']}/transactions/{foreign['id']}.json").status_code == 404
    assert api.get(f"orders/{order['id']}/transactions.json").json() == {"transactions": []}


def test_cancelled_orders_take_no_money(api: ApiClient, order: JsonObject) -> None:
    api.post(f"orders/{order['id']}/cancel.json")

    assert post_transaction(api, order, kind="sale", amount="1.00").json() == {
        "errors": {"base": ["The order is canceled"]}
    }


def test_orders_in_two_currencies_want_to_know_which(api: ApiClient) -> None:
    order = post_order(api, presentment_currency="JPY", exchange_rate="151.27")

    assert post_transaction(api, order, kind="sale", amount="100").json() == {
        "errors": {"currency": ["can't be blank"]}
    }
    assert post_transaction(api, order, kind="sale", amount="1.5", currency="JPY").status_code == 422
    assert post_transaction(api, order, kind="sale", amount="15127", currency="KWD").status_code == 422
    authorized = post_transaction(api, order, kind="authorization", amount="15127", currency="JPY")
    assert authorized.status_code == 201
    mixed = post_transaction(api, order, kind="capture", amount="50.00", currency="USD")
    assert mixed.json() == {"errors": {"currency": ["must be JPY, the currency of the authorization"]}}
    captured = post_transaction(api, order, kind="capture", amount="15127", currency="JPY")

    assert captured.json()["transaction"]["currency"] == "JPY"
    assert get_financial_status(api, order) == "paid"


def test_a_payment_in_the_buyers_currency_pays_in_spite_of_roundings(api: ApiClient) -> None:
    lines = [{"title": "Vase", "price": "10.00", "quantity": 1}]
    order = post_order(api, line_items=lines, presentment_currency="JPY", exchange_rate="148.33")

    post_transaction(api, order, kind="sale", amount="1483", currency="JPY")

    assert get_financial_status(api, order) == "paid"


def test_roundings_of_small_payments_do_not_pay_an_order(api: ApiClient) -> None:
    lines = [{"title": "Bead", "price": "0.05", "quantity": 1}]
    order = post_order(api, line_items=lines, presentment_currency="JPY", exchange_rate="151.27")

    for _ in range(7):
        assert post_transaction(api, order, kind="sale", amount="1", currency="JPY").status_code == 201
    partly = get_financial_status(api, order)
    too_much = post_transaction(api, order, kind="sale", amount="2", currency="JPY")
    post_transaction(api, order, kind="sale", amount="1", currency="JPY")

    assert partly == "partially_paid"
    assert too_much.json() == {"errors": {"amount": ["must be less than or equal to 1"]}}
    assert get_financial_status(api, order) == "paid"
    assert api.get(f"orders/{order['id']}.json").json()["order"]["total_outstanding"] == "0.00"


def test_a_payment_that_no_column_holds_is_refused(api: ApiClient) -> None:
    lines = [{"title": "Bead", "price": "1.00", "quantity": 1}]
    order = post_order(api, line_items=lines, presentment_currency="JPY", exchange_rate="0.000001")

    response = post_transaction(api, order, kind="authorization", amount="999999999999", currency="JPY")

    assert response.json() == {"errors": {"amount": ["is invalid"]}}


def test_events_of_an_order_are_its_timeline(api: ApiClient, order: JsonObject) -> None:
    post_transaction(api, order, kind="sale")
    api.post(f"orders/{order['id']}/close.json")

    body = api.get(f"orders/{order['id']}/events.json").json()

    assert_fits("event", "GET /orders/{id}/events.json", body)
    assert [event["verb"] for event in body["events"]] == ["create", "update", "paid", "update"]
    assert body["events"][3]["message"] == "Order closed: #1001"
    assert body["events"][0]["author"] == f"{api.installation.app.name} (app)"
    assert {event["subject_type"] for event in body["events"]} == {"Order"}
    after = api.get(f"orders/{order['id']}/events.json", since_id=body["events"][1]["id"], limit=1).json()["events"]
    assert after == [body["events"][2]]


def test_pending_payments_count_and_are_concluded_by_their_outcome(api: ApiClient, order: JsonObject) -> None:
    assert post_transaction(api, order, kind="sale", amount="100.00", status="pending").status_code == 201
    assert get_financial_status(api, order) == "pending"

    second_transaction = post_transaction(api, order, kind="sale", amount="100.00", status="pending")
    beside = post_transaction(api, order, kind="sale", amount="0.01")
    failed = post_transaction(api, order, kind="sale", amount="100.00", status="failure")
    second = post_transaction(api, order, kind="sale", amount="60.00", status="pending")
    beyond = post_transaction(api, order, kind="sale", amount="40.01")
    transaction = post_transaction(api, order, kind="sale", amount="60.00")
    rest = post_transaction(api, order, kind="sale", amount="40.00")

    assert second_transaction.json() == beside.json() == {"errors": {"amount": ["must be less than or equal to 0.00"]}}
    assert beyond.json() == {"errors": {"amount": ["must be less than or equal to 40.00"]}}
    assert [response.status_code for response in (failed, second, transaction, rest)] == [201] * 4
    assert get_financial_status(api, order) == "paid"


def test_pending_captures_reserve_their_authorization(api: ApiClient, order: JsonObject) -> None:
    post_transaction(api, order, kind="authorization", amount="50.00")
    post_transaction(api, order, kind="capture", amount="30.00", status="pending")

    beyond = post_transaction(api, order, kind="capture", amount="20.01")
    void = post_transaction(api, order, kind="void")
    response = post_transaction(api, order, kind="capture", amount="30.00")

    assert beyond.json() == {"errors": {"amount": ["must be less than or equal to 20.00"]}}
    assert (void.status_code, response.status_code) == (422, 201)
    assert api.get(f"orders/{order['id']}.json").json()["order"]["total_outstanding"] == "70.00"


def test_an_order_comes_with_no_more_money_than_it_costs(api: ApiClient) -> None:
    sale = {"kind": "sale", "amount": "100.00"}
    body = {"line_items": HUNDRED, "email": "ada@example.com", "transactions": [{**sale, "status": "pending"}, sale]}
    more = {**body, "transactions": [*body["transactions"], {**sale, "amount": "0.01"}]}

    refused = api.post("orders.json", {"order": more})
    response = api.post("orders.json", {"order": body})

    assert refused.json() == {"errors": {"transactions.2.amount": ["must be less than or equal to 0.00"]}}
    assert response.json()["order"]["financial_status"] == "paid"


def test_cancelling_after_a_failed_capture_voids_the_authorization(api: ApiClient, order: JsonObject) -> None:
    post_transaction(api, order, kind="authorization")
    post_transaction(api, order, kind="capture", status="pending")
    post_transaction(api, order, kind="capture", status="failure")

    cancelled = api.post(f"orders/{order['id']}/cancel.json").json()["order"]

    assert cancelled["financial_status"] == "voided"
    kinds = [row["kind"] for row in api.get(f"orders/{order['id']}/transactions.json").json()["transactions"]]
    assert kinds == ["authorization", "capture", "capture", "void"]


def test_the_outcome_of_a_pending_capture_is_noted_on_a_cancelled_order(api: ApiClient, order: JsonObject) -> None:
    post_transaction(api, order, kind="authorization")
    post_transaction(api, order, kind="capture", amount="70.00", status="pending")
    assert api.post(f"orders/{order['id']}/cancel.json").json()["order"]["financial_status"] == "authorized"

    other = post_transaction(api, order, kind="capture", amount="30.00")
    void = post_transaction(api, order, kind="void")
    response = post_transaction(api, order, kind="capture", amount="70.00")

    assert other.json() == {"errors": {"base": ["The order is canceled"]}}
    assert void.status_code == 422
    assert response.status_code == 201, response.content
    assert get_financial_status(api, order) == "partially_paid"


def test_an_order_with_money_through_a_gateway_cannot_be_deleted(api: ApiClient) -> None:
    payment = post_order(api, transactions=[{"kind": "sale", "gateway": "card-house"}])
    tried = post_order(api, transactions=[{"kind": "sale", "gateway": "card-house", "status": "failure"}])
    by_hand = post_order(api, financial_status="paid")
    test = post_order(api, transactions=[{"kind": "sale", "gateway": "card-house", "test": True}])

    refused = api.delete(f"orders/{payment['id']}.json")

    assert refused.status_code == 422
    assert refused.json() == {"errors": {"base": ["An order that was paid through a gateway cannot be deleted"]}}
    assert api.get(f"orders/{payment['id']}.json").status_code == 200
    for other in (tried, by_hand, test):
        assert api.delete(f"orders/{other['id']}.json").status_code == 200


@pytest.mark.parametrize(
    "amount", ["1_000", "１２", "٣", " 5 ", "1e2", "-0.00", "5.", "+5", "NaN", "0.005", "1e1000000", True, []]
)
def test_amounts_of_payments_are_plain_digits(api: ApiClient, order: JsonObject, amount: object) -> None:
    response = post_transaction(api, order, kind="sale", amount=amount)

    assert response.status_code == 422, response.content
    assert list(response.json()["errors"]) == ["amount"]
    assert api.get(f"orders/{order['id']}/transactions/count.json").json() == {"count": 0}


@pytest.mark.parametrize(
    ("currency", "price", "finer"), [("JPY", "100", "100.0"), ("KWD", "1.005", "1.0050"), ("USD", "1.05", "1.050")]
)
def test_amounts_have_the_decimals_of_their_currency(api: ApiClient, currency: str, price: str, finer: str) -> None:
    line = {"title": "Vase", "price": price}
    body = {"email": "ada@example.com", "currency": currency, "line_items": [line]}

    order = post_order(api, currency=currency, line_items=[line])
    refused = api.post("orders.json", {"order": {**body, "line_items": [{**line, "price": finer}]}})
    response = post_transaction(api, order, kind="sale", amount=finer)

    assert order["total_price"] == price
    assert refused.json() == {"errors": {"line_items.0.price": ["is invalid"]}}
    assert (response.status_code, list(response.json()["errors"])) == (422, ["amount"])
    assert post_transaction(api, order, kind="sale", amount=price).status_code == 201


def test_payments_stay_in_the_currencies_of_their_order(api: ApiClient) -> None:
    order = post_order(api, presentment_currency="JPY", exchange_rate="150")
    authorization = post_transaction(api, order, kind="authorization", amount="15000", currency="JPY").json()[
        "transaction"
    ]

    silent = post_transaction(api, order, kind="sale", amount="1.00")
    foreign = post_transaction(api, order, kind="sale", amount="1.00", currency="EUR")
    finer = post_transaction(api, order, kind="sale", amount="1.5", currency="JPY")
    mixed = post_transaction(api, order, kind="capture", amount="1.00", currency="USD", parent_id=authorization["id"])

    assert silent.json() == {"errors": {"currency": ["can't be blank"]}}
    assert foreign.json() == {"errors": {"currency": ["is not one of the order's currencies"]}}
    assert finer.json() == {"errors": {"amount": ["is invalid"]}}
    assert mixed.json() == {"errors": {"currency": ["must be JPY, the currency of the authorization"]}}
