"""Tests for inventory items and inventory changes in the panel, including permissions."""

from decimal import Decimal

import pytest

from apps.ground.tenancy import shop_scope
from apps.inventory.models import InventoryItem, Location
from apps.shops.models import Shop
from tests.inventory.factories import get_available, get_first_location, get_topics, make_item, make_location, set_stock
from tests.panel.conftest import Panel, PanelWith
from tests.panel.stock_grid import GRID, build_cell, save_grid

ADDRESS = {"name": "Depot", "country_code": "CA", "province": "québec", "priority": "2"}
PAGES = [
    ("inventory_location_changelist", "locations"),
    ("inventory_location_add", "locations"),
    (GRID, "products"),
    ("inventory_stockmovement_changelist", "products"),
]


def test_staff_change_what_the_customs_want_to_know(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, item = admin_client_with("products"), make_item(shop)
    values = {
        "tracked": "on",
        "requires_shipping": "on",
        "cost": "7.25",
        "country_code_of_origin": "CA",
        "province_code_of_origin": "quebec",
        "harmonized_system_code": "691110",
        "seen_version": str(item.version),
    }

    refused = panel.post("inventory_inventoryitem_change", item.pk, **values | {"province_code_of_origin": "Bavaria"})
    saved = panel.post("inventory_inventoryitem_change", item.pk, **values)

    assert "Enter a state or province of the country of origin." in refused.content.decode()
    assert saved.status_code == 302
    item.refresh_from_db()
    assert (item.cost, item.country_code_of_origin, item.province_code_of_origin) == (Decimal("7.25"), "CA", "QC")
    assert 'value="7.25"' in panel.get("inventory_inventoryitem_change", item.pk).content.decode()
    assert get_topics(shop, "inventory_items/") == ["inventory_items/create", "inventory_items/update"]


def test_movements_name_item_person_and_reason(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, item, first = admin_client_with("products"), make_item(shop, sku="MUG-7"), get_first_location(shop)
    save_grid(panel, "received", **build_cell(item, first, 6, 0))
    set_stock(make_item(shop, sku="OTHER"), first, 1)

    page = panel.get("inventory_stockmovement_changelist", item__id__exact=item.pk).content.decode()

    assert "MUG-7" in page
    assert "+6" in page
    assert "Received" in page
    assert str(panel.user) in page
    assert "OTHER" not in page


@pytest.mark.parametrize(("name", "permission"), PAGES)
def test_each_page_asks_for_its_permission(admin_client_with: PanelWith, name: str, permission: str) -> None:
    assert admin_client_with(permission).get(name).status_code == 200
    assert admin_client_with("pages").get(name).status_code == 403


def test_without_permission_nothing_changes(admin_client_with: PanelWith, shop: Shop) -> None:
    item, first, depot = make_item(shop), get_first_location(shop), make_location(shop)
    panel = admin_client_with("pages")
    locator = admin_client_with("locations")

    assert save_grid(panel, **build_cell(item, first, 3, 0)).status_code == 403
    assert save_grid(locator, **build_cell(item, first, 3, 0)).status_code == 403
    assert panel.post("inventory_location_activation", depot.pk).status_code == 403
    assert admin_client_with("products").post("inventory_location_activation", depot.pk).status_code == 403
    assert panel.post("inventory_location_add", **ADDRESS).status_code == 403

    assert get_available(item, first) == 0
    depot.refresh_from_db()
    assert depot.active
    with shop_scope(shop):
        assert Location.objects.count() == 2


def test_rows_of_another_shop_do_not_exist(admin_client_with: PanelWith, other_shop: Shop) -> None:
    panel = admin_client_with("locations", "products")
    there, theirs = get_first_location(other_shop), make_item(other_shop)

    for name, row in (
        ("inventory_location_change", there),
        ("inventory_location_activation", there),
        ("inventory_inventoryitem_change", theirs),
        ("inventory_location_history", there),
    ):
        assert panel.get(name, row.pk).status_code == 404, name
    assert panel.post("inventory_location_activation", there.pk).status_code == 404
    assert panel.get(GRID).context["rows"] == []


def test_items_and_locations_are_not_deleted_here(owner_client: Panel, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    assert owner_client.post("inventory_inventoryitem_delete", item.pk, post="yes").status_code == 403
    assert owner_client.post("inventory_location_delete", depot.pk, post="yes").status_code == 403
    assert owner_client.get("inventory_inventoryitem_add").status_code == 403

    with shop_scope(shop):
        assert InventoryItem.objects.count() == 1
        assert Location.objects.count() == 2
