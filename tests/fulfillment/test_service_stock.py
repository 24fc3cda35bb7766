"""Tests for the stock of variants that a fulfillment service fulfills."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.tenancy.models import Shop
from apps.fulfillment.models import FulfillmentService
from apps.inventory.models import InventoryLevel, Location
from apps.orders.models import LineItem
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.fulfillment import make_service, route_order_now
from tests.support.factories.inventory import get_first_location, make_location, set_stock
from tests.support.factories.orders import make_order, make_variant
from tests.support.files.import_export import import_text
from tests.support.types import JsonObject

OBEY, IGNORE = "decrement_obeying_policy", "decrement_ignoring_policy"


@pytest.fixture
def service(api: ApiClient, in_shop: Shop) -> FulfillmentService:
    return make_service(api.installation.app, name="North Depot")


def get_levels(item_id: int) -> dict[str, int]:
    return dict(InventoryLevel.objects.filter(item=item_id).values_list("location__name", "available"))


def order_units(api: ApiClient, variant_id: int, quantity: int, behavior: str = OBEY) -> Any:
    body = {"line_items": [{"variant_id": variant_id, "quantity": quantity}], "inventory_behaviour": behavior}
    return api.post("orders.json", {"order": body})


def create_variant(api: ApiClient, **values: object) -> JsonObject:
    body = {"title": "Lamp", "variants": [{"inventory_management": "platform", **values}]}
    (variant,) = api.post("products.json", {"product": body}).json()["product"]["variants"]
    return dict(variant)


@pytest.mark.parametrize("at_service", [1, None])
def test_a_service_does_not_sell_the_shops_own_stock(
    api: ApiClient, in_shop: Shop, service: FulfillmentService, at_service: int | None
) -> None:
    variant = make_variant(in_shop, stock=9, fulfillment_service=service.handle)
    if at_service:
        set_stock(variant.inventory_item, service.location, at_service)
    before = get_levels(variant.inventory_item_id)

    refused = order_units(api, variant.pk, 6)

    message = f"is more than the quantity in stock ({at_service or 0})"
    assert get_errors(refused) == {"line_items.0.quantity": [message]}
    assert get_levels(variant.inventory_item_id) == before
    assert order_units(api, variant.pk, 1).status_code == (201 if at_service else 422)


def test_the_shop_does_not_sell_the_stock_of_a_service(
    api: ApiClient, in_shop: Shop, service: FulfillmentService
) -> None:
    variant = make_variant(in_shop, stock=1)
    set_stock(variant.inventory_item, service.location, 10)

    assert order_units(api, variant.pk, 2).status_code == 422
    assert order_units(api, variant.pk, 1).status_code == 201

    assert get_levels(variant.inventory_item_id) == {"Shop location": 0, "North Depot": 10}


def test_missing_items_of_a_service_are_oversold_at_its_location(
    api: ApiClient, in_shop: Shop, service: FulfillmentService
) -> None:
    variant = make_variant(in_shop, stock=9, fulfillment_service=service.handle)
    set_stock(variant.inventory_item, service.location, 1)

    assert order_units(api, variant.pk, 6, IGNORE).status_code == 201

    assert get_levels(variant.inventory_item_id) == {"Shop location": 9, "North Depot": -5}
    assert LineItem.objects.get().taken_from == {str(service.location_id): 6}


def test_stock_of_a_location_that_cannot_fulfill_is_transferred_when_routed(in_shop: Shop) -> None:
    depot = make_location(in_shop, name="Depot")
    variant = make_variant(in_shop, stock=0)
    set_stock(variant.inventory_item, depot, 2)
    order = make_order(lines=[{"variant_id": variant.pk, "quantity": 2}], inventory_behaviour=OBEY)
    Location.objects.filter(pk=depot.pk).update(active=False)

    (row,) = route_order_now(order)

    assert row.assigned_location == get_first_location(in_shop)
    assert LineItem.objects.get().taken_from == {str(row.assigned_location_id): 2}
    assert get_levels(variant.inventory_item_id) == {"Shop location": -2, "Depot": 0}


def test_new_variants_of_a_service_are_stocked_at_its_location(
    api: ApiClient, in_shop: Shop, service: FulfillmentService
) -> None:
    handle = service.handle
    first = create_variant(api, fulfillment_service=handle, inventory_management=handle, option1="S")
    body = {"variant": {"option1": "M", "fulfillment_service": handle, "inventory_management": handle}}
    second = api.post(f"products/{first['product_id']}/variants.json", body).json()["variant"]
    own = create_variant(api)

    for variant in (first, second):
        assert variant["inventory_management"] == handle
        assert get_levels(variant["inventory_item_id"]) == {"North Depot": 0}
    assert (own["inventory_management"], get_levels(own["inventory_item_id"])) == ("platform", {"Shop location": 0})
    (line,) = order_units(api, first["id"], 1, IGNORE).json()["order"]["line_items"]
    assert (line["fulfillment_service"], line["variant_inventory_management"]) == (handle, handle)


@pytest.mark.parametrize(
    ("stock", "permits_sku_sharing", "levels"),
    [
        (0, True, {"North Depot": 0}),
        (0, False, {"North Depot": 0}),
        (7, True, {"North Depot": 0, "Shop location": 7}),
        (7, False, {"North Depot": 0}),
    ],
)
def test_a_variant_that_moves_to_a_service_is_stocked_there(
    api: ApiClient, in_shop: Shop, stock: int, permits_sku_sharing: bool, levels: dict[str, int]
) -> None:
    service = make_service(api.installation.app, name="North Depot", permits_sku_sharing=permits_sku_sharing)
    variant = create_variant(api)
    item = variant["inventory_item_id"]
    body = {"inventory_item_id": item, "location_id": get_first_location(in_shop).pk, "available": stock}
    assert api.post("inventory_levels/set.json", body).status_code == 200

    body = {"variant": {"fulfillment_service": service.handle}}
    moved = api.put(f"variants/{variant['id']}.json", body).json()["variant"]
    assert (moved["inventory_management"], get_levels(item)) == (service.handle, levels)
    assert moved["inventory_quantity"] == sum(levels.values())

    body = {"product": {"variants": [{"id": variant["id"], "fulfillment_service": "manual"}]}}
    (back,) = api.put(f"products/{variant['product_id']}.json", body).json()["product"]["variants"]
    assert back["inventory_management"] == "platform"
    assert get_levels(item) == {"Shop location": levels.get("Shop location", 0)}


@pytest.mark.usefixtures("media_root")
def test_moving_many_variants_needs_no_more_statements(
    api: ApiClient, in_shop: Shop, service: FulfillmentService
) -> None:
    def count_statements(variants: int, handle: str) -> int:
        rows = [{"option1": f"{number}"} for number in range(variants)]
        product = api.post("products.json", {"product": {"title": "Lamp", "variants": rows}}).json()["product"]
        moved = [{"id": row["id"], "fulfillment_service": handle} for row in product["variants"]]
        with CaptureQueriesContext(connection) as statements:
            response = api.put(f"products/{product['id']}.json", {"product": {"variants": moved}})
        assert {row["fulfillment_service"] for row in response.json()["product"]["variants"]} == {handle}
        return len(statements)

    count_statements(3, service.handle)

    assert count_statements(12, service.handle) == count_statements(3, service.handle)
    levels = InventoryLevel.objects.filter(location=service.location)
    assert levels.count() == InventoryLevel.objects.count() == 18


def test_imported_quantities_are_those_of_the_service(
    api: ApiClient, in_shop: Shop, service: FulfillmentService, tmp_path: Path
) -> None:
    header = "Handle,Title,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Fulfillment Service\n"
    import_text(in_shop, f"{header}lamp,Lamp,L-1,yes,3,{service.handle}\n", tmp_path, "in.csv")
    item = InventoryLevel.objects.get().item_id
    assert get_levels(item) == {"North Depot": 3}

    import_text(in_shop, f"{header}lamp,Lamp,L-1,yes,5,manual\n", tmp_path, "next.csv")

    assert get_levels(item) == {"North Depot": 3, "Shop location": 5}
