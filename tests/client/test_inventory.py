"""Tests with the real client: locations, inventory items, and levels with the client's class methods."""

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from apps.core.tenancy.models import Shop
from apps.inventory.models import InventoryItem
from tests.support.factories.inventory import get_first_location, make_item, make_location, set_stock
from tests.support.servers.live import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]


@pytest.fixture
def item(server_shop: Shop) -> InventoryItem:
    """Create an inventory item with ten available at the first location."""
    new_item = make_item(server_shop)
    set_stock(new_item, get_first_location(server_shop), 10)
    return new_item


def find_levels(**query: object) -> list[tuple[int, int]]:
    """Return ``(location_id, available)`` for each matching level."""
    return sorted((level.location_id, level.available) for level in shopify.InventoryLevel.find(**query))


def test_locations_are_listed_counted_and_found(api_client_factory: Connect, server_shop: Shop) -> None:
    api_client_factory()
    depot = make_location(server_shop)

    matching_location = shopify.Location.find(depot.pk)

    assert [location.name for location in shopify.Location.find()] == ["Depot", get_first_location(server_shop).name]
    assert shopify.Location.count() == 2
    assert (
        matching_location.name,
        matching_location.city,
        matching_location.country_code,
        matching_location.province_code,
    ) == ("Depot", "Montreal", "CA", "QC")
    with pytest.raises(ResourceNotFound):
        shopify.Location.find(depot.pk + 1)


def test_a_location_tells_what_it_stocks(api_client_factory: Connect, server_shop: Shop, item: InventoryItem) -> None:
    api_client_factory()

    location = shopify.Location.find(get_first_location(server_shop).pk)
    stocked = location.inventory_levels(limit=5)

    assert [(level.inventory_item_id, level.available) for level in stocked] == [(item.pk, 10)]


def test_inventory_items_are_listed_found_and_saved_whole(api_client_factory: Connect, server_shop: Shop) -> None:
    api_client_factory()
    ids = [make_item(server_shop, sku=sku).pk for sku in ("A-1", "A-2")]

    inventory_items = shopify.InventoryItem.find(ids=",".join(map(str, ids)))
    inventory_item = shopify.InventoryItem.find(ids[0])
    inventory_item.cost = "5.25"
    inventory_item.country_code_of_origin = "CA"
    saved = inventory_item.save()
    second_inventory_item = shopify.InventoryItem.find(ids[0])

    assert [item.sku for item in inventory_items] == ["A-1", "A-2"]
    assert saved, inventory_item.errors.full_messages()
    assert (
        second_inventory_item.sku,
        second_inventory_item.cost,
        second_inventory_item.country_code_of_origin,
        second_inventory_item.tracked,
    ) == ("A-1", "5.25", "CA", True)


def test_the_item_of_a_variant_is_the_one_of_its_product(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create(
        {"title": "Mug", "variants": [{"sku": "MUG-9", "inventory_management": "shopify", "price": "9.00"}]}
    )
    variant = product.variants[0]
    location = shopify.Location.find()[0]

    shopify.InventoryLevel.set(location.id, variant.inventory_item_id, 7)

    assert shopify.InventoryItem.find(variant.inventory_item_id).sku == "MUG-9"
    assert shopify.Variant.find(variant.id).inventory_quantity == 7


def test_levels_are_set_and_adjusted(api_client_factory: Connect, server_shop: Shop, item: InventoryItem) -> None:
    api_client_factory()
    row_id = get_first_location(server_shop).pk

    after_set = shopify.InventoryLevel.set(row_id, item.pk, 25)
    after_more = shopify.InventoryLevel.adjust(row_id, item.pk, 5)
    after_less = shopify.InventoryLevel.adjust(row_id, item.pk, -12)

    assert (after_set.available, after_more.available, after_less.available) == (25, 30, 18)
    assert (after_less.location_id, after_less.inventory_item_id) == (row_id, item.pk)
    assert find_levels(inventory_item_ids=item.pk) == [(row_id, 18)]


def test_levels_are_connected_and_deleted(api_client_factory: Connect, server_shop: Shop, item: InventoryItem) -> None:
    api_client_factory()
    row_id, depot = get_first_location(server_shop).pk, make_location(server_shop).pk

    connected = shopify.InventoryLevel.connect(depot, item.pk)
    both = find_levels(inventory_item_ids=item.pk, location_ids=f"{row_id},{depot}")
    shopify.InventoryLevel.find(inventory_item_ids=item.pk, location_ids=depot)[0].destroy()

    assert connected.available == 0
    assert both == sorted([(row_id, 10), (depot, 0)])
    assert find_levels(location_ids=depot) == []
    assert find_levels(location_ids=row_id) == [(row_id, 10)]


def test_relocation_leaves_one_location(api_client_factory: Connect, server_shop: Shop, item: InventoryItem) -> None:
    api_client_factory()
    depot = make_location(server_shop).pk

    shopify.InventoryLevel.connect(depot, item.pk, relocate_if_necessary=True)

    assert find_levels(inventory_item_ids=item.pk) == [(get_first_location(server_shop).pk, 10), (depot, 0)]


def test_disconnection_leaves_one_location(api_client_factory: Connect, server_shop: Shop, item: InventoryItem) -> None:
    api_client_factory()
    depot = make_location(server_shop).pk

    level = shopify.InventoryLevel.set(depot, item.pk, 3, disconnect_if_necessary=True)

    assert level.available == 3
    assert (depot, 3) in find_levels(inventory_item_ids=item.pk)
