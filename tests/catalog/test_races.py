"""The catalog under simultaneous writers, on PostgreSQL with real threads."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connections, transaction

from apps.catalog.domain import images, pictures, variants
from apps.catalog.domain.collections import collects
from apps.catalog.domain.inputs import ImageInput, Parts, VariantInput
from apps.catalog.domain.products import delete_product, update_product
from apps.catalog.models import Collect, Collection, Product, ProductImage, Variant
from apps.ground.errors import DomainError
from apps.ground.tenancy import shop_scope
from apps.inventory.domain import stock as inventory
from apps.inventory.models import InventoryItem
from apps.shops.models import Shop
from tests.catalog.factories import PNG, make_custom, make_product, make_smart
from tests.conftest import ApiClient
from tests.inventory.factories import first_location
from tests.races import at_once

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: dict[str, Any] = {"actor": "staff:17", "at": NOON}


def image_rows(shop: Shop, product: Product, count: int) -> None:
    ProductImage.objects.bulk_create(
        ProductImage(shop=shop, product=product, position=n, key=f"{n:032x}", name="a.png", width=1, height=1)
        for n in range(1, count + 1)
    )


def add(product: Product, position: int | None = None) -> ProductImage:
    picture = pictures.store(product.shop_id, PNG, "a.png")
    return images.add_image(product.pk, ImageInput(picture=picture, position=position), **BY)


def test_ten_threads_fill_the_last_places_and_no_more(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product()
        image_rows(shop, product, 245)

    results = at_once(shop, *[lambda: add(product)] * 10)

    refused = [result for result in results if isinstance(result, images.TooManyImages)]
    assert len(refused) == 5
    with shop_scope(shop):
        positions = list(ProductImage.objects.order_by("position").values_list("position", flat=True))
    assert positions == list(range(1, 251))


def test_counting_without_the_lock_would_let_too_many_in(shop: Shop) -> None:
    """The control: the same check without the product's lock passes for all who ask at once."""
    with shop_scope(shop):
        product = make_product()
        image_rows(shop, product, 249)
    counted = threading.Barrier(4)

    def unguarded() -> bool:
        with transaction.atomic():
            free = ProductImage.objects.filter(product=product).count() < images.MAX_IMAGES
            counted.wait(timeout=30)
            return free

    assert at_once(shop, *[unguarded] * 4) == [True] * 4


def test_positions_stay_dense_under_adds_moves_and_deletes(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product()
        rows = [add(product) for _ in range(9)]

    def move(row: ProductImage, position: int) -> Callable[[], Any]:
        return lambda: images.update_image(row, ImageInput(position=position), **BY)

    def delete(row: ProductImage) -> Callable[[], Any]:
        return lambda: images.delete_image(row, **BY)

    works = [move(rows[0], 9), move(rows[8], 1), move(rows[4], 2), delete(rows[3]), delete(rows[5])]
    at_once(shop, *[*works, lambda: add(product, 1), lambda: add(product), lambda: add(product, 4)])

    with shop_scope(shop):
        positions = list(ProductImage.objects.order_by("position").values_list("position", flat=True))
    assert positions == list(range(1, 11))


def test_twenty_products_of_one_title_have_twenty_handles(shop: Shop) -> None:
    made = at_once(shop, *[lambda: make_product("Mug")] * 20)

    assert sorted(product.handle for product in made) == sorted(["mug", *(f"mug-{n}" for n in range(1, 20))])


def test_twenty_collections_of_one_title_have_twenty_handles(shop: Shop) -> None:
    made = at_once(shop, *[lambda: make_custom("Kitchen")] * 20)

    assert len({collection.handle for collection in made}) == 20


def test_of_two_equal_variants_one_is_refused(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00",))

    results = at_once(
        shop,
        *[lambda: variants.create_variant(product.pk, VariantInput(attrs={"option1": "XL"}), **BY)] * 6,
    )

    assert sum(isinstance(result, Variant) for result in results) == 1
    with shop_scope(shop):
        assert Variant.objects.filter(product=product).count() == 2
        assert InventoryItem.objects.count() == 2


def test_collects_of_one_collection_have_places_of_their_own(shop: Shop) -> None:
    with shop_scope(shop):
        collection = make_custom()
        products = [make_product(str(number)) for number in range(12)]

    def put_in(product: Product) -> Callable[[], Any]:
        return lambda: collects.add_collect(
            collection_id=collection.pk, product_id=product.pk, position=1 if product.pk % 2 else None, **BY
        )

    at_once(shop, *[put_in(product) for product in products])

    with shop_scope(shop):
        positions = list(Collect.objects.order_by("position").values_list("position", flat=True))
    assert positions == list(range(1, 13))


def test_quantities_follow_simultaneous_movements_and_edits(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00", "2.00"))
        rows = list(Variant.objects.select_related("inventory_item").order_by("id"))
        location = first_location(shop)

    def move(row: Variant) -> Callable[[], Any]:
        return lambda: inventory.adjust(row.inventory_item, location, 3, **BY)

    def edit(row: Variant, number: int) -> Callable[[], Any]:
        wanted = VariantInput(attrs={"price": number, "position": number % 2 + 1}, item={"sku": f"S{number}"})
        return lambda: variants.update_variant(row, wanted, **BY)

    def rename(number: int) -> Callable[[], Any]:
        wanted = Parts(variants=[VariantInput(id=row.pk, item={"sku": f"P{number}"}) for row in rows])
        return lambda: update_product(product, {"title": f"Mug {number}"}, wanted, **BY)

    works = [move(row) for row in rows for _ in range(6)]
    works += [edit(rows[number % 2], number) for number in range(6)] + [rename(number) for number in range(3)]
    at_once(shop, *works)

    with shop_scope(shop):
        assert list(Variant.objects.order_by("id").values_list("inventory_quantity", flat=True)) == [18, 18]
        assert sorted(Variant.objects.values_list("position", flat=True)) == [1, 2]


def test_a_product_that_is_deleted_while_it_is_sold_leaves_nothing(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00", "2.00"))
        rows = list(Variant.objects.select_related("inventory_item").order_by("id"))
        location = first_location(shop)

    def move(row: Variant) -> Callable[[], Any]:
        return lambda: inventory.adjust(row.inventory_item, location, 1, **BY)

    at_once(shop, *[*(move(row) for row in rows for _ in range(4)), lambda: delete_product(product, **BY)])

    with shop_scope(shop):
        assert not Product.objects.exists()
        assert not Variant.objects.exists()
        assert not InventoryItem.objects.exists()


def test_two_deletions_of_a_collection_are_one(shop: Shop) -> None:
    from apps.catalog.domain.collections import lifecycle

    with shop_scope(shop):
        collection = make_custom()

    results = at_once(shop, *[lambda: lifecycle.delete_collection(collection, **BY)] * 2)

    assert sum(isinstance(result, DomainError) for result in results) == 1
    with shop_scope(shop):
        assert not Collection.objects.filter(pk=collection.pk).exists()


def while_it_goes(shop: Shop, product: Product, request: Callable[[], Any]) -> Any:
    """The answer to a request that comes while a product is being deleted, and is done with only after the commit."""
    gone, asked = threading.Event(), threading.Event()

    def delete() -> None:
        with shop_scope(shop), transaction.atomic():
            delete_product(product, **BY)
            gone.set()
            asked.wait(timeout=30)
            # The request is on its way to the lock of the row that goes.
            time.sleep(0.5)
        connections.close_all()

    deletion = threading.Thread(target=delete)
    deletion.start()
    assert gone.wait(timeout=30)
    asked.set()
    response = request()
    deletion.join(timeout=30)
    return response


def test_a_product_that_goes_meanwhile_is_put_into_no_collection(shop: Shop, api: ApiClient) -> None:
    with shop_scope(shop):
        product, collection = make_product(), make_custom()
    body = {"collect": {"collection_id": collection.pk, "product_id": product.pk}}

    response = while_it_goes(shop, product, lambda: api.post("collects.json", body))

    assert (response.status_code, response.json()) == (422, {"errors": {"product_id": ["must exist"]}})


def test_a_reference_to_what_goes_meanwhile_is_a_conflict(shop: Shop, api: ApiClient) -> None:
    with shop_scope(shop):
        product, collection = make_product("Mug"), make_smart("Mugs", ("title", "equals", "Mug"))
    path = f"smart_collections/{collection.pk}/order.json?products[]={product.pk}"

    response = while_it_goes(shop, product, lambda: api.put(path))

    assert (response.status_code, response.json()) == (409, {"errors": "Conflict"})
    assert response["Retry-After"] == "1.0"
    with shop_scope(shop):
        assert not collection.places.exists()
