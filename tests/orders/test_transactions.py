from decimal import Decimal

import pytest

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.orders.models import Transaction
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.orders import make_order
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

HUNDRED = [{"title": "Vase", "price": "100.00", "quantity": 1}]


@pytest.fixture
def order(api: ApiClient) -> JsonObject:
    return post_order(api)


def post_order(api: ApiClient, **fields: object) -> JsonObject:
    body = {"order": {"line_items": HUNDRED, "email": "ada@example.com", **fields}}
    response = api.post("orders.json", body)
    assert response.status_code == 201, response.content
    return response.json()["order"]


def post_transaction(api: ApiClient, order: JsonObject, kind: str, **fields: object) -> Response:
    return api.post(f"orders/{order['id']}/transactions.json", {"transaction": {"kind": kind, **fields}})


def pay(api: ApiClient, order: JsonObject, kind: str, **fields: object) -> JsonObject:
    response = post_transaction(api, order, kind, **fields)
    assert response.status_code == 201, response.content
    return response.json()["transaction"]


def get_payment_errors(api: ApiClient, order: JsonObject, kind: str, **fields: object) -> dict[str, list[str]]:
    return get_errors(post_transaction(api, order, kind, **fields))


def at_most(amount: str) -> dict[str, list[str]]:
    return {"amount": [f"must be less than or equal to {amount}"]}


def get_order(api: ApiClient, order: JsonObject) -> JsonObject:
    return api.get(f"orders/{order['id']}.json").json()["order"]


def get_financial_status(api: ApiClient, order: JsonObject) -> str:
    return get_order(api, order)["financial_status"]


def test_wire_of_every_route(api: ApiClient, order: JsonObject) -> None:
    path = f"orders/{order['id']}/transactions"
    pk = pay(api, order, "authorization", amount="60.00", authorization="code-1", message="Approved")["id"]

    for route, body in {
        "POST /orders/{id}/transactions.json": {
            "transaction": pay(api, order, "capture", amount="10.00", message="Ok")
        },
        "GET /orders/{id}/transactions.json": api.get(f"{path}.json").json(),
        "GET /orders/{id}/transactions/{id}.json": api.get(f"{path}/{pk}.json").json(),
        "GET /orders/{id}/transactions/count.json": api.get(f"{path}/count.json").json(),
    }.items():
        assert_fits("transaction", route, body)


def test_authorization_is_captured_in_parts(api: ApiClient, order: JsonObject) -> None:
    authorization = pay(api, order, "authorization", amount="100.00")
    pk = authorization["id"]
    assert (get_financial_status(api, order), authorization["payment_id"]) == ("authorized", "#1001.1")

    pay(api, order, "capture", amount="40.00", parent_id=pk)
    assert get_financial_status(api, order) == "partially_paid"
    transaction = api.get(f"orders/{order['id']}/transactions/{pk}.json").json()["transaction"]
    assert transaction["total_unsettled_set"]["shop_money"] == {"amount": "60.00", "currency": "USD"}
    assert get_payment_errors(api, order, "capture", amount="60.01") == at_most("60.00")
    rest = pay(api, order, "capture")

    assert (rest["amount"], rest["parent_id"], get_financial_status(api, order)) == ("60.00", pk, "paid")
    for kind in ("capture", "void"):
        assert get_payment_errors(api, order, kind, parent_id=pk)


def test_void_ends_an_authorization(api: ApiClient, order: JsonObject) -> None:
    authorization = pay(api, order, "authorization")

    void = pay(api, order, "void", parent_id=authorization["id"], authorization="code-1")

    assert (authorization["amount"], void["amount"], void["authorization"]) == ("100.00", "0.00", None)
    assert get_financial_status(api, order) == "voided"
    assert get_payment_errors(api, order, "capture", amount="1.00", parent_id=authorization["id"])
    assert get_payment_errors(api, order, "void", parent_id=authorization["id"])


def test_a_captured_authorization_cannot_be_voided(api: ApiClient, order: JsonObject) -> None:
    pay(api, order, "authorization")
    pay(api, order, "capture", amount="1.00")

    assert get_payment_errors(api, order, "void")
    assert get_financial_status(api, order) == "partially_paid"


def test_sales_pay_what_is_owed_and_no_more(api: ApiClient, order: JsonObject) -> None:
    pay(api, order, "sale", amount="99.99")
    assert get_financial_status(api, order) == "partially_paid"
    assert get_payment_errors(api, order, "sale", amount="0.02") == at_most("0.01")
    assert pay(api, order, "sale")["amount"] == "0.01"

    assert get_financial_status(api, order) == "paid"
    assert Customer.objects.get().total_spent == Decimal("100.00")
    assert Event.objects.filter(topic="orders/paid").count() == 1
    assert Event.objects.filter(topic="order_transactions/create").count() == 2


def test_captures_of_several_authorizations_take_no_more_than_is_owed(api: ApiClient, order: JsonObject) -> None:
    for _ in range(2):
        pay(api, order, "authorization", amount="100.00")
    pay(api, order, "sale", amount="30.00")

    assert get_payment_errors(api, order, "capture", amount="70.01") == at_most("70.00")
    assert pay(api, order, "capture")["amount"] == "70.00"
    assert get_payment_errors(api, order, "capture")
    assert get_order(api, order)["total_outstanding"] == "0.00"


def test_a_capture_names_its_authorization_by_the_code(api: ApiClient, order: JsonObject) -> None:
    first = pay(api, order, "authorization", amount="40.00", authorization="auth-1")
    second = pay(api, order, "authorization", amount="60.00", authorization="auth-2")

    by_code = pay(api, order, "capture", authorization="auth-1")
    newest = pay(api, order, "capture", authorization="capture-7")

    assert (by_code["parent_id"], by_code["amount"]) == (first["id"], "40.00")
    assert (newest["parent_id"], newest["amount"]) == (second["id"], "60.00")


def test_failed_attempts_move_nothing(api: ApiClient, order: JsonObject) -> None:
    failed = pay(api, order, "sale", amount="100.00", status="failure", error_code="card_declined")

    assert (failed["error_code"], get_financial_status(api, order)) == ("card_declined", "pending")
    authorization = pay(api, order, "authorization", status="failure")
    assert get_payment_errors(api, order, "capture", parent_id=authorization["id"])


UNREADABLE = ["1_000", "１２", "٣", " 5 ", "1e2", "-0.00", "5.", "+5", "NaN", "0.005", "1e1000000", True, []]


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("refund", {"amount": "1.00"}, "kind"),
        ("gift", {}, "kind"),
        *(("sale", {"amount": amount}, "amount") for amount in (*UNREADABLE, "0.00", "-1.00")),
        ("sale", {"amount": "1.00", "currency": "EUR"}, "currency"),
        ("sale", {"status": "odd"}, "status"),
        ("capture", {"amount": "1.00"}, "parent_id"),
        ("void", {}, "parent_id"),
        ("capture", {"parent_id": 999999}, "parent_id"),
        ("capture", {"parent_id": "x"}, "parent_id"),
        ("sale", {"receipt": "x"}, "receipt"),
    ],
)
def test_invalid_values_are_refused(
    api: ApiClient, order: JsonObject, kind: str, fields: JsonObject, field: str
) -> None:
    assert list(get_payment_errors(api, order, kind, **fields)) == [field]
    assert not Transaction.objects.exists()


def test_a_transaction_of_another_order_is_no_parent_and_not_found(api: ApiClient, order: JsonObject) -> None:
    foreign = pay(api, post_order(api), "authorization")["id"]

    assert get_payment_errors(api, order, "capture", parent_id=foreign)
    assert api.get(f"orders/{order['id']}/transactions/{foreign}.json").status_code == 404
    assert api.get(f"orders/{order['id']}/transactions.json").json() == {"transactions": []}


def test_cancelled_orders_take_no_money(api: ApiClient, order: JsonObject) -> None:
    api.post(f"orders/{order['id']}/cancel.json")

    assert get_payment_errors(api, order, "sale", amount="1.00") == {"base": ["The order is canceled"]}


def test_orders_in_two_currencies_want_to_know_which(api: ApiClient) -> None:
    order = post_order(api, presentment_currency="JPY", exchange_rate="151.27")

    assert get_payment_errors(api, order, "sale", amount="100") == {"currency": ["can't be blank"]}
    assert get_payment_errors(api, order, "sale", amount="1.5", currency="JPY") == {"amount": ["is invalid"]}
    foreign = get_payment_errors(api, order, "sale", amount="15127", currency="KWD")
    pay(api, order, "authorization", amount="15127", currency="JPY")
    mixed = get_payment_errors(api, order, "capture", amount="50.00", currency="USD")

    assert foreign == {"currency": ["is not one of the order's currencies"]}
    assert mixed == {"currency": ["must be JPY, the currency of the authorization"]}
    assert pay(api, order, "capture", amount="15127", currency="JPY")["currency"] == "JPY"
    assert get_financial_status(api, order) == "paid"


def post_small_order(api: ApiClient, price: str, rate: str) -> JsonObject:
    lines = [{"title": "Bead", "price": price, "quantity": 1}]
    return post_order(api, line_items=lines, presentment_currency="JPY", exchange_rate=rate)


def test_a_payment_in_the_buyers_currency_pays_in_spite_of_roundings(api: ApiClient) -> None:
    order = post_small_order(api, "10.00", "148.33")

    pay(api, order, "sale", amount="1483", currency="JPY")

    assert get_financial_status(api, order) == "paid"


def test_roundings_of_small_payments_do_not_pay_an_order(api: ApiClient) -> None:
    order = post_small_order(api, "0.05", "151.27")

    for _ in range(7):
        pay(api, order, "sale", amount="1", currency="JPY")
    partly = get_financial_status(api, order)
    too_much = get_payment_errors(api, order, "sale", amount="2", currency="JPY")
    pay(api, order, "sale", amount="1", currency="JPY")

    assert (partly, too_much) == ("partially_paid", at_most("1"))
    after = get_order(api, order)
    assert (after["financial_status"], after["total_outstanding"]) == ("paid", "0.00")


def test_a_payment_that_no_column_holds_is_refused(api: ApiClient) -> None:
    order = post_small_order(api, "1.00", "0.000001")

    errors = get_payment_errors(api, order, "authorization", amount="999999999999", currency="JPY")

    assert errors == {"amount": ["is invalid"]}


def test_events_of_an_order_are_its_timeline(api: ApiClient, order: JsonObject) -> None:
    pay(api, order, "sale")
    api.post(f"orders/{order['id']}/close.json")

    body = api.get(f"orders/{order['id']}/events.json").json()

    assert_fits("event", "GET /orders/{id}/events.json", body)
    events = body["events"]
    assert [event["verb"] for event in events] == ["create", "update", "paid", "update"]
    assert (events[3]["message"], events[0]["author"]) == ("Order closed: #1001", f"{api.installation.app.name} (app)")
    assert {event["subject_type"] for event in events} == {"Order"}
    after = api.get(f"orders/{order['id']}/events.json", since_id=events[1]["id"], limit=1).json()["events"]
    assert after == [events[2]]


def test_pending_payments_count_and_are_concluded_by_their_outcome(api: ApiClient, order: JsonObject) -> None:
    pay(api, order, "sale", amount="100.00", status="pending")
    assert get_financial_status(api, order) == "pending"

    assert get_payment_errors(api, order, "sale", amount="100.00", status="pending") == at_most("0.00")
    assert get_payment_errors(api, order, "sale", amount="0.01") == at_most("0.00")
    pay(api, order, "sale", amount="100.00", status="failure")
    pay(api, order, "sale", amount="60.00", status="pending")
    assert get_payment_errors(api, order, "sale", amount="40.01") == at_most("40.00")
    pay(api, order, "sale", amount="60.00")
    pay(api, order, "sale", amount="40.00")

    assert get_financial_status(api, order) == "paid"


def test_pending_captures_reserve_their_authorization(api: ApiClient, order: JsonObject) -> None:
    pay(api, order, "authorization", amount="50.00")
    pay(api, order, "capture", amount="30.00", status="pending")

    assert get_payment_errors(api, order, "capture", amount="20.01") == at_most("20.00")
    assert get_payment_errors(api, order, "void")
    pay(api, order, "capture", amount="30.00")

    assert get_order(api, order)["total_outstanding"] == "70.00"


def test_an_order_comes_with_no_more_money_than_it_costs(api: ApiClient) -> None:
    sale = {"kind": "sale", "amount": "100.00"}
    body = {"line_items": HUNDRED, "email": "ada@example.com", "transactions": [{**sale, "status": "pending"}, sale]}
    more = {**body, "transactions": [*body["transactions"], {**sale, "amount": "0.01"}]}

    refused = api.post("orders.json", {"order": more})
    response = api.post("orders.json", {"order": body})

    assert refused.json() == {"errors": {"transactions.2.amount": ["must be less than or equal to 0.00"]}}
    assert response.json()["order"]["financial_status"] == "paid"


def test_cancelling_after_a_failed_capture_voids_the_authorization(api: ApiClient, order: JsonObject) -> None:
    pay(api, order, "authorization")
    pay(api, order, "capture", status="pending")
    pay(api, order, "capture", status="failure")

    cancelled = api.post(f"orders/{order['id']}/cancel.json").json()["order"]

    assert cancelled["financial_status"] == "voided"
    kinds = [row["kind"] for row in api.get(f"orders/{order['id']}/transactions.json").json()["transactions"]]
    assert kinds == ["authorization", "capture", "capture", "void"]


def test_the_outcome_of_a_pending_capture_is_noted_on_a_cancelled_order(api: ApiClient, order: JsonObject) -> None:
    pay(api, order, "authorization")
    pay(api, order, "capture", amount="70.00", status="pending")
    assert api.post(f"orders/{order['id']}/cancel.json").json()["order"]["financial_status"] == "authorized"

    assert get_payment_errors(api, order, "capture", amount="30.00") == {"base": ["The order is canceled"]}
    assert get_payment_errors(api, order, "void")
    pay(api, order, "capture", amount="70.00")

    assert get_financial_status(api, order) == "partially_paid"


def test_an_order_with_money_through_a_gateway_cannot_be_deleted(api: ApiClient) -> None:
    sale = {"kind": "sale", "gateway": "card-house"}
    paid = post_order(api, transactions=[sale])["id"]
    others = [
        post_order(api, transactions=[{**sale, **more}])["id"] for more in ({"status": "failure"}, {"test": True})
    ]
    others.append(post_order(api, financial_status="paid")["id"])

    refused = api.delete(f"orders/{paid}.json")

    assert get_errors(refused) == {"base": ["An order that was paid through a gateway cannot be deleted"]}
    assert api.get(f"orders/{paid}.json").status_code == 200
    assert [api.delete(f"orders/{pk}.json").status_code for pk in others] == [200] * 3


@pytest.mark.parametrize(
    ("currency", "price", "finer"), [("JPY", "100", "100.5"), ("KWD", "1.005", "1.0055"), ("USD", "1.05", "1.055")]
)
def test_payments_have_the_decimals_of_their_currency(api: ApiClient, currency: str, price: str, finer: str) -> None:
    order = post_order(api, currency=currency, line_items=[{"title": "Vase", "price": price}])

    assert get_payment_errors(api, order, "sale", amount=finer) == {"amount": ["is invalid"]}
    assert pay(api, order, "sale", amount=price)["amount"] == order["total_price"] == price


def test_transactions_are_shown_in_the_shop_currency(api: ApiClient, shop: Shop) -> None:
    sale = {"kind": "sale", "amount": Decimal("18.00"), "currency": "EUR"}
    order = make_order(shop, presentment_currency="EUR", exchange_rate=Decimal("0.9"), transactions=[sale])
    path = f"orders/{order.pk}/transactions"

    def read(**query: str) -> list[tuple[str, str]]:
        rows = api.get(f"{path}.json", **query).json()["transactions"]
        single = api.get(f"{path}/{rows[0]['id']}.json", **query).json()["transaction"]
        return [(row["amount"], row["currency"]) for row in (*rows, single)]

    assert read() == read(in_shop_currency="false") == [("18.00", "EUR")] * 2
    assert read(in_shop_currency="true") == [("20.00", "USD")] * 2
    assert api.get(f"{path}.json", in_shop_currency="maybe").status_code == 400
    assert api.get(f"{path}/count.json", in_shop_currency="true").json() == {"count": 1}
