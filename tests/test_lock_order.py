"""Tests that code locks rows in the order defined in ``docs/internals.md``, so that no deadlocks occur.

``tests/api/route_checks`` checks the locks of each route.
"""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from apps.catalog.domain.locks import lock_product
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.inventory.domain import stock
from apps.orders.domain import payments, transitions, updates
from tests.support.databases.lock_order import POSITIONS, ROOTS, TABLE, LockRecorder, find_breaches, watch_locks
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order, make_variant
from tests.support.factories.refunds import run_refund_jobs


@pytest.fixture
def lock_recorder(shop: Shop) -> Iterator[LockRecorder]:
    with watch_locks(ROOTS) as watch:
        yield watch
    assert find_breaches(watch) == []


def test_the_table_names_tables_once() -> None:
    table_names = {model._meta.db_table for model in apps.get_models()}

    assert set(POSITIONS) <= table_names
    assert len(POSITIONS) == len(TABLE) + len(ROOTS)


@pytest.mark.postgres
def test_the_life_of_an_order_locks_in_order(shop: Shop, lock_recorder: LockRecorder) -> None:
    by: Attrs = {"actor": "system", "at": timezone.now()}
    untracked, tracked = make_variant(shop), make_variant(shop, stock=5)
    lines = [{"variant_id": row.pk, "quantity": 1} for row in (tracked, untracked)]
    options: Attrs = {"lines": lines, "inventory_behaviour": "decrement_obeying_policy", "email": "ada@example.com"}

    make_order(shop, financial_status="paid", **options)
    placed = [make_order(shop, financial_status="authorized", **options) for _ in range(2)]
    with shop_scope(shop):
        payments.create_transaction(placed[0], {"kind": "capture"}, **by)
        transitions.cancel_order(placed[1], **by)
        updates.delete_order(placed[1], **by)
        personal_data.redact_customer(Customer.objects.get(), **by)

    locked_roots = {root for root, _ in lock_recorder.steps}
    assert {"orders_order", "customers_customer", "inventory_inventorylevel"} <= locked_roots


@pytest.mark.postgres
def test_payments_with_gift_cards_lock_in_order(shop: Shop, lock_recorder: LockRecorder) -> None:
    by: Attrs = {"actor": "system", "at": timezone.now()}
    variant = make_variant(shop, stock=9)
    lines = [{"variant_id": variant.pk, "quantity": 1}]
    options: Attrs = {"lines": lines, "inventory_behaviour": "decrement_obeying_policy", "email": "ada@example.com"}
    with shop_scope(shop):
        cards = [make_gift_card() for _ in range(2)]
    sale, held = (
        [
            {"kind": kind, "gateway": "gift_card", "receipt": {"gift_card_id": card.pk}, "amount": Decimal("4.00")}
            for card in reversed(cards)
        ]
        for kind in ("sale", "authorization")
    )

    orders = [make_order(shop, transactions=rows, **options) for rows in (held, held, sale)]
    with shop_scope(shop):
        payments.create_transaction(orders[0], {"kind": "void"}, **by)
        payments.create_transaction(orders[0], sale[0], **by)
        transitions.cancel_order(orders[1], **by)
        transitions.cancel_order(orders[2], refund={"amount": Decimal(8), "currency": "USD"}, **by)
    run_refund_jobs(shop)

    steps = set(lock_recorder.steps)
    assert {("customers_customer", "gift_cards_giftcard"), ("gift_cards_giftcard", "orders_ordercounter")} <= steps
    assert ("gift_cards_giftcard", "inventory_inventorylevel") in steps


@pytest.mark.postgres
def test_the_watch_sees_what_is_out_of_order(shop: Shop) -> None:
    """Show that two errors are found: a product before its level, and products in descending order."""
    first, second = make_variant(shop, stock=5), make_variant(shop)
    with watch_locks(ROOTS) as watch, shop_scope(shop), transaction.atomic():
        lock_product(second.product_id)
        lock_product(first.product_id)
        place = stock.get_primary_location().pk
        stock.adjust_available(first.inventory_item_id, place, 1, actor="system", at=timezone.now())

    assert "catalog_product before inventory_inventorylevel" in {text.split(":")[0] for text in find_breaches(watch)}
    assert watch.disorder
