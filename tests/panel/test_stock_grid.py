"""Tests for the stock grid in the panel."""

from typing import Any

import pytest

from apps.ground.tenancy import shop_scope
from apps.inventory.models import StockMovement
from apps.shops.models import Shop
from tests.inventory.factories import get_available, get_first_location, get_ledger, make_item, make_location, set_stock
from tests.panel.conftest import PanelWith
from tests.panel.stock_grid import GRID, build_cell, get_messages, save_grid


def test_the_grid_shows_items_by_locations(admin_client_with: PanelWith, shop: Shop) -> None:
    item, depot = make_item(shop, sku="MUG-7"), make_location(shop)
    set_stock(item, depot, 41)

    page = admin_client_with("products").get(GRID)

    rows = page.context["rows"]
    assert [index.name for index in page.context["places"]] == ["Depot", "Shop location"]
    assert [(row["item"].pk, [cell["now"] for cell in row["cells"]]) for row in rows] == [(item.pk, [41, 0])]
    text = page.content.decode()
    assert f'aria-labelledby="i{item.pk} p{depot.pk}"' in text
    assert text.count(f'id="i{item.pk}"') == text.count(f'id="p{depot.pk}"') == 1


def test_the_grid_writes_the_changed_cells_with_the_reason(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("products")
    first_item, two, first, depot = make_item(shop), make_item(shop), get_first_location(shop), make_location(shop)
    set_stock(first_item, first, 5)

    response = save_grid(
        panel,
        "damaged",
        **build_cell(first_item, first, 3, 5),
        **build_cell(first_item, depot, 2),
        **build_cell(two, first, 0, 0),
        **build_cell(two, depot, ""),
    )

    assert "2 quantities changed." in get_messages(response)
    assert get_ledger(first_item, first)[1:] == [(-2, 3, "damaged")]
    assert get_ledger(first_item, depot) == [(2, 2, "damaged")]
    assert get_ledger(two, first) == []
    with shop_scope(shop):
        assert StockMovement.objects.latest("id").actor == f"staff:{panel.user.pk}"


def test_a_form_with_other_cell_names_is_refused_with_a_message(admin_client_with: PanelWith, shop: Shop) -> None:
    """Submit a form with old field names, which did not contain the displayed quantity."""
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 5)

    response = save_grid(
        admin_client_with("products"), **{f"cell-{item.pk}-{first.pk}": "7", f"seen-{item.pk}-{first.pk}": "5"}
    )

    assert "This form is no longer valid." in get_messages(response)
    assert get_available(item, first) == 5


def test_a_grid_of_25_items_at_six_locations_is_light(admin_client_with: PanelWith, shop: Shop) -> None:
    places = [make_location(shop, name=f"Warehouse {number}") for number in range(5)]
    for number in range(25):
        item = make_item(shop, sku=f"HOODIE-GREEN-{number:05}")
        for index in places:
            set_stock(item, index, 100 + number)

    panel = admin_client_with("products")
    panel.http.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    weight = len(panel.get(GRID).content)

    assert weight < 60_000


@pytest.mark.parametrize(
    ("expected", "observed", "says"),
    [
        ("7", "4", "This quantity was changed to “5” while you were editing."),
        ("7", "", "This quantity was changed to “5” while you were editing."),
        ("-1", "5", "Enter a number from 0"),
        ("9999999999", "5", "Enter a number from 0"),
        ("many", "5", "Enter a whole number."),
        ("1.5", "5", "Enter a whole number."),
    ],
)
def test_the_grid_saves_all_or_nothing_and_marks_the_cell(
    admin_client_with: PanelWith, shop: Shop, expected: str, observed: str, says: str
) -> None:
    panel, first_item, two, first = (
        admin_client_with("products"),
        make_item(shop),
        make_item(shop),
        get_first_location(shop),
    )
    set_stock(first_item, first, 5)

    response = save_grid(panel, **build_cell(first_item, first, expected, observed), **build_cell(two, first, 8, 0))

    page = response.content.decode()
    assert says in page
    assert 'aria-invalid="true"' in page
    assert f'value="{expected}"' in page
    assert (get_available(first_item, first), get_available(two, first)) == (5, 0)


def test_the_grid_keeps_oversold_cells_until_they_are_counted(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, item, first = admin_client_with("products"), make_item(shop), get_first_location(shop)
    from apps.inventory.domain import stock

    with shop_scope(shop):
        stock.reserve_stock(item, first, 2, policy="continue", actor="system", at=item.created_at)

    unchanged = save_grid(panel, **build_cell(item, first, -2, -2))
    counted = save_grid(panel, **build_cell(item, first, 4, -2))

    assert "Nothing was changed." in get_messages(unchanged)
    assert "1 quantity changed." in get_messages(counted)
    assert get_available(item, first) == 4


def test_the_grid_touches_no_other_shop_and_no_service(
    admin_client_with: PanelWith, shop: Shop, other_shop: Shop
) -> None:
    panel, mine, theirs = admin_client_with("products"), make_item(shop), make_item(other_shop)
    first, there = get_first_location(shop), get_first_location(other_shop)
    legacy = make_location(shop, legacy=True)

    for cells in (
        build_cell(theirs, there, 9, 0),
        build_cell(mine, there, 9),
        build_cell(theirs, first, 9),
        build_cell(mine, legacy, 9),
    ):
        response = save_grid(panel, **cells)
        assert "Nothing was saved" in get_messages(response)

    assert get_available(theirs, there) == get_available(mine, first) == 0
    assert get_ledger(mine, legacy) == []


def test_the_grid_finds_by_sku_and_pages(
    admin_client_with: PanelWith, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.inventory.admin import items

    monkeypatch.setattr(items, "GRID_ROWS", 2)
    for number in range(3):
        make_item(shop, sku=f"CUP-{number}")
    make_item(shop, sku="PLATE")
    panel = admin_client_with("products")

    response = panel.get(GRID, q="cup")
    second = panel.get(GRID, q="cup", p="2")

    assert [row["item"].sku for row in response.context["rows"]] == ["CUP-2", "CUP-1"]
    assert [row["item"].sku for row in second.context["rows"]] == ["CUP-0"]
    assert panel.get(GRID, q="nothing", p="x").context["rows"] == []


def test_many_locations_are_chosen_from(admin_client_with: PanelWith, shop: Shop) -> None:
    make_item(shop)
    places = [make_location(shop, name=f"Depot {number}") for number in range(8)]
    panel = admin_client_with("products")

    displayed_places = panel.get(GRID).context["places"]
    selected_places = panel.get(GRID, location=str(places[7].pk)).context["places"]

    assert len(displayed_places) == 6
    assert selected_places == [places[7]]


@pytest.mark.parametrize("count", [1, 3])
def test_the_grid_costs_the_same_queries_however_many_rows(
    admin_client_with: PanelWith, shop: Shop, count: int, django_assert_max_num_queries: Any
) -> None:
    for _ in range(count):
        make_item(shop)
    panel = admin_client_with("products")
    panel.get(GRID)

    with django_assert_max_num_queries(14):
        page = panel.get(GRID)

    assert len(page.context["rows"]) == count
