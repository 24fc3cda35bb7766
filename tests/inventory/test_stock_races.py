"""Stock under simultaneous writers, on PostgreSQL with real threads."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from apps.ground.tenancy import shop_scope
from apps.inventory.domain import locations, movements
from apps.inventory.domain import stock as services
from apps.inventory.domain.grid import Cell, write_cells
from apps.inventory.domain.movements import Move, OutOfStock
from apps.inventory.models import InventoryLevel, Location, StockMovement
from apps.shops.models import Shop
from tests.inventory.factories import first_location, level_of, make_item, make_location, put
from tests.races import at_once

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: dict[str, Any] = {"actor": "staff:17", "at": NOON}
TWENTY = 20


@pytest.fixture(autouse=True)
def _needs_postgres() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL")


def ledger_is_sound() -> bool:
    call_command("check_stock", stdout=StringIO())
    return True


def test_twenty_simultaneous_adjustments_sum_exactly(shop: Shop) -> None:
    item, first = make_item(shop), first_location(shop)
    put(item, first, 100)
    deltas = [index - 5 for index in range(TWENTY)]

    at_once(shop, *[lambda delta=delta: services.adjust(item, first, delta, **BY) for delta in deltas])

    assert level_of(item, first) == 100 + sum(deltas)
    assert ledger_is_sound()


def test_five_pieces_are_sold_five_times_to_twenty_takers(shop: Shop) -> None:
    item, first = make_item(shop), first_location(shop)
    put(item, first, 5)

    results = at_once(shop, *[lambda: services.take(item, first, 1, policy=services.DENY, **BY)] * TWENTY)

    assert sum(isinstance(result, InventoryLevel) for result in results) == 5
    assert sum(isinstance(result, OutOfStock) for result in results) == 15
    assert level_of(item, first) == 0
    assert ledger_is_sound()


def test_without_the_guard_the_same_takers_oversell(shop: Shop) -> None:
    """The control: reading first and writing then is what the guard is for."""
    item, first = make_item(shop), first_location(shop)
    put(item, first, 5)
    all_have_read = threading.Barrier(TWENTY)

    def take_unguarded() -> bool:
        with transaction.atomic():
            available = InventoryLevel.objects.get(item=item, location=first).available
            all_have_read.wait(timeout=30)
            if available < 1:
                return False
            movements.apply([Move(item.pk, first.pk, -1, may_oversell=True)], reason=StockMovement.Reason.SALE, **BY)
            return True

    sold = at_once(shop, *[take_unguarded] * TWENTY)

    assert sold.count(True) == TWENTY
    assert level_of(item, first) == -15


def test_continue_sells_to_everybody_and_the_ledger_agrees(shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    at_once(shop, *[lambda: services.take(item, depot, 1, policy=services.CONTINUE, **BY)] * TWENTY)

    assert level_of(item, depot) == -TWENTY
    assert ledger_is_sound()


def test_takers_and_returners_of_many_items_neither_deadlock_nor_lose(shop: Shop) -> None:
    first = first_location(shop)
    items = [make_item(shop) for _ in range(4)]
    for item in items:
        put(item, first, 5)

    def order(rows: list[Any], delta: int) -> Callable[[], Any]:
        def move() -> None:
            with transaction.atomic():
                moves = [Move(item.pk, first.pk, delta) for item in rows]
                movements.apply(moves, reason=StockMovement.Reason.SALE, **BY)

        return move

    works = [order(items if index % 2 else items[::-1], -1 if index < 15 else 1) for index in range(TWENTY)]
    results = at_once(shop, *works)

    sold = sum(result is None for result in results[:15])
    assert [level_of(item, first) for item in items] == [5 - sold + 5] * 4
    assert sold <= 10
    assert ledger_is_sound()


def test_simultaneous_counts_leave_the_last_one_and_a_sound_ledger(shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    at_once(shop, *[partial(services.set_available, item, depot, n, **BY) for n in range(1, TWENTY + 1)])

    with shop_scope(shop):
        last = StockMovement.objects.filter(item=item, location=depot).latest("id")
    assert level_of(item, depot) == last.available
    assert ledger_is_sound()


@pytest.mark.parametrize("attempt", range(3))
def test_levels_that_come_and_go_while_they_are_counted(shop: Shop, attempt: int) -> None:
    item, depot = make_item(shop), make_location(shop)
    put(item, depot, 5)

    counts: list[Callable[[], object]] = [partial(services.set_available, item, depot, n, **BY) for n in range(10)]
    at_once(shop, *counts, *[partial(services.disconnect, item, depot, **BY)] * 10)

    assert ledger_is_sound()


def test_the_grid_connects_what_somebody_else_counts(shop: Shop) -> None:
    """Two forms, each of which counts the one item and stocks the other for the first time."""
    first, depot = first_location(shop), make_location(shop)
    for _ in range(10):
        one, two = make_item(shop), make_item(shop)
        cells = {(one.pk, first.pk): Cell(0, 5), (two.pk, first.pk): Cell(0, 5), (two.pk, depot.pk): Cell(None, 3)}

        at_once(
            shop,
            *[
                lambda cells=cells: write_cells(cells, reason=StockMovement.Reason.COUNT, **BY),
                lambda two=two: services.set_available(two, first, 7, **BY),
                lambda two=two: services.set_available(two, depot, 7, **BY),
            ],
        )

    assert ledger_is_sound()


def test_an_item_that_goes_meanwhile_is_a_refusal(shop: Shop) -> None:
    first, depot = first_location(shop), make_location(shop)
    for _ in range(5):
        item = make_item(shop)
        put(item, first, 5)

        at_once(
            shop,
            *[
                lambda item=item: services.delete_items([item.pk], **BY),
                lambda item=item: services.set_available(item, depot, 3, **BY),
                lambda item=item: services.connect(item, depot, **BY),
                lambda item=item: services.disconnect(item, first, **BY),
            ],
        )

        with shop_scope(shop):
            assert not InventoryLevel.objects.filter(item_id=item.pk).exists()


@pytest.mark.parametrize("attempt", range(5))
def test_a_location_is_deactivated_or_stocked_but_not_both(shop: Shop, attempt: int) -> None:
    item, depot = make_item(shop), make_location(shop)

    at_once(
        shop,
        *[
            lambda: locations.deactivate(depot, **BY),
            lambda: services.set_available(item, depot, 1, **BY),
            lambda: services.set_available(item, depot, 2, **BY),
        ],
    )

    with shop_scope(shop):
        active = Location.objects.get(pk=depot.pk).active
        stocked = InventoryLevel.objects.filter(item=item, location=depot, available__gt=0).exists()
    assert active == stocked


def test_two_last_locations_are_not_deactivated_together(shop: Shop) -> None:
    first, depot = first_location(shop), make_location(shop)

    at_once(shop, *[lambda: locations.deactivate(first, **BY), lambda: locations.deactivate(depot, **BY)])

    with shop_scope(shop):
        assert Location.objects.filter(active=True).count() == 1


def test_simultaneous_openings_stop_at_the_limit(shop: Shop, settings: Any) -> None:
    settings.LOCATION_LIMIT = 3

    at_once(shop, *[lambda: make_location(shop)] * 8)

    with shop_scope(shop):
        assert Location.objects.filter(active=True).count() == 3
