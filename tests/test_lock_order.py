"""Tests that code locks rows in the order defined in ``docs/architecture.md``, so that no deadlocks occur."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.catalog.domain.locks import lock_product
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.ground.tenancy import shop_scope
from apps.inventory.domain import stock
from apps.orders.domain import payments, transitions, updates
from apps.shops.models import Shop
from tests.api.conftest import PreparedRequest
from tests.conftest import ApiClient
from tests.lock_order import LockRecorder, watch_locks
from tests.orders.factories import make_order, make_variant
from tests.samples import load_all_samples

SAMPLES = load_all_samples()
WRITES = sorted(route for route in SAMPLES if not route.startswith("GET "))
_ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)


def read_lock_order() -> dict[str, list[str]]:
    """Return the root tables in lock order, with the other tables of each aggregate."""
    text = (Path(settings.BASE_DIR) / "docs/architecture.md").read_text().split("### Lock order")[1]
    return {root: re.findall(r"`(\w+)`", parts) for root, parts in _ROW.findall(text.split("\n## ")[0])}


TABLE = read_lock_order()
ROOTS = {part: root for root, parts in TABLE.items() for part in parts}
POSITIONS = {name: place for place, root in enumerate(TABLE) for name in (root, *TABLE[root])}


def find_breaches(watch: LockRecorder) -> list[str]:
    """Return a description of each lock that was out of order."""
    wrong = [
        f"{locked_before} before {locked}: {sql}"
        for (locked_before, locked), sql in watch.steps.items()
        if POSITIONS.get(locked_before, -1) > POSITIONS.get(locked, -1)
    ]
    return wrong + watch.disorder


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
@pytest.mark.parametrize("route", WRITES)
def test_each_route_locks_in_order(route: str, api: ApiClient, shop: Shop) -> None:
    arranged = PreparedRequest(SAMPLES[route], api, shop)
    with watch_locks(ROOTS) as watch:
        response = arranged.send()
    assert response.status_code == SAMPLES[route].status
    assert find_breaches(watch) == []


@pytest.mark.postgres
def test_the_life_of_an_order_locks_in_order(shop: Shop, lock_recorder: LockRecorder) -> None:
    by: dict[str, Any] = {"actor": "system", "at": timezone.now()}
    untracked, tracked = make_variant(shop), make_variant(shop, stock=5)
    lines = [{"variant_id": row.pk, "quantity": 1} for row in (tracked, untracked)]
    options: Any = {"lines": lines, "inventory_behaviour": "decrement_obeying_policy", "email": "ada@example.com"}

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
def test_the_watch_sees_what_is_out_of_order(shop: Shop) -> None:
    """Show that two errors are found: a product before its level, and products in descending order."""
    first, second = make_variant(shop, stock=5), make_variant(shop)
    with watch_locks(ROOTS) as watch, shop_scope(shop):
        _lock_in_wrong_order(first.product_id, second.product_id, first.inventory_item)

    assert "catalog_product before inventory_inventorylevel" in {text.split(":")[0] for text in find_breaches(watch)}
    assert watch.disorder


def _lock_in_wrong_order(first: int, second: int, item: Any) -> None:
    with transaction.atomic():
        lock_product(second)
        lock_product(first)
        stock.adjust_available(item.pk, stock.get_primary_location().pk, 1, actor="system", at=timezone.now())
