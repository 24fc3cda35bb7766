import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from itertools import chain, repeat
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, transaction
from pytest_django import Settings

from apps.core.db.row_locks import refresh_for_update
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.inventory.domain import locations, movements
from apps.inventory.domain import stock as services
from apps.inventory.domain.movements import OutOfStock, StockChange
from apps.inventory.domain.stock_grid import Cell, save_cells
from apps.inventory.models import InventoryLevel, Location, StockMovement
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    get_ledger,
    make_item,
    make_location,
    sell,
    set_stock,
)

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}
TWENTY = 20
ITEMS_AND_LEVELS = {"inventory_inventoryitem", "inventory_inventorylevel"}


def assert_ledger_consistent() -> None:
    call_command("check_stock", stdout=StringIO())


@pytest.mark.race(control="test_concurrent_sales_oversell_without_the_guard")
def test_twenty_simultaneous_adjustments_sum_exactly(shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 100)
    deltas = [index - 5 for index in range(TWENTY)]

    run_concurrently(shop, *[partial(services.adjust_available, item.pk, first.pk, delta, **BY) for delta in deltas])

    assert get_available(item, first) == 100 + sum(deltas)
    assert_ledger_consistent()


@pytest.mark.race(control="test_concurrent_sales_oversell_without_the_guard")
def test_five_pieces_are_sold_five_times_to_twenty_takers(shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 5)

    results = run_concurrently(shop, *[lambda: sell(item, first, 1, **BY)] * TWENTY)

    assert sum(isinstance(result, InventoryLevel) for result in results) == 5
    assert sum(isinstance(result, OutOfStock) for result in results) == 15
    assert get_available(item, first) == 0
    assert_ledger_consistent()


def test_concurrent_sales_oversell_without_the_guard(shop: Shop) -> None:
    """Show what goes wrong without the lock: all orders read a quantity of 5, so all of them succeed."""
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 5)
    all_have_read = threading.Barrier(TWENTY)

    def take_unguarded() -> bool:
        with transaction.atomic():
            available = InventoryLevel.objects.get(item=item, location=first).available
            all_have_read.wait(timeout=30)
            if available < 1:
                return False
            movements.apply_stock_changes(
                [StockChange(item.pk, first.pk, -1, may_oversell=True)], reason=StockMovement.Reason.SALE, **BY
            )
            return True

    results = run_concurrently(shop, *[take_unguarded] * TWENTY)

    assert results.count(True) == TWENTY
    assert get_available(item, first) == -15


@pytest.mark.race(control="test_concurrent_sales_oversell_without_the_guard")
def test_continue_sells_to_everybody_and_the_ledger_agrees(shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    run_concurrently(shop, *[lambda: sell(item, depot, 1, oversell=True, **BY)] * TWENTY)

    assert get_available(item, depot) == -TWENTY
    assert_ledger_consistent()


@pytest.mark.parametrize("count", [4, 12])
@pytest.mark.race(control="test_unordered_inventory_changes_deadlock")
def test_takers_and_returners_of_many_items_neither_deadlock_nor_lose(shop: Shop, count: int) -> None:
    first = get_first_location(shop)
    items = [make_item(shop) for _ in range(count)]
    for item in items:
        set_stock(item, first, 5)

    def order(rows: list[Any], delta: int) -> Callable[[], object]:
        moves = [StockChange(item.pk, first.pk, delta) for item in rows]
        sale = partial(movements.apply_stock_changes, moves, reason=StockMovement.Reason.SALE, **BY)
        return transaction.atomic(sale)

    works = [order(items if index % 2 else items[::-1], -1 if index < 15 else 1) for index in range(TWENTY)]
    results = run_concurrently(shop, *works)

    sold = sum(not isinstance(result, OutOfStock) for result in results[:15])
    assert [get_available(item, first) for item in items] == [5 - sold + 5] * count
    assert sold <= 10
    assert_ledger_consistent()


@pytest.mark.deadlocks(1)
def test_unordered_inventory_changes_deadlock(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the deadlock that occurs if levels are locked in the order of the request."""
    monkeypatch.setattr(movements, "sorted", lambda moves, **_: list(moves), raising=False)
    first = get_first_location(shop)
    first_item, two = make_item(shop), make_item(shop)

    def take(*items: Any) -> Callable[[], object]:
        moves = [StockChange(item.pk, first.pk, -1, may_oversell=True) for item in items]
        return lambda: movements.apply_stock_changes(moves, reason=StockMovement.Reason.SALE, **BY)

    with pytest.raises(OperationalError, match="deadlock"):
        run_while_uncommitted(
            shop, hold_level(first_item), transaction.atomic(take(two, first_item)), then=hold_level(two)
        )


def hold_level(item: Any) -> Callable[[], object]:
    return lambda: InventoryLevel.objects.select_for_update().get(item=item)


@pytest.mark.race(control="test_a_count_based_on_an_older_level_is_added_to_a_newer")
def test_simultaneous_counts_leave_the_last_one_and_a_sound_ledger(shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    run_concurrently(shop, *[partial(services.set_available, item, depot, n, **BY) for n in range(1, TWENTY + 1)])

    last = StockMovement.objects.filter(item=item, location=depot).latest("id")
    assert get_available(item, depot) == last.available
    assert_ledger_consistent()


def test_a_count_based_on_an_older_level_is_added_to_a_newer(shop: Shop) -> None:
    """Show what goes wrong without the locks: the second count adds its difference to the new quantity."""
    item, first = make_item(shop), get_first_location(shop)

    works = [partial(services.set_available, item, first, count, **BY) for count in (5, 7)]
    run_unguarded(shop, *works, locks=ITEMS_AND_LEVELS)

    assert get_available(item, first) == 12


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.race(control="test_a_level_that_goes_by_what_was_there_before_breaks_the_ledger")
def test_levels_that_come_and_go_while_they_are_counted(shop: Shop, attempt: int) -> None:
    item, depot = make_item(shop), make_location(shop)
    set_stock(item, depot, 5)

    counts: list[Callable[[], object]] = [partial(services.set_available, item, depot, n, **BY) for n in range(10)]
    run_concurrently(shop, *counts, *[partial(services.disconnect_item, item, depot, **BY)] * 10)

    assert_ledger_consistent()


def test_a_level_that_goes_by_what_was_there_before_breaks_the_ledger(shop: Shop) -> None:
    """Show what goes wrong without the lock: the removal records an old quantity, so the ledger does not end at 0."""
    item, depot = make_item(shop), make_location(shop)
    set_stock(item, depot, 5)

    count, remove = partial(services.set_available, item, depot, 9), partial(services.disconnect_item, item, depot)
    run_unguarded(shop, partial(count, **BY), partial(remove, **BY), locks=ITEMS_AND_LEVELS)

    assert not InventoryLevel.objects.filter(item=item, location=depot).exists()
    assert [delta for delta, _, _ in get_ledger(item, depot)] == [5, 4, -5]


@pytest.mark.race(control="test_a_grid_locking_levels_before_items_deadlocks")
def test_the_grid_connects_an_item_counted_by_another_user(shop: Shop) -> None:
    first, depot = get_first_location(shop), make_location(shop)
    for _ in range(10):
        first_item, two = make_item(shop), make_item(shop)
        cells = {(item.pk, first.pk): Cell(0, 5) for item in (first_item, two)} | {(two.pk, depot.pk): Cell(None, 3)}

        run_concurrently(
            shop,
            partial(save_cells, cells, reason=StockMovement.Reason.COUNT, **BY),
            partial(services.set_available, two, first, 7, **BY),
            partial(services.set_available, two, depot, 7, **BY),
        )

    assert_ledger_consistent()


@pytest.mark.deadlocks(1)
def test_a_grid_locking_levels_before_items_deadlocks(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the deadlock that occurs if the grid locks a level before its item."""
    first, depot = get_first_location(shop), make_location(shop)
    item = make_item(shop)
    cells = {(item.pk, first.pk): Cell(0, 5), (item.pk, depot.pk): Cell(None, 3)}
    calls = chain([lambda _: None], repeat(services.lock_items))

    def skip_once(ids: Any) -> None:
        next(calls)(ids)

    monkeypatch.setattr(services, "lock_items", skip_once)

    with pytest.raises(OperationalError, match="deadlock"):
        run_while_uncommitted(
            shop,
            lambda: refresh_for_update(item, no_key=True),
            lambda: save_cells(cells, reason=StockMovement.Reason.COUNT, **BY),
            then=hold_level(item),
        )


@pytest.mark.race(control="test_connecting_an_item_being_deleted_fails_at_the_commit")
def test_a_concurrently_deleted_item_is_refused(shop: Shop) -> None:
    first, depot = get_first_location(shop), make_location(shop)
    for _ in range(5):
        item = make_item(shop)
        set_stock(item, first, 5)

        run_concurrently(
            shop,
            partial(services.delete_items, [item.pk], **BY),
            partial(services.set_available, item, depot, 3, **BY),
            partial(services.connect_item, item, depot, **BY),
            partial(services.disconnect_item, item, first, **BY),
        )

        assert not InventoryLevel.objects.filter(item_id=item.pk).exists()


def test_connecting_an_item_being_deleted_fails_at_the_commit(shop: Shop) -> None:
    """Show what goes wrong without the item's lock: the new level violates the foreign key to the deleted item."""
    item, depot = make_item(shop), make_location(shop)

    delete, connect = partial(services.delete_items, [item.pk]), partial(services.connect_item, item, depot)
    with pytest.raises(IntegrityError, match="is not present"):
        run_unguarded(shop, partial(delete, **BY), partial(connect, **BY), locks={"inventory_inventoryitem"})


@pytest.mark.parametrize("attempt", range(5))
@pytest.mark.race(control="test_a_location_is_stocked_and_inactive_without_its_lock")
def test_a_location_is_deactivated_or_stocked_but_not_both(shop: Shop, attempt: int) -> None:
    item, depot = make_item(shop), make_location(shop)

    run_concurrently(
        shop,
        partial(locations.deactivate_location, depot, **BY),
        partial(services.set_available, item, depot, 1, **BY),
        partial(services.set_available, item, depot, 2, **BY),
    )

    active = Location.objects.get(pk=depot.pk).active
    stocked = InventoryLevel.objects.filter(item=item, location=depot, available__gt=0).exists()
    assert active == stocked


def test_a_location_is_stocked_and_inactive_without_its_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: the location is stocked while it is being deactivated."""
    item, depot = make_item(shop), make_location(shop)

    close, count = partial(locations.deactivate_location, depot), partial(services.set_available, item, depot, 1)
    run_unguarded(shop, partial(close, **BY), partial(count, **BY), locks={"inventory_location"})

    assert not Location.objects.get(pk=depot.pk).active
    assert get_available(item, depot) == 1


@pytest.mark.race(control="test_the_number_of_locations_is_wrong_without_the_shops_lock")
def test_two_last_locations_are_not_deactivated_together(shop: Shop) -> None:
    first, depot = get_first_location(shop), make_location(shop)

    run_concurrently(shop, *[partial(locations.deactivate_location, location, **BY) for location in (first, depot)])

    assert Location.objects.filter(active=True).count() == 1


@pytest.mark.race(control="test_the_number_of_locations_is_wrong_without_the_shops_lock")
def test_simultaneous_openings_stop_at_the_limit(shop: Shop, settings: Settings) -> None:
    settings.LOCATION_LIMIT = 3

    run_concurrently(shop, *[lambda: make_location(shop)] * 8)

    assert Location.objects.filter(active=True).count() == 3


def test_the_number_of_locations_is_wrong_without_the_shops_lock(shop: Shop, settings: Settings) -> None:
    """Show what goes wrong without the lock: both transactions count the locations before either one changes them."""
    settings.LOCATION_LIMIT = 2
    first = get_first_location(shop)

    run_unguarded(shop, lambda: make_location(shop), lambda: make_location(shop), locks={"shops_shop"})
    *other_rows, last = Location.objects.filter(active=True).exclude(pk=first.pk)
    assert len(other_rows) == 1
    locations.deactivate_location(last, **BY)
    works = [partial(locations.deactivate_location, location, **BY) for location in (first, *other_rows)]
    run_unguarded(shop, *works, locks={"shops_shop"})

    assert not Location.objects.filter(active=True).exists()
