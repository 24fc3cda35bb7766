import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest
from django.db import OperationalError

from apps.catalog.domain import image_files, images, products, variants
from apps.catalog.domain.collections import collects, lifecycle
from apps.catalog.domain.inputs import ImageInput, ProductParts, VariantInput
from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.products import delete_product, update_product
from apps.catalog.models import Collect, Collection, ManualPlace, Product, ProductImage, Variant
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.inventory.domain import movements
from apps.inventory.domain import stock as inventory
from apps.inventory.models import InventoryItem, InventoryLevel
from tests.support.api_client import ApiClient
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted, without_constraint
from tests.support.factories.catalog import PNG, make_custom, make_product, make_smart
from tests.support.factories.inventory import get_first_location, make_location

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}
adjust_available = partial(inventory.adjust_available, **BY)


def make_product_with_images(shop: Shop, count: int) -> Product:
    with shop_scope(shop):
        product = make_product()
        ProductImage.objects.bulk_create(
            ProductImage(shop=shop, product=product, position=n, key=f"{n:032x}", name="a.png", width=1, height=1)
            for n in range(1, count + 1)
        )
        return product


def get_image_positions(shop: Shop) -> list[int]:
    with shop_scope(shop):
        return list(ProductImage.objects.order_by("position").values_list("position", flat=True))


def add_one_image(product: Product, position: int | None = None) -> ProductImage:
    picture = image_files.store_uploaded_image(product.shop_id, PNG, "a.png")
    return images.add_image(product.pk, ImageInput(image=picture, position=position), **BY)


@pytest.mark.race(control="test_counting_without_the_lock_would_let_too_many_in")
def test_ten_threads_fill_the_last_places_and_no_more(shop: Shop) -> None:
    product = make_product_with_images(shop, 245)

    results = run_concurrently(shop, *[lambda: add_one_image(product)] * 10)

    assert sum(isinstance(result, images.TooManyImages) for result in results) == 5
    assert get_image_positions(shop) == list(range(1, 251))


@pytest.mark.race(control="test_counting_without_the_lock_would_let_too_many_in")
def test_two_hundred_and_fifty_more_at_once_leave_250_images(shop: Shop) -> None:
    product = make_product_with_images(shop, 20)
    picture = image_files.store_uploaded_image(shop.pk, PNG, "a.png")

    def add_25() -> int:
        added = 0
        for _ in range(25):
            with contextlib.suppress(images.TooManyImages):
                images.add_image(product.pk, ImageInput(image=picture), **BY)
                added += 1
        return added

    added = run_concurrently(shop, *[add_25] * 10)

    assert sum(added) == 230
    assert get_image_positions(shop) == list(range(1, 251))


def test_counting_without_the_lock_would_let_too_many_in(shop: Shop) -> None:
    product = make_product_with_images(shop, 249)

    run_unguarded(shop, lambda: add_one_image(product), lambda: add_one_image(product), locks={"catalog_product"})

    assert get_image_positions(shop) == [*range(1, 251), 250]


@pytest.mark.race(control="test_counting_without_the_lock_would_let_too_many_in")
def test_positions_stay_dense_under_adds_moves_and_deletes(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product()
        rows = [add_one_image(product) for _ in range(9)]

    places = {0: 9, 8: 1, 4: 2}
    moves = [partial(images.update_image, rows[n], ImageInput(position=place), **BY) for n, place in places.items()]
    deletions = [partial(images.delete_image, rows[number], **BY) for number in (3, 5)]
    additions = [partial(add_one_image, product, position) for position in (1, None, 4)]
    run_concurrently(shop, *moves, *deletions, *additions)

    assert get_image_positions(shop) == list(range(1, 11))


@pytest.mark.race(control="test_handles_are_duplicated_without_the_unique_key")
def test_twenty_products_of_one_title_have_twenty_handles(shop: Shop) -> None:
    results = run_concurrently(shop, *[lambda: make_product("Mug")] * 20)

    assert sorted(product.handle for product in results) == sorted(["mug", *(f"mug-{n}" for n in range(1, 20))])


@pytest.mark.race(control="test_handles_are_duplicated_without_the_unique_key")
def test_twenty_collections_of_one_title_have_twenty_handles(shop: Shop) -> None:
    results = run_concurrently(shop, *[lambda: make_custom("Kitchen")] * 20)

    assert len({collection.handle for collection in results}) == 20


def test_handles_are_duplicated_without_the_unique_key(shop: Shop) -> None:
    with without_constraint(Product, "shop_id", "handle"):
        mugs = run_concurrently(shop, *[lambda: make_product("Mug")] * 2)
    with without_constraint(Collection, "shop_id", "handle"):
        kitchens = run_concurrently(shop, *[lambda: make_custom("Kitchen")] * 2)

    assert [product.handle for product in mugs] == ["mug", "mug"]
    assert [collection.handle for collection in kitchens] == ["kitchen", "kitchen"]


@pytest.mark.race(control="test_variants_are_equal_and_share_a_position_without_the_products_lock")
def test_the_second_of_two_equal_variants_is_refused(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00",))

    def create() -> Variant:
        return variants.create_variant(product.pk, VariantInput(attrs={"option1": "XL"}), **BY)

    results = run_concurrently(shop, *[create] * 6)

    assert sum(isinstance(result, Variant) for result in results) == 1
    with shop_scope(shop):
        assert Variant.objects.filter(product=product).count() == 2
        assert InventoryItem.objects.count() == 2


def test_variants_are_equal_and_share_a_position_without_the_products_lock(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00",))

    def create() -> Variant:
        return variants.create_variant(product.pk, VariantInput(attrs={"option1": "XL"}), **BY)

    run_unguarded(shop, create, create, locks={"catalog_product"})

    with shop_scope(shop):
        rows = Variant.objects.filter(product=product).order_by("id")
        assert list(rows.values_list("option1", "position"))[1:] == [("XL", 2), ("XL", 2)]


@pytest.mark.race(control="test_two_collects_share_a_position_without_the_collections_lock")
def test_collects_of_one_collection_have_places_of_their_own(shop: Shop) -> None:
    with shop_scope(shop):
        collection = make_custom()
        members = [make_product(str(number)).pk for number in range(12)]

    put_in = partial(collects.add_collect, collection_id=collection.pk, **BY)
    run_concurrently(shop, *(partial(put_in, product_id=pk, position=1 if pk % 2 else None) for pk in members))

    with shop_scope(shop):
        positions = list(Collect.objects.order_by("position").values_list("position", flat=True))
    assert positions == list(range(1, 13))


def test_two_collects_share_a_position_without_the_collections_lock(shop: Shop) -> None:
    with shop_scope(shop):
        collection = make_custom()
        first, two = (make_product(str(number)) for number in range(2))

    put_in = partial(collects.add_collect, collection_id=collection.pk, position=None, **BY)
    works = (partial(put_in, product_id=product.pk) for product in (first, two))
    run_unguarded(shop, *works, locks={"catalog_collection"})

    with shop_scope(shop):
        assert list(Collect.objects.values_list("position", flat=True)) == [1, 1]


@pytest.mark.race(control="test_a_quantity_that_is_read_and_then_written_loses_a_movement")
def test_quantities_follow_simultaneous_movements_and_edits(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00", "2.00"))
        rows = list(Variant.objects.select_related("inventory_item").order_by("id"))
        location = get_first_location(shop)

    def edit(row: Variant, number: int) -> Callable[[], object]:
        variant_input = VariantInput(attrs={"price": number, "position": number % 2 + 1}, item={"sku": f"S{number}"})
        return lambda: variants.update_variant(row, variant_input, **BY)

    def rename(number: int) -> Callable[[], object]:
        product_parts = ProductParts(variants=[VariantInput(id=row.pk, item={"sku": f"P{number}"}) for row in rows])
        return lambda: update_product(product, {"title": f"Mug {number}"}, product_parts, **BY)

    moves = [partial(adjust_available, row.inventory_item_id, location.pk, 3) for row in rows]
    edits = [edit(rows[number % 2], number) for number in range(6)]
    run_concurrently(shop, *moves * 6, *edits, *(rename(number) for number in range(3)))

    with shop_scope(shop):
        assert list(Variant.objects.order_by("id").values_list("inventory_quantity", flat=True)) == [18, 18]
        assert sorted(Variant.objects.values_list("position", flat=True)) == [1, 2]


def test_a_quantity_that_is_read_and_then_written_loses_a_movement(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00",))
        row = Variant.objects.select_related("inventory_item").get(product=product)
        first, depot = get_first_location(shop), make_location(shop)
        inventory.connect_item(row.inventory_item, depot, **BY)

    def follow(deltas: dict[int, int], **_: object) -> None:
        inventory_quantity = Variant.objects.get(pk=row.pk).inventory_quantity
        Variant.objects.filter(pk=row.pk).update(inventory_quantity=inventory_quantity + deltas[row.inventory_item_id])

    monkeypatch.setattr(movements, "notify_stock_listeners", follow)

    run_unguarded(shop, *(partial(adjust_available, row.inventory_item_id, place.pk, 3) for place in (first, depot)))

    with shop_scope(shop):
        row.refresh_from_db()
    assert row.inventory_quantity == 3


@pytest.mark.race(control="test_a_deletion_locking_the_product_before_its_stock_deadlocks")
def test_a_product_that_is_deleted_while_it_is_sold_leaves_nothing(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00", "2.00"))
        rows = list(Variant.objects.select_related("inventory_item").order_by("id"))
        location = get_first_location(shop)

    moves = [partial(adjust_available, row.inventory_item_id, location.pk, 1) for row in rows]
    run_concurrently(shop, *moves * 4, lambda: delete_product(product, **BY))

    with shop_scope(shop):
        assert not any(model.objects.exists() for model in (Product, Variant, InventoryItem))


@pytest.mark.deadlocks(1)
def test_a_deletion_locking_the_product_before_its_stock_deadlocks(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "lock_stock", lambda **_: None)
    with shop_scope(shop):
        product = make_product(prices=("1.00",))
        level = InventoryLevel.objects.get()

    with pytest.raises(OperationalError, match="deadlock"):
        run_while_uncommitted(
            shop,
            lambda: refresh_for_update(level),
            lambda: delete_product(product, **BY),
            then=lambda: lock_product(product.pk),
        )


@pytest.mark.race(control="test_a_collection_is_deleted_twice_without_its_lock")
def test_two_deletions_of_a_collection_are_one(shop: Shop) -> None:
    with shop_scope(shop):
        collection = make_custom()

    results = run_concurrently(shop, *[lambda: lifecycle.delete_collection(collection, **BY)] * 2)

    assert sum(isinstance(result, DomainError) for result in results) == 1
    with shop_scope(shop):
        assert not Collection.objects.filter(pk=collection.pk).exists()


def test_a_collection_is_deleted_twice_without_its_lock(shop: Shop) -> None:
    with shop_scope(shop):
        collection = make_custom()

    run_unguarded(shop, *[lambda: lifecycle.delete_collection(collection, **BY)] * 2, locks={"catalog_collection"})

    with shop_scope(shop):
        assert Event.objects.filter(topic="collections/delete").count() == 2


@pytest.mark.race(control="test_a_reference_to_a_concurrently_deleted_row_is_a_conflict")
def test_a_concurrently_deleted_product_is_added_to_no_collection(shop: Shop, api: ApiClient) -> None:
    with shop_scope(shop):
        product, collection = make_product(), make_custom()
    body = {"collect": {"collection_id": collection.pk, "product_id": product.pk}}

    response = run_while_uncommitted(
        shop, lambda: delete_product(product, **BY), lambda: api.post("collects.json", body)
    )

    assert (response.status_code, response.json()) == (422, {"errors": {"product_id": ["must exist"]}})


@pytest.mark.race(control="test_a_deleted_product_keeps_a_position_without_the_foreign_key")
def test_a_reference_to_a_concurrently_deleted_row_is_a_conflict(shop: Shop, api: ApiClient) -> None:
    with shop_scope(shop):
        product, collection = make_product("Mug"), make_smart("Mugs", ("title", "equals", "Mug"))
    path = f"smart_collections/{collection.pk}/order.json?products[]={product.pk}"

    response = run_while_uncommitted(shop, lambda: delete_product(product, **BY), lambda: api.put(path))

    assert (response.status_code, response.json()) == (409, {"errors": "Conflict"})
    assert response["Retry-After"] == "1.0"
    with shop_scope(shop):
        assert not collection.places.exists()


def test_a_deleted_product_keeps_a_position_without_the_foreign_key(shop: Shop, api: ApiClient) -> None:
    with shop_scope(shop):
        product, collection = make_product("Mug"), make_smart("Mugs", ("title", "equals", "Mug"))
    path = f"smart_collections/{collection.pk}/order.json?products[]={product.pk}"

    with without_constraint(ManualPlace, "product_id"):
        response = run_unguarded(shop, lambda: delete_product(product, **BY), lambda: api.put(path))
        with shop_scope(shop):
            manual_place_count = ManualPlace.objects.filter(product_id=product.pk).count()

    assert (response.status_code, manual_place_count) == (200, 1)
