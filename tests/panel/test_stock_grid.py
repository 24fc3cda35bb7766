"""Tests of the stock grid in the panel."""

from typing import Any

import pytest

from apps.ground.tenancy import shop_scope
from apps.inventory.models import StockMovement
from apps.shops.models import Shop
from tests.inventory.factories import first_location, ledger_of, level_of, make_item, make_location, put
from tests.panel.conftest import PanelWith
from tests.panel.stock_grid import GRID, cell, messages_of, save


def test_the_grid_shows_items_by_locations(panel_with: PanelWith, shop: Shop) -> None:
    item, depot = make_item(shop, sku="MUG-7"), make_location(shop)
    put(item, depot, 41)

    page = panel_with("products").get(GRID)

    rows = page.context["rows"]
    assert [index.name for index in page.context["places"]] == ["Depot", "Shop location"]
    assert [(row["item"].pk, [cell["now"] for cell in row["cells"]]) for row in rows] == [(item.pk, [41, 0])]
    text = page.content.decode()
    assert f'aria-labelledby="i{item.pk} p{depot.pk}"' in text
    assert text.count(f'id="i{item.pk}"') == text.count(f'id="p{depot.pk}"') == 1


def test_the_grid_writes_the_changed_cells_with_the_reason(panel_with: PanelWith, shop: Shop) -> None:
    panel = panel_with("products")
    first_item, two, first, depot = make_item(shop), make_item(shop), first_location(shop), make_location(shop)
    put(first_item, first, 5)

    response = save(
        panel,
        "damaged",
        **cell(first_item, first, 3, 5),
        **cell(first_item, depot, 2),
        **cell(two, first, 0, 0),
        **cell(two, depot, ""),
    )

    assert "2 levels changed." in messages_of(response)
    assert ledger_of(first_item, first)[1:] == [(-2, 3, "damaged")]
    assert ledger_of(first_item, depot) == [(2, 2, "damaged")]
    assert ledger_of(two, first) == []
    with shop_scope(shop):
        assert StockMovement.objects.latest("id").actor == f"staff:{panel.user.pk}"


def test_a_form_that_names_its_cells_otherwise_is_refused_aloud(panel_with: PanelWith, shop: Shop) -> None:
    """Check field names from before they contained the displayed quantity."""
    item, first = make_item(shop), first_location(shop)
    put(item, first, 5)

    response = save(panel_with("products"), **{f"cell-{item.pk}-{first.pk}": "7", f"seen-{item.pk}-{first.pk}": "5"})

    assert "This form is no longer valid." in messages_of(response)
    assert level_of(item, first) == 5


def test_a_grid_of_25_items_at_six_locations_is_light(panel_with: PanelWith, shop: Shop) -> None:
    places = [make_location(shop, name=f"Warehouse {number}") for number in range(5)]
    for number in range(25):
        item = make_item(shop, sku=f"HOODIE-GREEN-{number:05}")
        for index in places:
            put(item, index, 100 + number)

    panel = panel_with("products")
    panel.http.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    weight = len(panel.get(GRID).content)

    assert weight < 60_000


@pytest.mark.parametrize(
    ("expected", "observed", "says"),
    [
        ("7", "4", "The quantity has changed to 5."),
        ("7", "", "The quantity has changed to 5."),
        ("-1", "5", "Enter a number from 0"),
        ("9999999999", "5", "Enter a number from 0"),
        ("many", "5", "Enter a whole number."),
        ("1.5", "5", "Enter a whole number."),
    ],
)
def test_the_grid_saves_all_or_nothing_and_marks_the_cell(
    panel_with: PanelWith, shop: Shop, expected: str, observed: str, says: str
) -> None:
    panel, first_item, two, first = panel_with("products"), make_item(shop), make_item(shop), first_location(shop)
    put(first_item, first, 5)

    response = save(panel, **cell(first_item, first, expected, observed), **cell(two, first, 8, 0))

    page = response.content.decode()
    assert says in page
    assert 'aria-invalid="true"' in page
    assert f'value="{expected}"' in page
    assert (level_of(first_item, first), level_of(two, first)) == (5, 0)


def test_the_grid_keeps_oversold_cells_until_somebody_counts(panel_with: PanelWith, shop: Shop) -> None:
    panel, item, first = panel_with("products"), make_item(shop), first_location(shop)
    from apps.inventory.domain import stock

    with shop_scope(shop):
        stock.reserve_stock(item, first, 2, policy="continue", actor="system", at=item.created_at)

    unchanged = save(panel, **cell(item, first, -2, -2))
    counted = save(panel, **cell(item, first, 4, -2))

    assert "Nothing was changed." in messages_of(unchanged)
    assert "1 level changed." in messages_of(counted)
    assert level_of(item, first) == 4


def test_the_grid_touches_no_other_shop_and_no_service(panel_with: PanelWith, shop: Shop, other_shop: Shop) -> None:
    panel, mine, theirs = panel_with("products"), make_item(shop), make_item(other_shop)
    first, there = first_location(shop), first_location(other_shop)
    legacy = make_location(shop, legacy=True)

    for cells in (cell(theirs, there, 9, 0), cell(mine, there, 9), cell(theirs, first, 9), cell(mine, legacy, 9)):
        response = save(panel, **cells)
        assert "Nothing was saved" in messages_of(response)

    assert level_of(theirs, there) == level_of(mine, first) == 0
    assert ledger_of(mine, legacy) == []


def test_the_grid_finds_by_sku_and_pages(panel_with: PanelWith, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.inventory.admin import items

    monkeypatch.setattr(items, "GRID_ROWS", 2)
    for number in range(3):
        make_item(shop, sku=f"CUP-{number}")
    make_item(shop, sku="PLATE")
    panel = panel_with("products")

    response = panel.get(GRID, q="cup")
    second = panel.get(GRID, q="cup", p="2")

    assert [row["item"].sku for row in response.context["rows"]] == ["CUP-2", "CUP-1"]
    assert [row["item"].sku for row in second.context["rows"]] == ["CUP-0"]
    assert panel.get(GRID, q="nothing", p="x").context["rows"] == []


def test_many_locations_are_chosen_from(panel_with: PanelWith, shop: Shop) -> None:
    make_item(shop)
    places = [make_location(shop, name=f"Depot {number}") for number in range(8)]
    panel = panel_with("products")

    displayed_places = panel.get(GRID).context["places"]
    selected_places = panel.get(GRID, location=str(places[7].pk)).context["places"]

    assert len(displayed_places) == 6
    assert selected_places == [places[7]]


@pytest.mark.parametrize("count", [1, 3])
def test_the_grid_costs_the_same_queries_however_many_rows(
    panel_with: PanelWith, shop: Shop, count: int, django_assert_max_num_queries: Any
) -> None:
    for _ in range(count):
        make_item(shop)
    panel = panel_with("products")
    panel.get(GRID)

    with django_assert_max_num_queries(14):
        page = panel.get(GRID)

    assert len(page.context["rows"]) == count
