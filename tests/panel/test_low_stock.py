import random

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.jobs.periodic_tasks import Every
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.inventory.domain import low_stock, movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import InventoryItem, InventoryLevel, StockMovement
from tests.panel.test_settings import build_settings_form
from tests.support.databases.races import run_concurrently, run_while_uncommitted
from tests.support.factories.inventory import get_first_location, make_item, make_location, sell, set_stock
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.long_lists import fill_lists
from tests.support.panel.pages import GRID
from tests.support.periodic import run_periodic_tasks

pytestmark = pytest.mark.usefixtures("in_shop")
BY: Attrs = {"actor": "system"}


def set_threshold_silently(shop: Shop, number: int | None) -> None:
    """Set the shop's threshold without updating the levels."""
    Shop.objects.filter(pk=shop.pk).update(low_stock_at=number)
    shop.refresh_from_db()


def get_low_levels(shop: Shop) -> set[tuple[int, int]]:
    """Return the item id and available quantity of each inventory level that is low in stock."""
    with shop_scope(shop):
        return set(InventoryLevel.objects.filter(is_low=True).values_list("item_id", "available"))


def is_consistent(shop: Shop) -> bool:
    """Return True if each level's flag matches the threshold."""
    shop.refresh_from_db()
    number = shop.low_stock_at
    with shop_scope(shop):
        levels = list(InventoryLevel.objects.all())
    assert levels
    return all(level.is_low == (number is not None and level.available <= number) for level in levels)


def save_threshold(owner: Panel, shop: Shop, number: str) -> None:
    """Save a threshold in the shop settings and run the resulting jobs."""
    response = owner.post("shops_shop_change", shop.pk, **build_settings_form(owner, shop) | {"low_stock_at": number})
    assert response.status_code == 302
    for job in list(Job.objects.filter(task=low_stock.MARK_TASK, state=Job.State.WAITING)):
        queue.run_job(job.key)


def test_a_level_is_low_from_the_movement_that_makes_it_so(shop: Shop) -> None:
    set_threshold_silently(shop, 3)
    item, first = make_item(shop), get_first_location(shop)
    observed = []
    for available in (9, 4, 3, 0, 3, 4):
        set_stock(item, first, available)
        observed.append(bool(get_low_levels(shop)))

    assert observed == [False, False, True, True, True, False]


def test_levels_say_so_however_they_move(shop: Shop) -> None:
    set_threshold_silently(shop, 5)
    items, places = [make_item(shop) for _ in range(4)], [get_first_location(shop), make_location(shop)]
    chance = random.Random(7)

    for _ in range(30):
        moves = [
            StockChange(item.pk, index.pk, chance.randint(-6, 8), may_oversell=True, connect=True)
            for item in chance.sample(items, 2)
            for index in places
        ]
        movements.apply_stock_changes(moves, reason=StockMovement.Reason.COUNT, at=timezone.now(), **BY)
        assert is_consistent(shop)
    assert set(InventoryLevel.objects.values_list("is_low", flat=True)) == {True, False}


def test_newly_stocked_items_are_low(shop: Shop) -> None:
    set_threshold_silently(shop, 0)
    item = make_item(shop)
    stock.connect_item(item, make_location(shop), at=timezone.now(), **BY)

    assert get_low_levels(shop) == {(item.pk, 0)}
    assert is_consistent(shop)


def test_levels_without_a_threshold_are_never_low(shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    sell(item, first, 4, oversell=True, at=timezone.now(), **BY)

    assert get_low_levels(shop) == set()


def test_new_thresholds_are_applied(
    owner_client: Panel, shop: Shop, other_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(low_stock, "BATCH_SIZE", 2)
    for number in range(5):
        set_stock(make_item(shop), get_first_location(shop), number)
    set_stock(make_item(other_shop), get_first_location(other_shop), 1)

    for threshold, low in (("3", {0, 1, 2, 3}), ("1", {0, 1}), ("", set())):
        save_threshold(owner_client, shop, threshold)
        assert {available for _, available in get_low_levels(shop)} == low
    assert get_low_levels(other_shop) == set()


def test_marking_moves_nothing_that_is_shown(shop: Shop) -> None:
    item = make_item(shop)
    set_threshold_silently(shop, 3)
    before = InventoryLevel.objects.get(item=item)
    marked = [low_stock.mark_low_levels(), low_stock.mark_low_levels()]
    after = InventoryLevel.objects.get(item=item)

    assert marked == [1, 0]
    assert (after.updated_at, after.version, after.available) == (before.updated_at, before.version, before.available)


def test_the_nightly_task_corrects_missed_marks_except_in_read_only_shops(shop: Shop, other_shop: Shop) -> None:
    for current_shop in (shop, other_shop):
        make_item(current_shop)
        set_threshold_silently(current_shop, 3)
    Shop.objects.filter(pk=other_shop.pk).update(read_only_at=timezone.now())

    run_periodic_tasks(Every.NIGHT)

    assert (is_consistent(shop), get_low_levels(other_shop)) == (True, set())


@pytest.mark.parametrize("number", ["-1", "40000", "few", "1.5", "9" * 300])
def test_a_number_that_none_can_be_is_refused(owner_client: Panel, shop: Shop, number: str) -> None:
    form = build_settings_form(owner_client, shop) | {"low_stock_at": number}

    response = owner_client.post("shops_shop_change", shop.pk, **form)

    assert (response.status_code, "low_stock_at" in response.context["adminform"].form.errors) == (200, True)


def test_the_grid_lists_items_with_low_stock(admin_client_with: PanelWith, shop: Shop, other_shop: Shop) -> None:
    for current_shop in (shop, other_shop):
        set_threshold_silently(current_shop, 3)
    few_item, many_item, loose = make_item(shop), make_item(shop), make_item(shop, tracked=False)
    make_item(other_shop)
    set_stock(many_item, get_first_location(shop), 4)

    page, everything = (admin_client_with("products").get(GRID, **query) for query in ({"stock": "low"}, {}))

    low, lows = (
        {row["item"].pk: [cell["low"] for cell in row["cells"]] for row in response.context["rows"]}
        for response in (page, everything)
    )
    assert low == {few_item.pk: [True]}
    assert {pk for pk, cells in lows.items() if any(cells)} == {few_item.pk}
    assert loose.pk in lows
    assert "items with 3 or fewer available" in page.content.decode()


def test_the_grid_says_that_there_is_no_number(admin_client_with: PanelWith, shop: Shop) -> None:
    make_item(shop)
    response = admin_client_with("products").get(GRID, stock="low")

    assert response.context["rows"] == []
    assert "has no low-stock threshold yet" in response.content.decode()
    assert "Low stock only" not in admin_client_with("products").get(GRID).content.decode()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_marking_in_another_order_waits_in_a_circle")
def test_marking_and_moving_wait_for_each_other_in_one_order(shop: Shop) -> None:
    set_threshold_silently(shop, 50)
    places = [get_first_location(shop), make_location(shop)]
    items: list[InventoryItem] = [make_item(shop) for _ in range(6)]
    for item in items:
        set_stock(item, places[1], 7)

    def move(delta: int) -> None:
        for _ in range(15):
            moves = [
                StockChange(item.pk, index.pk, delta, may_oversell=True) for item in reversed(items) for index in places
            ]
            with transaction.atomic():
                movements.apply_stock_changes(moves, reason=StockMovement.Reason.COUNT, at=timezone.now(), **BY)

    def change_number() -> None:
        for number in (5, None, 90, 0) * 4:
            Shop.objects.filter(pk=shop.pk).update(low_stock_at=number)
            low_stock.mark_low_levels()

    run_concurrently(shop, lambda: move(9), lambda: move(-4), change_number, change_number)
    low_stock.mark_low_levels()

    assert is_consistent(shop)


@pytest.mark.postgres
@pytest.mark.shop_with(fill=fill_lists)
def test_low_items_are_found_by_their_index() -> None:
    assert "inventory_level_low" in low_stock.get_low_items().order_by("-id")[:50].explain()


def hold_item(item: InventoryItem) -> None:
    list(InventoryLevel.objects.select_for_update().filter(item=item))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_marking_in_another_order_waits_in_a_circle")
def test_marking_waits_for_an_inventory_change_before_locking_further_rows(shop: Shop) -> None:
    first, second = make_item(shop), make_item(shop)
    set_threshold_silently(shop, 3)

    run_while_uncommitted(shop, lambda: hold_item(first), low_stock.mark_low_levels, then=lambda: hold_item(second))

    assert is_consistent(shop)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.deadlocks(1)
def test_marking_in_another_order_waits_in_a_circle(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the deadlock that occurs if stock changes lock levels in another order: by item and location."""
    monkeypatch.setattr(low_stock, "_ORDER", ("-item_id", "-location_id"))
    first, second = make_item(shop), make_item(shop)
    set_threshold_silently(shop, 3)

    with pytest.raises(OperationalError, match="deadlock"):
        run_while_uncommitted(shop, lambda: hold_item(first), low_stock.mark_low_levels, then=lambda: hold_item(second))


@pytest.mark.postgres
def test_an_inventory_change_updates_the_index_only_when_low_stock_changes(shop: Shop) -> None:
    set_threshold_silently(shop, 3)
    item, first = make_item(shop), get_first_location(shop)
    hots: dict[bool, list[int]] = {True: [], False: []}
    turning = {9, 2, 4}
    for available in (9, 8, 7, 6, 5, 2, 1, 4):
        before = count_heap_only_updates()
        set_stock(item, first, available)
        updates, hot = (now - then for now, then in zip(count_heap_only_updates(), before, strict=True))
        assert updates == 1
        hots[available in turning].append(hot)

    # Some of these updates may not be heap-only, because rows of other tests may have filled the database page.
    assert (hots[True], any(hots[False])) == ([0, 0, 0], True)


def count_heap_only_updates() -> tuple[int, int]:
    """Return the number of updated levels and of heap-only updates in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_stat_get_xact_tuples_updated(oid), pg_stat_get_xact_tuples_hot_updated(oid)"
            " FROM pg_class WHERE oid = 'inventory_inventorylevel'::regclass"
        )
        updates, hot = cursor.fetchone()
    return updates, hot
