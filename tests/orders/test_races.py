import threading
from collections.abc import Callable
from decimal import Decimal
from functools import partial

import pytest
from django.db import transaction
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.inventory.models import StockMovement
from apps.orders.domain import payments, transitions
from apps.orders.domain.payments import PaymentRefused
from apps.orders.domain.stock_reservation import NotEnoughStock
from apps.orders.models import Order, OrderCounter, Transaction
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.orders import get_available, make_order, make_variant

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]


@pytest.mark.race(control="test_numbers_repeat_without_the_lock")
def test_numbers_have_no_gaps_and_no_repeats(shop: Shop) -> None:
    # Every fourth order is refused.
    refused, created = partial(make_order, shop, transactions=[{"kind": "refund"}]), partial(make_order, shop)
    run_concurrently(shop, *[refused, created, created, created] * 5)

    assert sorted(Order.objects.values_list("number", flat=True)) == list(range(1, 16))
    assert OrderCounter.objects.get().last_number == 15


def test_numbers_repeat_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: all orders read the same counter, so their numbers are equal."""
    OrderCounter.objects.create(shop=shop)
    barrier = threading.Barrier(5)

    def careless() -> int:
        with transaction.atomic():
            last = OrderCounter.objects.get().last_number
            barrier.wait()
            OrderCounter.objects.update(last_number=last + 1)
            return last + 1

    assert run_concurrently(shop, *[careless] * 5) == [1] * 5


@pytest.mark.race(control="inventory/test_stock_races.py::test_concurrent_sales_oversell_without_the_guard")
def test_twenty_takers_of_five_units(shop: Shop) -> None:
    variant = make_variant(shop, stock=5)
    line = {"variant_id": variant.pk, "quantity": 1}

    take = partial(make_order, shop, lines=[line], inventory_behaviour="decrement_obeying_policy")
    outcomes = run_concurrently(shop, *[take] * 20)

    assert sum(isinstance(outcome, Order) for outcome in outcomes) == 5
    assert sum(isinstance(outcome, NotEnoughStock) for outcome in outcomes) == 15
    assert get_available(variant) == 0
    assert Order.objects.count() == 5
    stock_movements = StockMovement.objects.filter(item=variant.inventory_item, reason="sale")
    names = sorted(Order.objects.values_list("name", flat=True))
    assert sorted(stock_movements.values_list("reference", flat=True)) == names


@pytest.mark.race(control="test_units_are_restocked_twice_without_the_orders_lock")
def test_takers_and_cancellations_at_once_leave_the_ledger_right(shop: Shop) -> None:
    variant = make_variant(shop, stock=6)
    line = {"variant_id": variant.pk, "quantity": 1}
    options: Attrs = {"lines": [line], "inventory_behaviour": "decrement_obeying_policy", "email": "ada@example.com"}
    placed = [make_order(shop, **options) for _ in range(4)]

    def work(number: int) -> object:
        if number < 8:
            return make_order(shop, **options)
        return transitions.cancel_order(placed[(number - 8) // 2], actor="system", at=timezone.now())

    outcomes = run_concurrently(shop, *[partial(work, number) for number in range(16)])

    refused = [outcome for outcome in outcomes[8:] if isinstance(outcome, DomainError)]
    assert len(refused) == 4, "each order is cancelled once"
    open_orders = Order.objects.filter(status="open").count()
    moved = sum(StockMovement.objects.filter(item=variant.inventory_item).values_list("delta", flat=True))
    assert get_available(variant) == 6 - open_orders == moved >= 0
    assert Customer.objects.get().orders_count == Order.objects.count()


def test_units_are_restocked_twice_without_the_orders_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: both cancellations see an open order, so both return the item to stock."""
    variant = make_variant(shop, stock=6)
    line = {"variant_id": variant.pk, "quantity": 1}
    order = make_order(shop, lines=[line], inventory_behaviour="decrement_obeying_policy")

    def cancel() -> Order:
        return transitions.cancel_order(order, actor="system", at=timezone.now())

    run_unguarded(shop, cancel, cancel, locks={"orders_order"})

    assert get_available(variant) == 7


@pytest.mark.race(control="test_one_customer_is_created_twice_without_the_unique_key")
def test_two_orders_of_one_new_customer_make_one(shop: Shop) -> None:
    works = [partial(make_order, shop, email=email) for email in ("ada@example.com", "ADA@example.com")]
    outcomes = run_concurrently(shop, *works * 5)

    assert all(isinstance(outcome, Order) for outcome in outcomes)
    assert Customer.objects.get().orders_count == 10


def test_one_customer_is_created_twice_without_the_unique_key(shop: Shop) -> None:
    """Show what goes wrong without the unique key: neither order finds a customer, so each order creates one."""
    order = partial(make_order, shop, email="ada@example.com")

    with without_constraint(Customer, "shop_id", "email_key"):
        run_unguarded(shop, order, order)

        assert list(Customer.objects.values_list("orders_count", flat=True)) == [1, 1]


def build_payment_work(order: Order, kind: str, amount: str) -> Callable[[], object]:
    attrs = {"kind": kind, "amount": Decimal(amount)}
    return lambda: payments.create_transaction(order, attrs, actor="system", at=timezone.now())


@pytest.mark.race(control="test_captures_exceed_the_authorization_without_the_orders_lock")
def test_captures_at_once_never_take_more_than_was_authorized(shop: Shop) -> None:
    order = make_order(shop, financial_status="authorized", email="ada@example.com")

    outcomes = run_concurrently(shop, *[build_payment_work(order, "capture", "6.00")] * 10)

    assert sum(isinstance(outcome, PaymentRefused) for outcome in outcomes) == 7
    order.refresh_from_db()
    assert (order.total_paid, order.financial_status) == (Decimal("18.00"), "partially_paid")
    assert Customer.objects.get().total_spent == Decimal("18.00")


@pytest.mark.race(control="test_captures_exceed_the_authorization_without_the_orders_lock")
def test_captures_and_sales_at_once_never_take_more_than_is_owed(shop: Shop) -> None:
    order = make_order(shop, transactions=[{"kind": "authorization", "amount": Decimal("20.00")}] * 2)
    works = [build_payment_work(order, kind, "6.00") for kind in ("capture", "sale")]

    outcomes = run_concurrently(shop, *works * 6)

    assert sum(isinstance(outcome, PaymentRefused) for outcome in outcomes) == 9
    order.refresh_from_db()
    assert order.total_paid == Decimal("18.00")


def test_captures_exceed_the_authorization_without_the_orders_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock and the unique key: both captures see the full authorized amount."""
    order = make_order(shop, financial_status="authorized")

    capture = build_payment_work(order, "capture", "12.00")

    with without_constraint(Transaction, "order_id", "sequence"):
        run_unguarded(shop, capture, capture, locks={"orders_order"})

        captured = Transaction.objects.filter(order=order, kind="capture").values_list("amount", flat=True)
        assert sum(captured) == Decimal("24.00") > order.total_price
