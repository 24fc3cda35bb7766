"""Tests for orders that are paid with gift cards."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs import consistency_checks
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.gift_cards.domain import gift_cards
from apps.gift_cards.domain.gateway import GiftCardGateway
from apps.gift_cards.domain.payments import GiftCardPaymentRefused
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from apps.orders.domain import payments
from apps.orders.models import Order, Transaction
from apps.refunds.domain import gateway_reconciliation
from apps.refunds.domain.gateways import GatewayCall, GatewayResult, GatewayUnreachable, Status
from tests.support.api_client import ApiClient, ClientWith, Response, get_errors
from tests.support.factories import make_shop
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import is_money_consistent, run_refund_jobs
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

HUNDRED = [{"title": "Vase", "price": "100.00", "quantity": 1}]
CHECKS = {"gift card balances", "gift card payments"}


def build_payment(card: GiftCard | int, amount: str | None = None, kind: str = "sale", **fields: object) -> JsonObject:
    fields = {"amount": amount, **fields} if amount else fields
    card_id = card if isinstance(card, int) else card.pk
    return {"kind": kind, "gateway": "gift_card", "receipt": {"gift_card_id": card_id}, **fields}


def send_order(api: ApiClient, *payments: JsonObject, **fields: object) -> Response:
    body = {"line_items": HUNDRED, "email": "ada@example.com", "transactions": payments, **fields}
    return api.post("orders.json", {"order": body})


def post_order(api: ApiClient, *payments: JsonObject, **fields: object) -> JsonObject:
    response = send_order(api, *payments, **fields)
    assert response.status_code == 201, response.content
    return response.json()["order"]


def send_transaction(api: ApiClient, order: JsonObject, values: JsonObject) -> Response:
    return api.post(f"orders/{order['id']}/transactions.json", {"transaction": values})


def post_transaction(api: ApiClient, order: JsonObject, values: JsonObject) -> JsonObject:
    response = send_transaction(api, order, values)
    assert response.status_code == 201, response.content
    return response.json()["transaction"]


def post_refund(api: ApiClient, order: JsonObject, amount: str, **fields: object) -> JsonObject:
    body = {"transactions": [{"amount": amount, **fields}]}
    response = api.post(f"orders/{order['id']}/refunds.json", {"refund": body})
    assert response.status_code == 201, response.content
    return response.json()["refund"]["transactions"][0]


def get_order(api: ApiClient, order: JsonObject) -> JsonObject:
    return api.get(f"orders/{order['id']}.json").json()["order"]


def get_balance(card: GiftCard) -> Any:
    card.refresh_from_db()
    return card.balance


def get_ledger(card: GiftCard) -> list[tuple[str, Any]]:
    """Return the kinds and amounts of the ledger after the initial value."""
    return list(card.adjustments.filter(number__gt=1).order_by("number").values_list("kind", "amount"))


def is_consistent() -> bool:
    return list(consistency_checks.find_differences(CHECKS)) == [] and is_money_consistent()


def test_a_card_pays_an_order_in_full(api: ApiClient) -> None:
    card = make_gift_card("150.00")

    order = post_order(api, build_payment(card))
    row = api.get(f"gift_cards/{card.pk}/adjustments.json").json()["adjustments"][0]

    assert (order["financial_status"], order["total_outstanding"]) == ("paid", "0.00")
    assert order["payment_gateway_names"] == ["gift_card"]
    (paid,) = api.get(f"orders/{order['id']}/transactions.json").json()["transactions"]
    assert (row["amount"], row["note"], row["order_transaction_id"]) == ("-100.00", "#1001", paid["id"])
    assert (row["api_client_id"], row["user_id"]) == (api.installation.app_id, None)
    assert_fits("gift_card_adjustment", "GET /gift_cards/{id}/adjustments/{id}.json", {"adjustment": row})
    assert paid["receipt"]["gift_card_id"] == card.pk
    assert get_balance(card) == 50
    event = Event.objects.filter(topic="gift_cards/adjust").get()
    assert event.message == "Paid 100.00 USD for order #1001, new balance 50.00 USD"
    assert is_consistent()


def test_apps_need_access_to_gift_cards_to_pay_with_a_card(client_with: ClientWith) -> None:
    card, without = make_gift_card(), client_with("write_orders", "read_gift_cards")
    order = post_order(without, financial_status="pending")
    values = build_payment(card, "100.00")

    for response in (send_order(without, values), send_transaction(without, order, values)):
        assert response.status_code == 403
        expected = "[API] This action requires merchant approval for write_gift_cards scope."
        assert response.json() == {"errors": expected}
    assert (get_balance(card), Order.objects.count(), Transaction.objects.count()) == (100, 1, 0)

    # A payment that names no card is only a record.
    assert send_transaction(without, order, {**values, "amount": "1.00", "receipt": {}}).status_code == 201
    full = client_with("write_orders", "write_gift_cards")
    assert send_transaction(full, order, {**values, "amount": "99.00"}).status_code == 201
    assert get_balance(card) == 1


def test_two_cards_and_another_gateway_pay_an_order(api: ApiClient) -> None:
    first, second = make_gift_card("30.00"), make_gift_card("80.00")
    order = post_order(api, build_payment(second, "20.00"), build_payment(first, "30.00"))

    post_transaction(api, order, build_payment(second, "5.00"))
    post_transaction(api, order, {"kind": "sale", "gateway": "paypal"})

    assert (get_balance(first), get_balance(second)) == (0, 55)
    assert get_order(api, order)["financial_status"] == "paid"
    assert get_ledger(second) == [("redemption", -20), ("redemption", -5)]
    assert is_consistent()


def test_a_card_pays_until_its_last_day_ends_in_the_shop(shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Honolulu")
    shop.refresh_from_db()
    card, order = make_gift_card("100.00", expires_on=date(2099, 3, 31)), make_order(shop)
    end = datetime(2099, 4, 1, 10, tzinfo=UTC)

    def pay(at: datetime) -> Transaction:
        sale = {"kind": "sale", "gateway": "gift_card", "receipt": {"gift_card_id": card.pk}, "amount": Decimal(5)}
        return payments.create_transaction(order, sale, actor="system", at=at)

    with shop_scope(shop):
        pay(end - timedelta(microseconds=1))
        with pytest.raises(GiftCardPaymentRefused) as refused:
            pay(end)

    assert refused.value.errors == {"receipt.gift_card_id": ["is the ID of a gift card that expired on 2099-03-31"]}
    assert get_balance(card) == 95


def make_unusable_card(problem: str) -> int:
    card = make_gift_card("100.00")
    if problem == "disabled":
        gift_cards.disable_gift_card(card, actor="system", at=timezone.now())
    elif problem == "expired":
        GiftCard.objects.filter(pk=card.pk).update(expires_on="2026-01-31")
    elif problem == "currency":
        GiftCard.objects.filter(pk=card.pk).update(currency="EUR")
    elif problem == "foreign":
        with shop_scope(make_shop()):
            return make_gift_card("100.00").pk
    elif problem == "unknown":
        return card.pk + 1000
    elif problem == "poor":
        return make_gift_card("99.99").pk
    return card.pk


@pytest.mark.parametrize(
    ("problem", "field", "message"),
    [
        ("disabled", "receipt.gift_card_id", "is the ID of a disabled gift card"),
        ("expired", "receipt.gift_card_id", "is the ID of a gift card that expired on 2026-01-31"),
        ("currency", "receipt.gift_card_id", "is the ID of a gift card in EUR"),
        ("foreign", "receipt.gift_card_id", "must exist"),
        ("unknown", "receipt.gift_card_id", "must exist"),
        ("poor", "amount", "is more than the balance of 99.99 USD"),
    ],
)
def test_unusable_cards_are_refused_and_nothing_changes(api: ApiClient, problem: str, field: str, message: str) -> None:
    card, order = make_unusable_card(problem), post_order(api)
    before = Event.objects.count()

    later = send_transaction(api, order, build_payment(card))
    new = send_order(api, {"kind": "authorization", "amount": "1.00"}, build_payment(card, "100.00"))
    held = send_transaction(api, order, build_payment(card, kind="authorization"))

    assert get_errors(later) == get_errors(held) == {field: [message]}
    assert get_errors(new)[f"transactions.1.{field}"] == [message]
    assert (Order.objects.count(), Transaction.objects.count(), Event.objects.count()) == (1, 0, before)
    assert set(GiftCardAdjustment.objects.values_list("number", flat=True)) == {1}


def test_two_payments_of_an_order_cannot_exceed_the_balance(api: ApiClient) -> None:
    card = make_gift_card("60.00")

    refused = send_order(api, build_payment(card, "50.00"), build_payment(card, "50.00"))

    assert get_errors(refused) == {"transactions.1.amount": ["is more than the balance of 10.00 USD"]}
    assert (get_balance(card), Order.objects.count()) == (60, 0)


@pytest.mark.parametrize("card_id", ["x", "-1", "1.5", 1.5, True, [1], {"a": 1}, "9" * 19, "9" * 400, "²"])
def test_invalid_ids_are_refused(api: ApiClient, card_id: object) -> None:
    order = post_order(api)

    refused = send_transaction(api, order, build_payment(1, receipt={"gift_card_id": card_id}))

    assert get_errors(refused) == {"receipt.gift_card_id": ["is invalid"]}
    assert Transaction.objects.count() == 0


def test_codes_are_never_stored(api: ApiClient) -> None:
    order = post_order(api)
    payment = build_payment(1, receipt={"gift_card_code": "abcd efgh"}, status="pending")

    refused = send_transaction(api, order, payment)

    message = "must not be in the receipt, which is stored. Send gift_card_id, the ID of the gift card"
    assert get_errors(refused) == {"receipt.gift_card_code": [message]}
    assert Transaction.objects.count() == 0


@pytest.mark.parametrize(
    "payment",
    [
        {"receipt": {}},
        {"receipt": {"gift_card_id": None}},
        {"receipt": {"gift_card_id": ""}},
        {"receipt": {"last_digits": "1234"}},
        {"status": "pending"},
        {"status": "failure"},
        {"test": True},
        {"gateway": "paypal"},
    ],
)
def test_other_transactions_are_records(api: ApiClient, shop: Shop, payment: JsonObject) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, {**build_payment(card, "60.00"), **payment})
    paid = [row for row in order["payment_gateway_names"] if payment.get("status") is None]

    if paid:
        gateway = payment.get("gateway", "gift_card")
        refund = post_refund(api, order, "20.00")
        assert (refund["gateway"], refund["status"]) == (gateway, "success")

    assert (get_balance(card), get_ledger(card)) == (100, [])
    run_refund_jobs(shop)
    assert is_consistent()


def test_imported_payments_are_records(api: ApiClient, shop: Shop) -> None:
    card = make_gift_card("100.00")
    sale = {**build_payment(card), "amount": Decimal("20.00")}

    order = make_order(shop, transactions=[sale], is_imported=True)
    refund = post_refund(api, {"id": order.pk}, "20.00")

    assert (get_balance(card), refund["status"]) == (100, "success")
    assert is_consistent()


def test_an_authorization_holds_the_amount_and_captures_use_it(api: ApiClient, shop: Shop) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, build_payment(card, "90.00", "authorization"))
    assert (get_balance(card), get_order(api, order)["financial_status"]) == (10, "authorized")

    post_transaction(api, order, {**build_payment(card, "50.00", "capture")})
    other = send_transaction(api, order, build_payment(make_gift_card(), "10.00", "capture"))
    refund = post_refund(api, order, "15.00")
    run_refund_jobs(shop)

    assert get_errors(other) == {"receipt.gift_card_id": ["is not the gift card of the authorization"]}
    assert refund["status"] == "pending"
    assert get_ledger(card) == [("redemption", -90), ("refund", 15)]
    assert is_consistent()
    response = api.post(f"orders/{order['id']}/cancel.json")
    assert response.status_code == 200, response.content
    assert get_ledger(card) == [("redemption", -90), ("refund", 15), ("release", 40)]
    assert is_consistent()


def test_a_capture_of_another_gateway_cannot_name_a_card(api: ApiClient) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, {"kind": "authorization", "gateway": "bogus", "amount": "50.00"})

    refused = send_transaction(api, order, build_payment(card, "50.00", "capture"))

    assert get_errors(refused) == {"receipt.gift_card_id": ["is not the gift card of the authorization"]}
    assert get_balance(card) == 100


@pytest.mark.parametrize("ends", ["void", "cancel"])
def test_a_void_returns_the_amount_once(api: ApiClient, ends: str) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, build_payment(card, "90.00", "authorization"))
    gift_cards.disable_gift_card(card, actor="system", at=timezone.now())

    if ends == "void":
        post_transaction(api, order, {"kind": "void"})
        again = send_transaction(api, order, {"kind": "void"})
        assert again.status_code == 422
    assert api.post(f"orders/{order['id']}/cancel.json").status_code == 200

    assert get_ledger(card) == [("redemption", -90), ("release", 90)]
    void = Transaction.objects.get(kind="void")
    assert card.adjustments.get(kind="release").transaction_id == void.pk
    assert is_consistent()


def test_the_last_capture_of_a_canceled_order_releases_the_rest(api: ApiClient) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, build_payment(card, "90.00", "authorization"))
    captures = [{"kind": "capture", "amount": amount, "status": "pending"} for amount in ("50.00", "10.00")]
    for capture in captures:
        post_transaction(api, order, capture)
    assert api.post(f"orders/{order['id']}/cancel.json").status_code == 200

    post_transaction(api, order, {**captures[0], "status": "success"})
    assert get_ledger(card) == [("redemption", -90)]
    post_transaction(api, order, {**captures[1], "status": "success"})

    assert get_ledger(card) == [("redemption", -90), ("release", 30)]
    assert Transaction.objects.get(kind="authorization").unsettled == 0
    assert is_consistent()


def test_an_order_is_authorized_and_voided_in_one_request(api: ApiClient) -> None:
    card = make_gift_card("100.00")

    post_order(api, build_payment(card, "90.00", "authorization"), {"kind": "void"})

    assert get_ledger(card) == [("redemption", -90), ("release", 90)]
    assert is_consistent()


def test_refunds_go_back_to_the_card(api: ApiClient, shop: Shop) -> None:
    card = make_gift_card("120.00")
    order = post_order(api, build_payment(card, "80.00"), {"kind": "sale", "gateway": "bogus", "amount": "20.00"})
    payment_id = Transaction.objects.get(gateway="gift_card").pk

    first = post_refund(api, order, "30.00", parent_id=payment_id)
    run_refund_jobs(shop)
    second = post_refund(api, order, "50.00", parent_id=payment_id)
    run_refund_jobs(shop)
    exceeding = {"refund": {"transactions": [{"parent_id": payment_id, "amount": "0.01"}]}}
    too_much = api.post(f"orders/{order['id']}/refunds.json", exceeding)

    assert get_ledger(card) == [("redemption", -80), ("refund", 30), ("refund", 50)]
    assert (get_balance(card), too_much.status_code) == (120, 422)
    rows = api.get(f"gift_cards/{card.pk}/adjustments.json").json()["adjustments"]
    assert [row["order_transaction_id"] for row in rows] == [payment_id, first["id"], second["id"]]
    done = api.get(f"orders/{order['id']}/transactions/{first['id']}.json").json()["transaction"]
    assert (done["status"], done["gateway"]) == ("success", "gift_card")
    assert done["message"] == f"Refunded to the gift card ending in {card.last_characters}"
    assert done["receipt"]["gift_card_id"] == card.pk
    assert is_consistent()


def test_a_canceled_order_is_refunded_to_the_card(api: ApiClient, shop: Shop) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, build_payment(card))

    response = api.post(f"orders/{order['id']}/cancel.json", {"amount": "100.00", "currency": "USD"})
    run_refund_jobs(shop)

    assert response.status_code == 200, response.content
    assert (get_balance(card), get_order(api, order)["financial_status"]) == (100, "refunded")
    assert is_consistent()


def test_a_disabled_card_gets_no_refund(api: ApiClient, shop: Shop) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, build_payment(card))
    gift_cards.disable_gift_card(card, actor="system", at=timezone.now())

    post_refund(api, order, "100.00")
    run_refund_jobs(shop)
    failed = Transaction.objects.get(kind="refund")
    by_hand = post_refund(api, order, "100.00", parent_id=failed.parent_id, gateway="manual")

    assert (failed.status, failed.error_code, by_hand["status"]) == ("failure", "gift_card_disabled", "success")
    assert failed.message == (
        f"The gift card ending in {card.last_characters} is disabled. Refund the payment through another gateway, "
        "such as manual"
    )
    assert (get_balance(card), get_order(api, order)["financial_status"]) == (0, "refunded")
    assert is_consistent()


def test_an_expired_card_gets_the_refund_with_a_message(api: ApiClient, shop: Shop) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, build_payment(card))
    GiftCard.objects.filter(pk=card.pk).update(expires_on="2026-01-31")

    post_refund(api, order, "40.00")
    run_refund_jobs(shop)

    row = Transaction.objects.get(kind="refund")
    assert (row.status, get_balance(card)) == ("success", 40)
    assert row.message == (
        f"Refunded to the gift card ending in {card.last_characters}, which expired on 2026-01-31. "
        "The customer cannot spend it"
    )


def call_gateway(row: Transaction) -> GatewayResult:
    key = str(row.refund_payment.key)
    return GiftCardGateway().refund(GatewayCall(key, row.amount, row.currency, "", test=False, order_name="#1"))


def test_repeated_calls_of_the_gateway_move_money_once(
    api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = make_gift_card("100.00")
    post_refund(api, post_order(api, build_payment(card)), "40.00")
    row = Transaction.objects.get(kind="refund")
    assert GiftCardGateway().find(str(row.refund_payment.key)) is None

    first, second = call_gateway(row), call_gateway(row)
    found = GiftCardGateway().find(str(row.refund_payment.key))
    assert list(gateway_reconciliation.find_gateway_differences()) == []
    run_refund_jobs(shop)

    assert first == second == found
    assert (first.status, get_ledger(card)) == (Status.SUCCESS, [("redemption", -100), ("refund", 40)])
    assert is_consistent()


def test_the_card_is_asked_after_a_crash(api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    card = make_gift_card("100.00")
    post_refund(api, post_order(api, build_payment(card)), "40.00")
    refund = GiftCardGateway.refund

    def crash(self: GiftCardGateway, call: Any) -> GatewayResult:
        refund(self, call)
        raise GatewayUnreachable("The worker was killed")

    with monkeypatch.context() as patch:
        patch.setattr(GiftCardGateway, "refund", crash)
        run_refund_jobs(shop)
    assert Transaction.objects.get(kind="refund").status == "pending"
    assert list(consistency_checks.find_differences(CHECKS)) == []
    Job.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    run_refund_jobs(shop)

    assert Transaction.objects.get(kind="refund").status == "success"
    assert get_ledger(card) == [("redemption", -100), ("refund", 40)]
    assert is_consistent()


@pytest.mark.parametrize(
    ("model", "kind", "values", "problem"),
    [
        (Transaction, "sale", {"amount": Decimal(99)}, "adjustment 2: 100.000, but transaction {} has 99.000 USD"),
        (Transaction, "sale", {"status": "failure"}, "a redemption for transaction {}, which is a sale (failure)"),
        (Transaction, "refund", {"amount": Decimal(9)}, "adjustment 3: 40.000, but transaction {} has 9.000 USD"),
        (Transaction, "authorization", {"unsettled": Decimal(5)}, "transaction {}: 20.000 was released, expected 15.0"),
        (Transaction, "capture", {"amount": Decimal(70)}, "20.000 was released, expected 10.000"),
        (GiftCardAdjustment, "refund", {"transaction": None}, "refunded here, but not in the ledger of a gift card"),
    ],
)
def test_planted_faults_are_found(
    *, api: ApiClient, shop: Shop, model: type[Transaction], kind: str, values: JsonObject, problem: str
) -> None:
    card, held = make_gift_card("100.00"), make_gift_card("100.00")
    post_refund(api, post_order(api, build_payment(card)), "40.00")
    run_refund_jobs(shop)
    authorized = post_order(api, build_payment(held, "80.00", "authorization"))
    post_transaction(api, authorized, {"kind": "capture", "amount": "60.00"})
    api.post(f"orders/{authorized['id']}/cancel.json")
    assert get_ledger(held) == [("redemption", -80), ("release", 20)]
    assert is_consistent()

    rows = model.objects.filter(kind=kind)
    rows.update(**values)

    (found,) = consistency_checks.find_differences(CHECKS)
    assert problem.format(rows.latest("pk").pk) in found


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "adjustment"},
        {"kind": "refund"},
        {"kind": "release"},
        {"amount": Decimal(1)},
    ],
)
def test_the_database_refuses_rows_that_do_not_fit_their_kind(api: ApiClient, values: JsonObject) -> None:
    card = make_gift_card("100.00")
    post_order(api, build_payment(card, "50.00"))

    with pytest.raises(IntegrityError), transaction.atomic():
        GiftCardAdjustment.objects.filter(kind="redemption").update(**values)


def test_the_database_refuses_a_second_row_of_a_transaction(api: ApiClient) -> None:
    card = make_gift_card("100.00")
    post_order(api, build_payment(card, "50.00"))
    row = card.adjustments.get(kind="redemption")
    row.pk, row.number = None, 3

    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_an_order_that_a_card_paid_cannot_be_deleted(api: ApiClient) -> None:
    card = make_gift_card("100.00")
    order = post_order(api, build_payment(card))

    refused = api.delete(f"orders/{order['id']}.json")

    assert refused.status_code == 422
    assert get_ledger(card) == [("redemption", -100)]


def test_the_ledger_outlives_transactions(api: ApiClient) -> None:
    card = make_gift_card("100.00")
    post_order(api, build_payment(card))

    Transaction.objects.all().delete()

    assert card.adjustments.filter(transaction=None, kind="redemption", note="#1001").count() == 1
    assert list(consistency_checks.find_differences(CHECKS)) == []
