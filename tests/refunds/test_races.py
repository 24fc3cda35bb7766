import json
import threading
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.catalog.models import Variant
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.inventory.models import Location, StockMovement
from apps.orders.domain import transitions
from apps.orders.models import LineItem, Order, Transaction
from apps.refunds.domain import create
from apps.refunds.domain.create import TooManyRefunds
from apps.refunds.domain.validation import RefundLineInput, RefundRefused, RefundRequest
from apps.refunds.models import BogusMovement, Refund, RefundLineItem
from tests.support.api_client import ClientWith, Response
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.orders import get_available, make_order, make_variant
from tests.support.factories.refunds import create_bogus_order, is_money_consistent, refund_amount, run_refund_jobs

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]


def create_tracked_variant(shop: Shop, stock: int) -> Variant:
    variant = make_variant(shop, stock=stock)
    Variant.objects.filter(pk=variant.pk).update(inventory_quantity=stock)
    return variant


def create_stocked_order(shop: Shop, units: int, **values: object) -> tuple[Any, Order]:
    variant = create_tracked_variant(shop, 5)
    lines = [{"variant_id": variant.pk, "quantity": units}]
    options = {"financial_status": "paid", "inventory_behaviour": "decrement_obeying_policy", **values}
    return variant, make_order(shop, lines=lines, **options)


def cancel_units(order: Order, count: int = 1) -> Refund:
    line = RefundLineInput(LineItem.objects.get(order=order).pk, count, "cancel", Location.objects.get().pk)
    return create.create_refund(order, RefundRequest(line_inputs=[line]), actor="system", at=timezone.now())


@pytest.mark.race(control="test_refunds_exceed_the_payments_without_the_orders_lock")
def test_twenty_refunds_of_sixty_give_sixty_back(shop: Shop) -> None:
    order = create_bogus_order(shop, "100.00")

    outcomes = run_concurrently(shop, *[lambda: refund_amount(order, "60.00")] * 20)
    run_refund_jobs(shop)

    assert sum(isinstance(outcome, Refund) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, RefundRefused) for outcome in outcomes) == 19
    assert [row.amount for row in BogusMovement.objects.all()] == [60]
    assert Order.objects.get().total_refunded == 60
    assert is_money_consistent()


def test_refunds_exceed_the_payments_without_the_orders_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock and the unique key: both refunds see the full payment."""
    order = create_bogus_order(shop, "100.00")

    def refund() -> object:
        return refund_amount(order, "60.00")

    with without_constraint(Transaction, "order_id", "sequence"):
        run_unguarded(shop, refund, refund, locks={"orders_order", "customers_customer"})

        amounts = Transaction.objects.filter(kind="refund").values_list("amount", flat=True)
        assert sum(amounts) == 120


@pytest.mark.race(control="test_one_unit_is_refunded_twice_without_the_orders_lock")
def test_twenty_refunds_of_one_unit_restock_it_once(shop: Shop) -> None:
    variant, order = create_stocked_order(shop, 1, email="ada@example.com")

    outcomes = run_concurrently(shop, *[lambda: cancel_units(order)] * 20)

    assert sum(isinstance(outcome, Refund) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, RefundRefused) for outcome in outcomes) == 19
    assert get_available(variant) == 5
    assert [row.quantity for row in RefundLineItem.objects.all()] == [1]
    assert list(StockMovement.objects.filter(reason="restock").values_list("delta", flat=True)) == [1]
    assert is_money_consistent()


def test_one_unit_is_refunded_twice_without_the_orders_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: both refunds see an unrefunded item, so the item is restocked twice."""
    variant, order = create_stocked_order(shop, 1)

    run_unguarded(shop, lambda: cancel_units(order), lambda: cancel_units(order), locks={"orders_order"})

    assert get_available(variant) == 6


@pytest.mark.race(control="test_one_unit_is_refunded_twice_without_the_orders_lock")
def test_a_cancellation_and_refunds_at_once_put_units_back_once(shop: Shop) -> None:
    variant, order = create_stocked_order(shop, 3)

    def work(number: int) -> object:
        if number == 3:
            return transitions.cancel_order(order, actor="system", at=timezone.now())
        return cancel_units(order)

    run_concurrently(shop, *[partial(work, number) for number in range(8)])

    assert get_available(variant) == 5
    assert is_money_consistent()


@pytest.mark.race(no_guard="what is shown is that there is nothing to wait for in a circle: the order of locks")
def test_refunds_of_the_same_goods_in_other_orders_never_deadlock(shop: Shop) -> None:
    first, other = create_tracked_variant(shop, 50), create_tracked_variant(shop, 50)
    lines = [{"variant_id": variant.pk, "quantity": 1} for variant in (first, other)]
    options: Attrs = {"inventory_behaviour": "decrement_obeying_policy", "financial_status": "paid"}
    ways = [lines, lines[::-1]] * 5
    orders = [make_order(shop, lines=way, email="ada@example.com", **options) for way in ways]

    def refund(number: int) -> Refund:
        lines = LineItem.objects.filter(order=orders[number]).order_by("position")
        refund_request = RefundRequest(line_inputs=[RefundLineInput(line.pk) for line in lines], restock=True)
        return create.create_refund(orders[number], refund_request, actor="system", at=timezone.now())

    outcomes = run_concurrently(shop, *[partial(refund, number) for number in range(10)])

    assert all(isinstance(outcome, Refund) for outcome in outcomes)
    assert (get_available(first), get_available(other)) == (50, 50)
    assert is_money_consistent()


@pytest.mark.race(control="test_a_trial_shop_refunds_six_times_without_the_shops_lock")
def test_a_trial_refunds_five_times_a_minute_also_at_once(shop: Shop) -> None:
    shop.plan = Shop.Plan.TRIAL
    shop.save()
    orders = [create_bogus_order(shop) for _ in range(8)]

    outcomes = run_concurrently(shop, *[partial(refund_amount, order, "1.00") for order in orders])

    assert sum(isinstance(outcome, Refund) for outcome in outcomes) == 5
    assert sum(isinstance(outcome, TooManyRefunds) for outcome in outcomes) == 3


def test_a_trial_shop_refunds_six_times_without_the_shops_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: both requests count four earlier refunds."""
    shop.plan = Shop.Plan.TRIAL
    shop.save()
    orders = [create_bogus_order(shop) for _ in range(6)]
    for order in orders[:4]:
        refund_amount(order, "1.00")

    works = [partial(refund_amount, order, "1.00") for order in orders[4:]]
    run_unguarded(shop, *works, locks={"shops_shop"})

    assert Refund.objects.count() == 6


@pytest.mark.race(control="api/test_idempotency.py::test_the_work_is_done_twice_without_the_unique_key")
def test_a_key_sent_concurrently_refunds_once(client_with: ClientWith, shop: Shop) -> None:
    api = client_with("write_orders")
    order = create_bogus_order(shop, "100.00")
    path = api.path(f"orders/{order.pk}/refunds.json")
    body = json.dumps({"refund": {"transactions": [{"amount": "10.00"}]}}).encode()
    answers: list[Any] = []
    start = threading.Barrier(20)

    def call() -> None:
        start.wait()
        client = Client(headers={"X-Platform-Access-Token": api.token, "Idempotency-Key": "once"})
        answers.append(client.post(path, body, content_type="application/json"))
        connection.close()

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run_refund_jobs(shop)

    finished_answers = [response for response in answers if response.status_code == 201]
    assert {response.status_code for response in answers} <= {201, 409}
    assert len({response.content for response in finished_answers}) == 1
    assert Refund.objects.count() == BogusMovement.objects.count() == 1
    assert is_money_consistent()


def test_a_key_belongs_to_one_refund(client_with: ClientWith, shop: Shop) -> None:
    api = client_with("write_orders")
    order = create_bogus_order(shop, "100.00")
    path = f"orders/{order.pk}/refunds.json"

    def send(amount: str) -> Response:
        return api.post(path, {"refund": {"transactions": [{"amount": amount}]}}, **{"Idempotency-Key": "one"})

    refused, result, other = send("100.01"), send("60.00"), send("40.00")

    assert [response.status_code for response in (refused, result, other)] == [422, 201, 422]
    assert other.json() == {"errors": {"base": ["Idempotency-Key was used with another request"]}}
    assert Refund.objects.count() == 1


@pytest.mark.race(control="test_refunds_exceed_the_payments_without_the_orders_lock")
def test_concurrent_refunds_of_money_and_units_never_exceed_the_payments(shop: Shop) -> None:
    variant, order = create_stocked_order(shop, 4, email="ada@example.com")

    def work(number: int) -> object:
        return cancel_units(order) if number % 2 else refund_amount(order, "13.00")

    outcomes = run_concurrently(shop, *[partial(work, number) for number in range(12)], expected_errors=DomainError)

    assert sum(isinstance(outcome, Refund) for outcome in outcomes) == 3 + 4
    assert get_available(variant) == 5
    order.refresh_from_db()
    assert order.total_refunded == Decimal("39.00") <= order.total_paid
    assert is_money_consistent()
