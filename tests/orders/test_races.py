"""Concurrency tests on PostgreSQL: order numbers, stock, customers and payments."""

import threading
from collections.abc import Callable
from decimal import Decimal
from functools import partial

import pytest
from django.db import transaction
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.inventory.models import StockMovement
from apps.orders.domain import payments, transitions
from apps.orders.domain.payments import PaymentRefused
from apps.orders.domain.stock_reservation import NotEnoughStock
from apps.orders.models import Order, OrderCounter, Transaction
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.orders import get_available, make_order, make_variant

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def build_numbered_works(count: int, work: Callable[[int], object]) -> list[Callable[[], object]]:
    """Return ``count`` functions that call ``work`` with the numbers from 0."""
    return [partial(work, number) for number in range(count)]


@pytest.mark.race(control="test_numbers_repeat_without_the_lock")
def test_numbers_have_no_gaps_and_no_repeats(shop: Shop) -> None:
    run_concurrently(
        shop,
        *build_numbered_works(20, lambda n: make_order(shop, transactions=[{"kind": "refund"}] if n % 4 == 0 else [])),
    )

    with shop_scope(shop):
        assert sorted(Order.objects.values_list("number", flat=True)) == list(range(1, 16))
        assert OrderCounter.objects.get().last_number == 15


def test_numbers_repeat_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: all orders read the same counter, so their numbers are equal."""
    with shop_scope(shop):
        OrderCounter.objects.create(shop=shop)
    barrier = threading.Barrier(5)

    def careless(_: int) -> int:
        with transaction.atomic():
            last = OrderCounter.objects.get().last_number
            barrier.wait()
            OrderCounter.objects.update(last_number=last + 1)
            return last + 1

    assert run_concurrently(shop, *build_numbered_works(5, careless)) == [1] * 5


@pytest.mark.race(control="inventory/test_stock_races.py::test_concurrent_sales_oversell_without_the_guard")
def test_twenty_takers_of_five_units(shop: Shop) -> None:
    variant = make_variant(shop, stock=5)
    line = {"variant_id": variant.pk, "quantity": 1}

    outcomes = run_concurrently(
        shop,
        *build_numbered_works(
            20, lambda _: make_order(shop, lines=[line], inventory_behaviour="decrement_obeying_policy")
        ),
    )

    assert sum(isinstance(outcome, Order) for outcome in outcomes) == 5
    assert sum(isinstance(outcome, NotEnoughStock) for outcome in outcomes) == 15
    assert get_available(variant) == 0
    with shop_scope(shop):
        assert Order.objects.count() == 5
        stock_movements = StockMovement.objects.filter(item=variant.inventory_item, reason="sale")
        assert sorted(stock_movements.values_list("reference", flat=True)) == sorted(
            Order.objects.values_list("name", flat=True)
        )


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

    outcomes = run_concurrently(shop, *build_numbered_works(16, work))

    refused = [outcome for outcome in outcomes[8:] if isinstance(outcome, DomainError)]
    assert len(refused) == 4, "each order is cancelled once"
    with shop_scope(shop):
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
    outcomes = run_concurrently(
        shop,
        *build_numbered_works(10, lambda n: make_order(shop, email="ada@example.com" if n % 2 else "ADA@example.com")),
    )

    assert all(isinstance(outcome, Order) for outcome in outcomes)
    with shop_scope(shop):
        assert Customer.objects.get().orders_count == 10


def test_one_customer_is_created_twice_without_the_unique_key(shop: Shop) -> None:
    """Show what goes wrong without the unique key: neither order finds a customer, so each order creates one."""

    def order() -> Order:
        return make_order(shop, email="ada@example.com")

    with without_constraint(Customer, "shop_id", "email_key"):
        run_unguarded(shop, order, order)

        with shop_scope(shop):
            assert list(Customer.objects.values_list("orders_count", flat=True)) == [1, 1]


@pytest.mark.race(control="test_captures_exceed_the_authorization_without_the_orders_lock")
def test_captures_at_once_never_take_more_than_was_authorized(shop: Shop) -> None:
    order = make_order(shop, financial_status="authorized", email="ada@example.com")
    capture = {"kind": "capture", "amount": Decimal("6.00")}

    outcomes = run_concurrently(
        shop,
        *build_numbered_works(
            10, lambda _: payments.create_transaction(order, capture, actor="system", at=timezone.now())
        ),
    )

    assert sum(isinstance(outcome, PaymentRefused) for outcome in outcomes) == 7
    with shop_scope(shop):
        order.refresh_from_db()
        assert (order.total_paid, order.financial_status) == (Decimal("18.00"), "partially_paid")
        assert Customer.objects.get().total_spent == Decimal("18.00")


@pytest.mark.race(control="test_captures_exceed_the_authorization_without_the_orders_lock")
def test_captures_and_sales_at_once_never_take_more_than_is_owed(shop: Shop) -> None:
    order = make_order(shop, transactions=[{"kind": "authorization", "amount": Decimal("20.00")}] * 2)
    ways = ({"kind": "capture", "amount": Decimal("6.00")}, {"kind": "sale", "amount": Decimal("6.00")})

    outcomes = run_concurrently(
        shop,
        *build_numbered_works(
            12, lambda n: payments.create_transaction(order, ways[n % 2], actor="system", at=timezone.now())
        ),
    )

    assert sum(isinstance(outcome, PaymentRefused) for outcome in outcomes) == 9
    with shop_scope(shop):
        order.refresh_from_db()
        assert order.total_paid == Decimal("18.00")


def test_captures_exceed_the_authorization_without_the_orders_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock and the unique key: both captures see the full authorized amount."""
    order = make_order(shop, financial_status="authorized")

    def capture() -> object:
        attrs = {"kind": "capture", "amount": Decimal("12.00")}
        return payments.create_transaction(order, attrs, actor="system", at=timezone.now())

    with without_constraint(Transaction, "order_id", "sequence"):
        run_unguarded(shop, capture, capture, locks={"orders_order"})

        with shop_scope(shop):
            captured = Transaction.objects.filter(order=order, kind="capture").values_list("amount", flat=True)
            assert sum(captured) == Decimal("24.00") > order.total_price
