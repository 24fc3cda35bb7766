from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from apps.catalog.models import Product, Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.inventory.domain import stock as inventory
from apps.inventory.models import InventoryItem
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.catalog import make_image, make_product
from tests.support.factories.inventory import get_first_location
from tests.support.types import JsonObject

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def product(in_shop: Shop) -> Product:
    return make_product(prices=("3.00", "1.00", "2.00"))


def post_variant(api: ApiClient, product: Product, **fields: object) -> Response:
    return api.post(f"products/{product.pk}/variants.json", {"variant": fields})


def get_positions(api: ApiClient, product: Product) -> list[tuple[str, int]]:
    variants = api.get(f"products/{product.pk}.json").json()["product"]["variants"]
    return [(row["option1"], row["position"]) for row in variants]


def get_lowest_price(product: Product) -> Decimal:
    with shop_scope(product.shop):
        return Product.objects.get(pk=product.pk).lowest_price


def test_a_new_variant_goes_last_or_where_it_asks_to(api: ApiClient, product: Product) -> None:
    last = post_variant(api, product, option1="L")
    first = post_variant(api, product, option1="F", position=1)

    assert (last.status_code, first.status_code) == (201, 201)
    assert get_positions(api, product) == [("F", 1), ("1", 2), ("2", 3), ("3", 4), ("L", 5)]
    options = api.get(f"products/{product.pk}.json").json()["product"]["options"]
    assert options[0]["values"][:3] == ["1", "2", "3"]


def test_a_variant_is_read_and_changed_below_its_product_too(api: ApiClient, product: Product) -> None:
    other, variant = make_product("Bowl"), product.variants.get(option1="2")

    response = api.get(f"products/{product.pk}/variants/{variant.pk}.json")
    before = api.get(f"variants/{variant.pk}.json")
    changed = api.put(f"products/{product.pk}/variants/{variant.pk}.json", {"variant": {"price": "7.00"}})
    elsewhere = api.put(f"products/{other.pk}/variants/{variant.pk}.json", {"variant": {"price": "9.00"}})

    assert response.json() == before.json()
    assert changed.json()["variant"]["price"] == "7.00"
    assert elsewhere.status_code == 404
    assert api.get(f"variants/{variant.pk}.json").json() == changed.json()


def test_moving_a_variant_shifts_the_others(api: ApiClient, product: Product) -> None:
    last = Variant.objects.get(product=product, option1="3")

    api.put(f"variants/{last.pk}.json", {"variant": {"position": 1}})
    assert get_positions(api, product) == [("3", 1), ("1", 2), ("2", 3)]
    api.put(f"variants/{last.pk}.json", {"variant": {"position": 99}})
    assert get_positions(api, product) == [("1", 1), ("2", 2), ("3", 3)]


def test_the_cheapest_price_follows_every_change(api: ApiClient, product: Product) -> None:
    variant = post_variant(api, product, option1="L", price="0.50").json()["variant"]
    after_create = get_lowest_price(product)
    api.put(f"variants/{variant['id']}.json", {"variant": {"price": "1.50"}})
    after_update = get_lowest_price(product)
    cheapest = Variant.objects.get(product=product, option1="2")
    api.delete(f"products/{product.pk}/variants/{cheapest.pk}.json")

    assert (after_create, after_update, get_lowest_price(product)) == (Decimal("0.5"), Decimal(1), Decimal("1.5"))


def test_two_variants_cannot_have_the_same_values(api: ApiClient, product: Product) -> None:
    other = Variant.objects.get(product=product, option1="2")

    variant = post_variant(api, product, option1="1")
    changed = api.put(f"variants/{other.pk}.json", {"variant": {"option1": "1"}})

    assert get_errors(variant) == get_errors(changed) == {"base": ["The variant '1' already exists."]}


INVALID: JsonObject = {"option2": "y", "option1": "x" * 256, "price": "1,00", "position": 0, "image_id": 99}
INVALID |= {"inventory_policy": "maybe", "weight": "1e9", "grams": 10**9, "requires_shipping": "?", "sku": "s" * 256}


@pytest.mark.parametrize("field", INVALID)
def test_invalid_variants_are_refused(api: ApiClient, product: Product, field: str) -> None:
    response = post_variant(api, product, **{"option1": "x", field: INVALID[field]})

    assert list(get_errors(response)) == [field]
    assert (Variant.objects.count(), InventoryItem.objects.count()) == (3, 3)


def test_weights_are_exact_in_every_unit(api: ApiClient, product: Product) -> None:
    def weights(**fields: Any) -> tuple[Any, ...]:
        variant = post_variant(api, product, **fields).json()["variant"]
        return variant["weight"], variant["weight_unit"], variant["grams"]

    assert weights(option1="a", weight=1.1, weight_unit="kg") == (1.1, "kg", 1100)
    assert weights(option1="b", weight="1", weight_unit="lb") == (1.0, "lb", 454)
    assert weights(option1="c", weight=0.1, weight_unit="oz") == (0.1, "oz", 3)
    assert weights(option1="d", grams=250) == (0.25, "kg", 250)
    assert weights(option1="e", grams=1, weight_unit="g", weight=2) == (2.0, "g", 2)
    assert weights(option1="f") == (0.0, "kg", 0)
    assert weights(option1="g", grams=500, weight_unit="g") == (500.0, "g", 500)
    assert weights(option1="h", grams=10**9 - 1, weight_unit="g") == (999999999.0, "g", 999999999)


def test_a_new_unit_alone_keeps_the_number(api: ApiClient, product: Product) -> None:
    variant = post_variant(api, product, option1="x", weight=2, weight_unit="kg").json()["variant"]

    changed = api.put(f"variants/{variant['id']}.json", {"variant": {"weight_unit": "g"}}).json()["variant"]

    assert (changed["weight"], changed["weight_unit"], changed["grams"]) == (2.0, "g", 2)


def test_inventory_item_fields_are_written_through_the_variant(api: ApiClient, product: Product) -> None:
    response = post_variant(api, product, option1="x", sku="X-1", inventory_management="own", requires_shipping=False)
    variant = response.json()["variant"]
    assert (variant["sku"], variant["inventory_management"], variant["requires_shipping"]) == ("X-1", "platform", False)

    changed = api.put(f"variants/{variant['id']}.json", {"variant": {"sku": None, "inventory_management": None}})

    after = changed.json()["variant"]
    assert (after["sku"], after["inventory_management"], after["requires_shipping"]) == (None, None, False)
    item = InventoryItem.objects.get(pk=variant["inventory_item_id"])
    assert (item.sku, item.tracked) == ("", False)


def test_a_change_of_the_item_or_its_stock_shows_in_the_product(
    api: ApiClient, in_shop: Shop, product: Product
) -> None:
    path = f"products/{product.pk}.json"
    before = api.get(path).json()["product"]["variants"][0]

    item = InventoryItem.objects.get(pk=before["inventory_item_id"])
    inventory.set_available(item, get_first_location(in_shop), 7, actor="staff:1", at=NOON)
    inventory.adjust_available(item.pk, get_first_location(in_shop).pk, -2, actor="staff:1", at=NOON)
    inventory.update_item(item, {"sku": "NEW"}, actor="staff:1", at=NOON)

    after = api.get(path).json()["product"]["variants"][0]
    assert before["inventory_quantity"] == 0
    assert (after["inventory_quantity"], after["old_inventory_quantity"], after["sku"]) == (5, 5, "NEW")
    assert api.get(f"variants/{after['id']}.json").json()["variant"]["inventory_quantity"] == 5


def test_an_image_is_shown_by_the_variants_that_name_it(api: ApiClient, product: Product) -> None:
    image, foreign = make_image(product), make_image(make_product("Bag"))
    variant = Variant.objects.filter(product=product).earliest("id")
    path = f"variants/{variant.pk}.json"

    response = api.put(path, {"variant": {"image_id": image.pk}})
    refused = api.put(path, {"variant": {"image_id": foreign.pk}})

    assert response.json()["variant"]["image_id"] == image.pk
    assert refused.status_code == 422
    images = api.get(f"products/{product.pk}/images.json").json()["images"]
    assert [row["variant_ids"] for row in images] == [[variant.pk]]


def test_the_last_variant_stays(api: ApiClient, in_shop: Shop) -> None:
    product = make_product()
    variant = Variant.objects.get(product=product)

    response = api.delete(f"products/{product.pk}/variants/{variant.pk}.json")

    assert get_errors(response) == {"base": ["The last variant of a product cannot be deleted."]}
    assert Variant.objects.filter(pk=variant.pk).exists()


def test_delete_moves_the_others_up_and_takes_the_item_along(api: ApiClient, product: Product) -> None:
    first = Variant.objects.get(product=product, option1="1")
    other = make_product("Bag")

    foreign = api.delete(f"products/{other.pk}/variants/{first.pk}.json")
    response = api.delete(f"products/{product.pk}/variants/{first.pk}.json")

    assert foreign.status_code == 404
    assert response.json() == {}
    assert get_positions(api, product) == [("2", 1), ("3", 2)]
    assert api.get(f"products/{product.pk}.json").json()["product"]["options"][0]["values"] == ["2", "3"]
    assert not InventoryItem.objects.filter(pk=first.inventory_item_id).exists()


def test_variants_are_limited(api: ApiClient, shop: Shop, product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.catalog.domain.variants.MAX_VARIANTS", 3)

    response = post_variant(api, product, option1="x")

    assert get_errors(response) == {"base": ["A product can have at most 3 variants."]}
