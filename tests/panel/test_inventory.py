from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.inventory.domain import locations
from apps.inventory.models import InventoryItem, Location, StockMovement
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    get_ledger,
    get_topics,
    make_item,
    make_location,
    sell,
    set_stock,
)
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import GRID, build_cell, get_messages, save_grid

pytestmark = pytest.mark.usefixtures("in_shop")

ADDRESS = {"name": "Depot", "country_code": "CA", "province": "québec", "priority": "2"}
ITEM, LOCATION, ACTIVATION = (
    f"inventory_{name}" for name in ("inventoryitem_change", "location_change", "location_activation")
)


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("products", "locations")


def test_staff_change_what_the_customs_want_to_know(panel: Panel, shop: Shop) -> None:
    item = make_item(shop)
    values = {
        "tracked": "on",
        "requires_shipping": "on",
        "cost": "7.25",
        "country_code_of_origin": "CA",
        "province_code_of_origin": "quebec",
        "harmonized_system_code": "691110",
        "seen_version": str(item.version),
    }

    refused = panel.post(ITEM, item.pk, **values | {"province_code_of_origin": "Bavaria"})
    saved = panel.post(ITEM, item.pk, **values)

    assert "Enter a state or province of the country of origin." in refused.content.decode()
    assert saved.status_code == 302
    item.refresh_from_db()
    assert (item.cost, item.country_code_of_origin, item.province_code_of_origin) == (Decimal("7.25"), "CA", "QC")
    assert 'value="7.25"' in panel.get(ITEM, item.pk).content.decode()
    assert get_topics(shop, "inventory_items/") == ["inventory_items/create", "inventory_items/update"]


def test_cleared_costs_are_unknown_instead_of_zero(panel: Panel, shop: Shop) -> None:
    item = make_item(shop, cost="4.50")
    values = {"tracked": "on", "requires_shipping": "on", "cost": "", "seen_version": str(item.version)}

    assert panel.post(ITEM, item.pk, **values).status_code == 302

    item.refresh_from_db()
    assert item.cost is None


def test_movements_name_item_person_and_reason(panel: Panel, shop: Shop) -> None:
    item, first = make_item(shop, sku="MUG-7"), get_first_location(shop)
    save_grid(panel, "received", **build_cell(item, first, 6, 0))
    set_stock(make_item(shop, sku="OTHER"), first, 1)

    page = panel.get("inventory_stockmovement_changelist", item__id__exact=item.pk).content.decode()

    assert [text for text in ("MUG-7", "+6", "Received", str(panel.user)) if text not in page] == []
    assert "OTHER" not in page


def test_items_and_locations_are_not_deleted_here(owner_client: Panel, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    assert owner_client.post("inventory_inventoryitem_delete", item.pk, post="yes").status_code == 403
    assert owner_client.post("inventory_location_delete", depot.pk, post="yes").status_code == 403
    assert (InventoryItem.objects.count(), Location.objects.count()) == (1, 2)


def test_staff_open_and_change_a_location(panel: Panel, shop: Shop) -> None:

    opened = panel.post("inventory_location_add", **ADDRESS)
    depot = Location.objects.get(name="Depot")
    changed = panel.post(LOCATION, depot.pk, **ADDRESS, city="Laval", seen_version=str(depot.version))

    assert (opened.status_code, changed.status_code) == (302, 302)
    depot.refresh_from_db()
    assert (depot.province, depot.province_code, depot.city, depot.priority) == ("Quebec", "QC", "Laval", 2)
    assert get_topics(shop, "locations/") == ["locations/create", "locations/create", "locations/update"]
    assert Event.objects.get(topic="locations/update").actor == f"staff:{panel.user.pk}"


def test_a_location_of_a_service_is_shown_and_not_changed(panel: Panel, shop: Shop) -> None:
    legacy = make_location(shop, legacy=True)

    page = panel.get(LOCATION, legacy.pk).content
    panel.post(LOCATION, legacy.pk, **ADDRESS | {"name": "Mine"}, seen_version=str(legacy.version))

    assert b"Only the fulfillment service can change this location" in page
    assert b'name="_save"' not in page
    legacy.refresh_from_db()
    assert legacy.name == "Depot"


def test_the_page_names_obstacles_and_refuses(panel: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    depot = make_location(shop)
    set_stock(make_item(shop), depot, 3)

    page = panel.get(ACTIVATION, depot.pk).content.decode()
    refused = panel.http.post(panel.url(ACTIVATION, depot.pk), follow=True)

    assert "1 item still has stock here." in page
    assert ">Deactivate</button>" not in page
    assert "1 item still has stock here." in get_messages(refused)
    depot.refresh_from_db()
    assert depot.active
    objections = {"orders": lambda location: ["Two fulfillment orders are open."]}
    monkeypatch.setattr(locations, "deactivation_objections", objections)
    assert "Two fulfillment orders are open." in panel.get(ACTIVATION, depot.pk).content.decode()


def test_a_new_location_has_no_quantity_yet(panel: Panel, shop: Shop) -> None:
    pages = [panel.get("inventory_location_add"), panel.get("inventory_location_change", make_location(shop).pk)]

    assert [b"Available quantity" in page.content for page in pages] == [False, True]


def test_a_location_is_deactivated_and_activated(panel: Panel, shop: Shop) -> None:
    depot = make_location(shop)

    assert ">Deactivate</button>" in panel.get(ACTIVATION, depot.pk).content.decode()
    for typed in ({}, {"active": "on"}):
        panel.post(ACTIVATION, depot.pk, **typed)
        depot.refresh_from_db()
        assert depot.active is bool(typed)

    assert get_topics(shop, "locations/")[-2:] == ["locations/deactivate", "locations/activate"]


def test_locations_show_their_address_and_units(panel: Panel, shop: Shop) -> None:
    depot = make_location(shop)
    set_stock(make_item(shop), depot, 12)

    assert "Montreal, Canada" in panel.get("inventory_location_changelist").content.decode()
    with CaptureQueriesContext(connection) as statements:
        page = panel.get(LOCATION, depot.pk).content.decode()
    assert ">12<" in page.replace(" ", "").replace("\n", "")
    assert sum("SUM(" in statement["sql"] for statement in statements) == 1


def test_the_grid_shows_items_by_locations(panel: Panel, shop: Shop) -> None:
    item, depot = make_item(shop, sku="MUG-7"), make_location(shop)
    set_stock(item, depot, 41)

    page = panel.get(GRID)

    rows = page.context["rows"]
    assert [index.name for index in page.context["places"]] == ["Depot", "Shop location"]
    assert [(row["item"].pk, [cell["now"] for cell in row["cells"]]) for row in rows] == [(item.pk, [41, 0])]
    text = page.content.decode()
    assert f'aria-labelledby="i{item.pk} p{depot.pk}"' in text
    assert text.count(f'id="i{item.pk}"') == text.count(f'id="p{depot.pk}"') == 1


def test_the_grid_writes_the_changed_cells_with_the_reason(panel: Panel, shop: Shop) -> None:
    first_item, two, first, depot = make_item(shop), make_item(shop), get_first_location(shop), make_location(shop)
    set_stock(first_item, first, 5)
    changed = build_cell(first_item, first, 3, 5) | build_cell(first_item, depot, 2)

    response = save_grid(panel, "damaged", **changed, **build_cell(two, first, 0, 0), **build_cell(two, depot, ""))

    assert "2 quantities changed." in get_messages(response)
    assert get_ledger(first_item, first)[1:] == [(-2, 3, "damaged")]
    assert get_ledger(first_item, depot) == [(2, 2, "damaged")]
    assert get_ledger(two, first) == []
    assert StockMovement.objects.latest("id").actor == f"staff:{panel.user.pk}"


def test_a_form_with_other_cell_names_is_refused_with_a_message(panel: Panel, shop: Shop) -> None:
    """Submit a form with old field names, which did not contain the displayed quantity."""
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 5)

    response = save_grid(panel, **{f"cell-{item.pk}-{first.pk}": "7", f"seen-{item.pk}-{first.pk}": "5"})

    assert "This form is no longer valid." in get_messages(response)
    assert get_available(item, first) == 5


def test_a_grid_of_25_items_at_six_locations_is_light(panel: Panel, shop: Shop) -> None:
    places = [make_location(shop, name=f"Warehouse {number}") for number in range(5)]
    for number in range(25):
        item = make_item(shop, sku=f"HOODIE-GREEN-{number:05}")
        for index in places:
            set_stock(item, index, 100 + number)

    panel.http.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"

    assert len(panel.get(GRID).content) < 60_000


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
def test_the_grid_saves_all_or_nothing(panel: Panel, shop: Shop, expected: str, observed: str, says: str) -> None:
    first_item, two, first = make_item(shop), make_item(shop), get_first_location(shop)
    set_stock(first_item, first, 5)

    response = save_grid(panel, **build_cell(first_item, first, expected, observed), **build_cell(two, first, 8, 0))

    page = response.content.decode()
    assert [text for text in (says, 'aria-invalid="true"', f'value="{expected}"') if text not in page] == []
    assert (get_available(first_item, first), get_available(two, first)) == (5, 0)


def test_the_grid_keeps_oversold_cells_until_they_are_counted(panel: Panel, shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    sell(item, first, 2, oversell=True, actor="system", at=item.created_at)

    unchanged = save_grid(panel, **build_cell(item, first, -2, -2))
    counted = save_grid(panel, **build_cell(item, first, 4, -2))

    assert "Nothing was changed." in get_messages(unchanged)
    assert "1 quantity changed." in get_messages(counted)
    assert get_available(item, first) == 4


def test_the_grid_changes_no_other_shop(panel: Panel, shop: Shop, other_shop: Shop) -> None:
    mine, theirs = make_item(shop), make_item(other_shop)
    first, there = get_first_location(shop), get_first_location(other_shop)
    legacy = make_location(shop, legacy=True)

    for cells in (
        build_cell(theirs, there, 9, 0),
        build_cell(mine, there, 9),
        build_cell(theirs, first, 9),
        build_cell(mine, legacy, 9),
    ):
        assert "Nothing was saved" in get_messages(save_grid(panel, **cells))

    assert get_available(theirs, there) == get_available(mine, first) == 0
    assert get_ledger(mine, legacy) == []


def test_the_grid_finds_skus_and_pages(panel: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.inventory.admin import items

    monkeypatch.setattr(items, "GRID_ROWS", 2)
    for number in range(3):
        make_item(shop, sku=f"CUP-{number}")
    make_item(shop, sku="PLATE")

    def list_skus(**query: str) -> list[str]:
        return [row["item"].sku for row in panel.get(GRID, **query).context["rows"]]

    assert list_skus(q="cup") == ["CUP-2", "CUP-1"]
    assert list_skus(q="cup", p="2") == ["CUP-0"]
    assert list_skus(q="nothing", p="x") == []


def test_many_locations_are_chosen_from(panel: Panel, shop: Shop) -> None:
    make_item(shop)
    places = [make_location(shop, name=f"Depot {number}") for number in range(8)]

    assert len(panel.get(GRID).context["places"]) == 6
    assert panel.get(GRID, location=str(places[7].pk)).context["places"] == [places[7]]


@pytest.mark.parametrize("count", [1, 3])
def test_the_grid_costs_the_same_queries_however_many_rows(
    panel: Panel, shop: Shop, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(count):
        make_item(shop)
    panel.get(GRID)

    with django_assert_max_num_queries(14):
        page = panel.get(GRID)

    assert len(page.context["rows"]) == count


def test_a_plus_adds_to_the_current_quantity(panel: Panel, shop: Shop) -> None:
    item, empty, first = make_item(shop), make_item(shop, sku="MUG-2"), get_first_location(shop)
    depot = make_location(shop)
    set_stock(item, first, 3)
    cells = build_cell(item, first, "+12", 3) | build_cell(empty, depot, "+4")
    sell(item, first, 1, actor="system", at=item.created_at)

    save_grid(panel, "received", **cells)

    assert get_ledger(item, first)[-1] == (12, 14, "received")
    assert get_available(empty, depot) == 4


@pytest.mark.parametrize("text", ["+", "++1", "+1000000001", "-1"])
def test_a_wrong_addition_is_refused(panel: Panel, shop: Shop, text: str) -> None:
    item, first = make_item(shop), get_first_location(shop)

    refused = save_grid(panel, "received", **build_cell(item, first, text, 0))

    assert "Nothing was saved. Correct the marked cells." in get_messages(refused)
    assert get_available(item, first) == 0
