"""Tests for stock services: atomic changes, a record of each change, and overselling only where allowed."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from apps.inventory.domain import listeners, movements
from apps.inventory.domain import stock as services
from apps.inventory.domain.movements import LocationInactive, NotStocked, OutOfStock, StockChange
from apps.inventory.models import InventoryItem, InventoryLevel, StockMovement
from apps.shops.models import Shop
from tests.inventory.factories import get_available, get_first_location, get_ledger, make_item, make_location, set_stock

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: dict[str, Any] = {"actor": "staff:17", "at": NOON}


@pytest.fixture
def received_changes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that collects the arguments passed to stock listeners."""
    messages: list[Any] = []
    monkeypatch.setattr(listeners, "_stock_listeners", [lambda deltas, **_: messages.append(dict(deltas))])
    monkeypatch.setattr(listeners, "_item_listeners", [lambda ids: messages.append(list(ids))])
    return messages


def test_a_new_item_lies_at_the_primary_location_with_none_available(in_shop: Shop) -> None:
    item = make_item(in_shop)

    assert get_available(item, get_first_location(in_shop)) == 0
    assert get_ledger(item, get_first_location(in_shop)) == []


def test_each_change_is_in_the_ledger_with_who_and_why(in_shop: Shop) -> None:
    item, first = make_item(in_shop), get_first_location(in_shop)

    services.set_available(item, first, 10, **BY)
    services.adjust_available(item.pk, first.pk, -3, reason=StockMovement.Reason.DAMAGED, **BY)
    services.reserve_stock(item, first, 2, policy=services.DENY, reference="#1001", **BY)
    services.return_stock(item, first, 1, reference="#1001", **BY)
    services.set_available(item, first, 6, **BY)
    services.adjust_available(item.pk, first.pk, 0, **BY)

    assert get_ledger(item, first) == [(10, 10, "count"), (-3, 7, "damaged"), (-2, 5, "sale"), (1, 6, "restock")]
    assert get_available(item, first) == 6
    row = StockMovement.objects.get(reason="sale")
    assert (row.actor, row.at, row.reference) == ("staff:17", NOON, "#1001")


def test_deny_takes_what_is_there_and_no_more(in_shop: Shop) -> None:
    item, first = make_item(in_shop), get_first_location(in_shop)
    set_stock(item, first, 5)

    services.reserve_stock(item, first, 5, policy=services.DENY, **BY)
    with pytest.raises(OutOfStock, match="0 available, 1 requested"):
        services.reserve_stock(item, first, 1, policy=services.DENY, **BY)

    assert get_available(item, first) == 0


def test_continue_oversells_even_where_nothing_was_stocked(in_shop: Shop) -> None:
    item, depot = make_item(in_shop), make_location(in_shop)

    services.reserve_stock(item, depot, 4, policy=services.CONTINUE, **BY)
    with pytest.raises(OutOfStock):
        services.adjust_available(item.pk, depot.pk, -1, **BY)
    services.adjust_available(item.pk, depot.pk, 1, **BY)

    assert get_available(item, depot) == -3


def test_deny_sells_nothing_that_the_location_does_not_stock(in_shop: Shop) -> None:
    item, depot = make_item(in_shop), make_location(in_shop)

    with pytest.raises(NotStocked):
        services.reserve_stock(item, depot, 1, policy=services.DENY, **BY)

    assert not InventoryLevel.objects.filter(item=item, location=depot).exists()


def test_an_untracked_item_is_sold_without_being_counted(in_shop: Shop) -> None:
    item, first = make_item(in_shop, tracked=False), get_first_location(in_shop)

    assert services.reserve_stock(item, first, 3, policy=services.DENY, **BY) is None
    assert services.return_stock(item, first, 3, **BY) is None

    assert get_available(item, first) == 0


def test_moves_happen_all_or_not_at_all(in_shop: Shop, received_changes: list[Any]) -> None:
    first_item, two, first = make_item(in_shop), make_item(in_shop), get_first_location(in_shop)
    set_stock(first_item, first, 5)
    set_stock(two, first, 1)
    received_changes.clear()

    with pytest.raises(OutOfStock):
        apply_in_transaction([StockChange(first_item.pk, first.pk, -2), StockChange(two.pk, first.pk, -2)])
    assert (get_available(first_item, first), get_available(two, first), received_changes) == (5, 1, [])

    apply_in_transaction(
        [
            StockChange(two.pk, first.pk, -1),
            StockChange(first_item.pk, first.pk, -2),
            StockChange(first_item.pk, first.pk, -1),
        ]
    )
    assert get_ledger(first_item, first)[1:] == [(-2, 3, "sale"), (-1, 2, "sale")]
    assert received_changes == [{first_item.pk: -3, two.pk: -1}]


def apply_in_transaction(moves: list[StockChange]) -> None:
    from django.db import transaction

    with transaction.atomic():
        movements.apply_stock_changes(moves, reason=StockMovement.Reason.SALE, **BY)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda item, first, depot: services.set_available(item, first, 4, **BY), {"delta": -1}),
        (lambda item, first, depot: services.set_available(item, first, 5, **BY), None),
        (lambda item, first, depot: services.adjust_available(item.pk, first.pk, 2, **BY), {"delta": 2}),
        (
            lambda item, first, depot: (
                services.connect_item(item, depot, **BY) and services.disconnect_item(item, first, **BY)
            ),
            {"delta": -5},
        ),
        (lambda item, first, depot: services.connect_item(item, depot, **BY), None),
        (lambda item, first, depot: services.update_item(item, {"sku": "NEW"}, **BY), "item"),
        (lambda item, first, depot: services.update_item(item, {"sku": item.sku}, **BY), None),
    ],
)
def test_listeners_hear_of_every_change_and_of_nothing_else(
    in_shop: Shop, received_changes: list[Any], change: Callable[..., Any], expected: Any
) -> None:
    item, first, depot = make_item(in_shop), get_first_location(in_shop), make_location(in_shop)
    set_stock(item, first, 5)
    received_changes.clear()

    change(item, first, depot)

    if expected is None:
        assert received_changes == []
    elif expected == "item":
        assert received_changes == [[item.pk]]
    else:
        assert received_changes == [{item.pk: expected["delta"]}]


def test_totals_are_summed_over_the_locations(in_shop: Shop) -> None:
    first_item, two = make_item(in_shop), make_item(in_shop)
    set_stock(first_item, get_first_location(in_shop), 5)
    set_stock(first_item, make_location(in_shop), 2)

    assert services.get_total_available([first_item.pk, two.pk, 999]) == {first_item.pk: 7, two.pk: 0, 999: 0}


def test_nothing_moves_at_an_inactive_location(in_shop: Shop) -> None:
    item, depot = make_item(in_shop), make_location(in_shop)
    services.connect_item(item, depot, **BY)
    type(depot).objects.filter(pk=depot.pk).update(active=False)
    other = make_item(in_shop)

    attempts: list[Callable[[], Any]] = [
        lambda: services.set_available(item, depot, 1, **BY),
        lambda: services.adjust_available(item.pk, depot.pk, 1, **BY),
        lambda: services.return_stock(item, depot, 1, **BY),
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
    services.reserve_stock(item, depot, 3, policy=services.CONTINUE, **BY)
    services.disconnect_item(item, first, **BY)
    services.connect_item(item, first, **BY)
    theirs = make_item(other_shop)
    set_stock(theirs, get_first_location(other_shop), 2)
    out = StringIO()

    call_command("check_stock", stdout=out)

    assert out.getvalue() == "Every inventory level equals the sum of its inventory changes.\n"


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

    with pytest.raises(CommandError, match="1 inventory levels differ"):
        call_command("check_stock", stderr=errors)

    assert f"item {item.pk} at location {first.pk}" in errors.getvalue()


def test_stock_listeners_get_changes_by_ascending_id(monkeypatch: pytest.MonkeyPatch) -> None:
    quantities: list[Mapping[int, int]] = []
    monkeypatch.setattr(listeners, "_stock_listeners", [lambda deltas, **_: quantities.append(deltas)])

    listeners.notify_stock_listeners({9: 1, 2: -1, 5: 0}, **BY)

    assert [list(deltas.items()) for deltas in quantities] == [[(2, -1), (9, 1)]]
