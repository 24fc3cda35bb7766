from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from apps.catalog.domain import inventory_sync
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.inventory.domain import hooks, movements
from apps.inventory.domain import stock as services
from apps.inventory.domain.movements import LocationInactive, NotStocked, OutOfStock, StockChange
from apps.inventory.models import InventoryItem, InventoryLevel, Location, StockMovement
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_product
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    get_ledger,
    make_item,
    make_location,
    restock,
    sell,
    set_stock,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}


@pytest.fixture
def received_changes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    messages: list[Any] = []
    monkeypatch.setattr(hooks, "stock_listeners", {"test": lambda deltas, **_: messages.append(dict(deltas))})
    monkeypatch.setattr(hooks, "item_listeners", {"test": lambda ids, **_: messages.append(list(ids))})
    return messages


def test_each_change_is_in_the_ledger_with_who_and_why(in_shop: Shop) -> None:
    item, first = make_item(in_shop), get_first_location(in_shop)

    assert (get_available(item, first), get_ledger(item, first)) == (0, [])
    services.set_available(item, first, 10, **BY)
    services.adjust_available(item.pk, first.pk, -3, reason=StockMovement.Reason.DAMAGED, **BY)
    sell(item, first, 2, reference="#1001", **BY)
    restock(item, first, 1, reference="#1001", **BY)
    services.set_available(item, first, 6, **BY)
    services.adjust_available(item.pk, first.pk, 0, **BY)

    assert get_ledger(item, first) == [(10, 10, "count"), (-3, 7, "damaged"), (-2, 5, "sale"), (1, 6, "restock")]
    assert get_available(item, first) == 6
    row = StockMovement.objects.get(reason="sale")
    assert (row.actor, row.at, row.reference) == ("staff:17", NOON, "#1001")


def test_deny_takes_what_is_there_and_no_more(in_shop: Shop) -> None:
    item, first = make_item(in_shop), get_first_location(in_shop)
    set_stock(item, first, 5)

    sell(item, first, 5, **BY)
    with pytest.raises(OutOfStock, match="0 available, 1 requested"):
        sell(item, first, 1, **BY)

    assert get_available(item, first) == 0


def test_continue_oversells_even_where_nothing_was_stocked(in_shop: Shop) -> None:
    item, depot = make_item(in_shop), make_location(in_shop)

    sell(item, depot, 4, oversell=True, **BY)
    with pytest.raises(OutOfStock):
        services.adjust_available(item.pk, depot.pk, -1, **BY)
    services.adjust_available(item.pk, depot.pk, 1, **BY)

    assert get_available(item, depot) == -3


def test_deny_sells_nothing_that_the_location_does_not_stock(in_shop: Shop) -> None:
    item, depot = make_item(in_shop), make_location(in_shop)

    with pytest.raises(NotStocked):
        sell(item, depot, 1, **BY)

    assert not InventoryLevel.objects.filter(item=item, location=depot).exists()


@pytest.mark.parametrize("count", [3, 12])
def test_changes_of_many_levels_are_made_together(in_shop: Shop, count: int) -> None:
    first = get_first_location(in_shop)
    in_shop.low_stock_at = 4
    in_shop.save()
    variants = list(make_product(prices=("1.00",) * count).variants.order_by("pk"))
    items = [variant.inventory_item for variant in variants]

    def change(delta: int, *more: StockChange) -> list[InventoryLevel]:
        changes = [StockChange(item.pk, first.pk, delta) for item in items]
        return transaction.atomic(movements.apply_stock_changes)(
            [*reversed(changes), *more], reason=StockMovement.Reason.COUNT, **BY
        )

    change(5)
    levels = change(-2)

    assert [level.item_id for level in levels] == [item.pk for item in items]
    assert {(level.available, level.is_low, level.updated_at) for level in levels} == {(3, True, NOON)}
    assert {get_available(item, first) for item in items} == {3}
    for variant in variants:
        variant.refresh_from_db()
    assert {variant.inventory_quantity for variant in variants} == {3}

    sell(items[-1], first, 2, **BY)
    with pytest.raises(OutOfStock, match="1 available, 2 requested"):
        change(-2)
    with pytest.raises(NotStocked):
        change(1, StockChange(items[0].pk, make_location(in_shop).pk, 1))
    assert [get_available(item, first) for item in items] == [3] * (count - 1) + [1]


def test_moves_happen_all_or_not_at_all(in_shop: Shop, received_changes: list[Any]) -> None:
    first_item, two, first = make_item(in_shop), make_item(in_shop), get_first_location(in_shop)
    set_stock(first_item, first, 5)
    set_stock(two, first, 1)
    received_changes.clear()

    with pytest.raises(OutOfStock):
        apply_in_transaction([StockChange(first_item.pk, first.pk, -2), StockChange(two.pk, first.pk, -2)])
    assert (get_available(first_item, first), get_available(two, first), received_changes) == (5, 1, [])

    changes = ((two, -1), (first_item, -2), (first_item, -1))
    apply_in_transaction([StockChange(item.pk, first.pk, delta) for item, delta in changes])
    assert get_ledger(first_item, first)[1:] == [(-2, 3, "sale"), (-1, 2, "sale")]
    assert received_changes == [{first_item.pk: -3, two.pk: -1}]


@transaction.atomic
def apply_in_transaction(moves: list[StockChange]) -> None:
    movements.apply_stock_changes(moves, reason=StockMovement.Reason.SALE, **BY)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda item, first, depot: services.set_available(item, first, 4, **BY), -1),
        (lambda item, first, depot: services.set_available(item, first, 5, **BY), None),
        (lambda item, first, depot: services.adjust_available(item.pk, first.pk, 2, **BY), 2),
        (
            lambda item, first, depot: (
                services.connect_item(item, depot, **BY) and services.disconnect_item(item, first, **BY)
            ),
            -5,
        ),
        (lambda item, first, depot: services.connect_item(item, depot, **BY), None),
        (lambda item, first, depot: services.update_item(item, {"sku": "NEW"}, **BY), "item"),
        (lambda item, first, depot: services.update_item(item, {"sku": item.sku}, **BY), None),
    ],
)
def test_changes_reach_listeners(
    in_shop: Shop, received_changes: list[Any], change: Callable[..., object], expected: Any
) -> None:
    item, first, depot = make_item(in_shop), get_first_location(in_shop), make_location(in_shop)
    set_stock(item, first, 5)
    received_changes.clear()

    change(item, first, depot)

    received = {None: [], "item": [[item.pk]]}
    assert received_changes == received.get(expected, [{item.pk: expected}])


def test_inventory_does_not_change_at_an_inactive_location(in_shop: Shop) -> None:
    item, depot = make_item(in_shop), make_location(in_shop)
    services.connect_item(item, depot, **BY)
    type(depot).objects.filter(pk=depot.pk).update(active=False)
    other = make_item(in_shop)

    attempts: list[Callable[[], object]] = [
        lambda: services.set_available(item, depot, 1, **BY),
        lambda: services.adjust_available(item.pk, depot.pk, 1, **BY),
        lambda: services.connect_item(other, depot, **BY),
    ]
    for attempt in attempts:
        with pytest.raises(LocationInactive):
            attempt()

    assert get_ledger(item, depot) == []
    assert not InventoryLevel.objects.filter(item=other, location=depot).exists()


def test_deleted_items_take_levels_and_ledger_along(in_shop: Shop) -> None:
    item, saved_item = make_item(in_shop), make_item(in_shop)
    set_stock(item, get_first_location(in_shop), 5)

    services.delete_items([item.pk], **BY)

    assert list(InventoryItem.objects.all()) == [saved_item]
    assert not StockMovement.objects.exists()


def test_check_stock_finds_no_difference_after_all_kinds_of_changes(in_shop: Shop, other_shop: Shop) -> None:
    item, first, depot = make_item(in_shop), get_first_location(in_shop), make_location(in_shop)
    services.set_available(item, first, 10, **BY)
    sell(item, depot, 3, oversell=True, **BY)
    services.disconnect_item(item, first, **BY)
    services.connect_item(item, first, **BY)
    theirs = make_item(other_shop)
    set_stock(theirs, get_first_location(other_shop), 2)
    out = StringIO()

    call_command("check_stock", stdout=out)

    assert out.getvalue().startswith("No differences. Checked: stock, ")


@pytest.mark.parametrize(
    "damage",
    [
        lambda level: InventoryLevel.objects.filter(pk=level.pk).update(available=F("available") + 1),
        lambda level: StockMovement.objects.all().delete(),
        lambda level: InventoryLevel.objects.filter(pk=level.pk).delete(),
    ],
)
def test_check_stock_names_each_difference(in_shop: Shop, damage: Callable[[InventoryLevel], Any]) -> None:
    item, first = make_item(in_shop), get_first_location(in_shop)
    level = set_stock(item, first, 4)
    damage(level)
    errors = StringIO()

    with pytest.raises(CommandError, match=r"^Differences: 1\.$"):
        call_command("check_stock", stderr=errors)

    assert f"item {item.pk} at location {first.pk}" in errors.getvalue()


def test_stock_listeners_get_changes_by_ascending_id(monkeypatch: pytest.MonkeyPatch) -> None:
    quantities: list[Mapping[int, int]] = []
    monkeypatch.setattr(hooks, "stock_listeners", {"test": lambda deltas, **_: quantities.append(deltas)})

    hooks.notify_stock_listeners({9: 1, 2: -1, 5: 0}, **BY)

    assert [list(deltas.items()) for deltas in quantities] == [[(2, -1), (9, 1)]]


TABLES = ["catalog_product", "catalog_variant", "inventory_inventorylevel"]


def count_updates() -> dict[str, tuple[int, int]]:
    """Return the number of updated rows and of heap-only updates in this transaction, by table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_stat_get_xact_tuples_updated(oid), pg_stat_get_xact_tuples_hot_updated(oid)"
            " FROM pg_class WHERE relname = ANY(%s)",
            [TABLES],
        )
        return {name: (count, in_place) for name, count, in_place in cursor.fetchall()}


@pytest.mark.postgres
def test_inventory_changes_touch_no_index(api: ApiClient, in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    item, location = make_product().variants.get().inventory_item_id, Location.objects.get().pk
    level = {"inventory_item_id": item, "location_id": location}
    assert api.post("inventory_levels/set.json", {**level, "available": 1}).status_code == 200
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(inventory_sync, "timezone", SimpleNamespace(now=lambda: tomorrow))
    before = count_updates()

    for _ in range(12):
        assert api.post("inventory_levels/adjust.json", {**level, "available_adjustment": 1}).status_code == 200

    moved = {name: (count - before[name][0], hot - before[name][1]) for name, (count, hot) in count_updates().items()}
    assert set(moved) == set(TABLES)
    # An update is not heap-only if its page is full of other tests' rows.
    assert all(count == 12 and hot > 0 for count, hot in moved.values())
