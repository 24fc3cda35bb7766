import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from apps.core.tenancy.models import Shop
from apps.inventory.models import InventoryItem
from tests.client.resources import change, create
from tests.support.factories.inventory import get_first_location, make_item, make_location, set_stock

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client"), pytest.mark.usefixtures("all_scopes")]


@pytest.fixture
def item(server_shop: Shop) -> InventoryItem:
    """Create an inventory item with ten available at the first location."""
    new_item = make_item(server_shop)
    set_stock(new_item, get_first_location(server_shop), 10)
    return new_item


def find_levels(**query: object) -> list[tuple[int, int]]:
    """Return ``(location_id, available)`` for each matching level."""
    return sorted((level.location_id, level.available) for level in shopify.InventoryLevel.find(**query))


def test_locations_are_listed_counted_and_found(server_shop: Shop, item: InventoryItem) -> None:
    first, depot = get_first_location(server_shop), make_location(server_shop)

    location = shopify.Location.find(depot.pk)
    stocked = shopify.Location.find(first.pk).inventory_levels(limit=5)

    assert [row.name for row in shopify.Location.find()] == ["Depot", first.name]
    assert shopify.Location.count() == 2
    assert (location.name, location.city, location.country_code, location.province_code) == (
        "Depot",
        "Montreal",
        "CA",
        "QC",
    )
    assert [(level.inventory_item_id, level.available) for level in stocked] == [(item.pk, 10)]
    with pytest.raises(ResourceNotFound):
        shopify.Location.find(depot.pk + 1)


def test_inventory_items_are_listed_found_and_saved_whole(server_shop: Shop) -> None:
    ids = [make_item(server_shop, sku=sku).pk for sku in ("A-1", "A-2")]

    items = shopify.InventoryItem.find(ids=",".join(map(str, ids)))
    changed = change(items[0], cost="5.25", country_code_of_origin="CA")

    assert [row.sku for row in items] == ["A-1", "A-2"]
    assert (changed.sku, changed.cost, changed.country_code_of_origin, changed.tracked) == ("A-1", "5.25", "CA", True)


def test_the_item_of_a_variant_is_the_one_of_its_product() -> None:
    values = {"sku": "MUG-9", "inventory_management": "shopify", "price": "9.00"}
    variant = create(shopify.Product, title="Mug", variants=[values]).variants[0]

    shopify.InventoryLevel.set(shopify.Location.find()[0].id, variant.inventory_item_id, 7)

    assert shopify.InventoryItem.find(variant.inventory_item_id).sku == "MUG-9"
    assert shopify.Variant.find(variant.id).inventory_quantity == 7


def test_levels_are_set_and_adjusted(server_shop: Shop, item: InventoryItem) -> None:
    row_id = get_first_location(server_shop).pk

    after_set = shopify.InventoryLevel.set(row_id, item.pk, 25)
    after_more = shopify.InventoryLevel.adjust(row_id, item.pk, 5)
    after_less = shopify.InventoryLevel.adjust(row_id, item.pk, -12)

    assert (after_set.available, after_more.available, after_less.available) == (25, 30, 18)
    assert (after_less.location_id, after_less.inventory_item_id) == (row_id, item.pk)
    assert find_levels(inventory_item_ids=item.pk) == [(row_id, 18)]


def test_levels_are_connected_and_deleted(server_shop: Shop, item: InventoryItem) -> None:
    row_id, depot = get_first_location(server_shop).pk, make_location(server_shop).pk

    connected = shopify.InventoryLevel.connect(depot, item.pk)
    both = find_levels(inventory_item_ids=item.pk, location_ids=f"{row_id},{depot}")
    shopify.InventoryLevel.find(inventory_item_ids=item.pk, location_ids=depot)[0].destroy()

    assert connected.available == 0
    assert both == sorted([(row_id, 10), (depot, 0)])
    assert find_levels(location_ids=depot) == []
    assert find_levels(location_ids=row_id) == [(row_id, 10)]


def test_connections_and_disconnections_leave_one_location(server_shop: Shop, item: InventoryItem) -> None:
    first, depot = get_first_location(server_shop).pk, make_location(server_shop).pk

    shopify.InventoryLevel.connect(depot, item.pk, relocate_if_necessary=True)
    assert find_levels(inventory_item_ids=item.pk) == [(first, 10), (depot, 0)]
    level = shopify.InventoryLevel.set(depot, item.pk, 3, disconnect_if_necessary=True)

    assert level.available == 3
    assert (depot, 3) in find_levels(inventory_item_ids=item.pk)
