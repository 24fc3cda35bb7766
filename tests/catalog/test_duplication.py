from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.files.storage import default_storage
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks as Capture

from apps.catalog.domain import image_files, images, products
from apps.catalog.domain.collections import collects, lifecycle
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.domain.duplication import collections as collection_copies
from apps.catalog.domain.duplication import products as product_copies
from apps.catalog.domain.duplication.collections import CollectionCopy, duplicate_collection
from apps.catalog.domain.duplication.products import ProductCopy, duplicate_product
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.inputs import ImageInput, OptionInput, ProductParts, VariantInput
from apps.catalog.models import Collect, Collection, ManualPlace, Product, ProductImage, Variant
from apps.core.events.models import Event
from apps.core.exceptions import RowDeleted
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.inventory.models import InventoryItem
from apps.metafields.domain.write import MetafieldInput, set_metafields
from apps.metafields.models import Metafield
from tests.support.databases.races import run_unguarded, run_while_uncommitted
from tests.support.factories.catalog import PNG, make_custom, make_image, make_product, make_smart
from tests.support.factories.inventory import get_first_location, set_stock

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}
CARE = MetafieldInput("care", "wash", "single_line_text_field", "Cold", "Label")
ALL = ProductCopy("Copy of Bag", codes=True)
# Columns that a copy never takes over from its original, because they are created, chosen or calculated.
OWN = {"id", "shop", "created_at", "updated_at", "version"}


def get_names(model: type[models.Model]) -> set[str]:
    return {field.name for field in model._meta.concrete_fields} - OWN


def make_bag() -> Product:
    """Create a product with two variants, two images, metafields and stock."""
    red, blue = (
        image_files.store_uploaded_image(Shop.objects.get().pk, PNG, f"{name}.png") for name in ("red", "blue")
    )
    weight = {"weight": Decimal("1.5"), "weight_unit": "lb"}
    prices = {"EUR": {"price": "9.00", "compare_at_price": None}}
    variant = {"price": Decimal("19.90"), "compare_at_price": Decimal(25), "taxable": False, "tax_code": "T1", **weight}
    item = {"sku": "BAG-R", "tracked": True, "cost": Decimal("4.5"), "harmonized_system_code": "4202.22"}
    parts = ProductParts(
        options=[OptionInput("Color", ["Blue", "Red"]), OptionInput("Size")],
        variants=[
            VariantInput(
                attrs={"option1": "Red", "option2": "S", "barcode": "111", "fixed_prices": prices, **variant},
                item=item,
                metafields=[CARE],
                image=red,
            ),
            VariantInput(attrs={"option1": "Blue", "option2": "M", "inventory_policy": "continue"}),
        ],
        images=[ImageInput(image=blue), ImageInput(image=red, attrs={"alt": "A red bag"})],
        metafields=[CARE],
    )
    attrs = {"title": "Bag", "vendor": "Nord", "product_type": "Bags", "tags": "a, B", "body_html": "<p>Big</p>"}
    product = products.create_product({**attrs, "template_suffix": "wide", "published_at": JANUARY}, parts, **BY)
    set_metafields(ProductImage.objects.get(product=product, position=2), [CARE], actor="system", at=timezone.now())
    item_of_first = InventoryItem.objects.get(variant__product=product, variant__position=1)
    set_stock(item_of_first, get_first_location(product.shop), 5)
    return product


def describe(product: Product) -> list[Attrs]:
    """Return the columns of the product, its options, variants, items and images that its copies have, too."""
    rows: list[Attrs] = [{name: getattr(product, name) for name in product_copies.PRODUCT_COLUMNS}]
    rows += map(dict, product.options.order_by("position").values("name", "position", "values"))
    rows += map(dict, product.tag_rows.order_by("key").values("name", "key"))
    pictures = product.images.order_by("position")
    rows += map(dict, pictures.values("key", "name", "source", "alt", "position", "width", "height"))
    variants = Variant.objects.filter(product=product).select_related("inventory_item", "image")
    for variant in variants.order_by("position"):
        names = (*product_copies.VARIANT_COLUMNS, "position", "title", "fixed_prices", "grams", "barcode")
        rows.append({name: getattr(variant, name) for name in names})
        rows.append({name: getattr(variant.inventory_item, name) for name in (*product_copies.ITEM_COLUMNS, "sku")})
        rows.append({"image": variant.image.position if variant.image else None})
    return rows


def list_metafields(product: Product) -> list[tuple[str, int]]:
    """Return the types and positions of all owners of metafields."""
    owners = {("product", product.pk): 0}
    owners |= {("variant", row.pk): row.position for row in product.variants.all()}
    owners |= {("product_image", row.pk): row.position for row in product.images.all()}
    rows = Metafield.objects.filter(owner_id__in=[pk for _, pk in owners], value="Cold", description="Label")
    found = ((row.owner_resource, row.owner_id) for row in rows)
    return sorted((owner[0], owners[owner]) for owner in found if owner in owners)


def exists(image: ProductImage | Collection) -> bool:
    key, name = (image.image_key, image.image_name) if isinstance(image, Collection) else (image.key, image.name)
    return default_storage.exists(image_files.get_image_path(image.shop_id, key, name))


def test_every_column_is_copied_or_has_its_own_value() -> None:
    assert get_names(Product) == {*product_copies.PRODUCT_COLUMNS} | {
        *("title", "title_key", "handle", "vendor_key", "product_type_key", "status", "published_at"),
        *("lowest_price", "units_sold"),
    }
    assert get_names(Variant) == {*product_copies.VARIANT_COLUMNS} | {
        *("product", "inventory_item", "image", "title", "title_key", "position", "fixed_prices", "barcode"),
        *("inventory_quantity", "grams"),
    }
    assert get_names(InventoryItem) == {*product_copies.ITEM_COLUMNS, "sku"}
    assert get_names(ProductImage) == {"product", "position", "alt", "key", "name", "source", "width", "height"}
    assert get_names(Collection) == {*collection_copies.COLUMNS} | {
        *("kind", "title", "title_key", "handle", "published_at", "image_key", "image_name", "image_alt"),
        *("image_width", "image_height", "image_created_at"),
    }


def test_a_copy_has_everything_but_the_stock(in_shop: Shop) -> None:
    product = make_bag()
    product.refresh_from_db()

    copy = duplicate_product(product, ALL, **BY)

    copy.refresh_from_db()
    assert (copy.title, copy.handle, copy.status, copy.published_at) == ("Copy of Bag", "copy-of-bag", "draft", NOON)
    assert describe(copy) == describe(product)
    assert list_metafields(copy) == list_metafields(product) == [("product", 0), ("product_image", 2), ("variant", 1)]
    assert (copy.lowest_price, copy.units_sold) == (Decimal(0), 0)
    assert [row.inventory_quantity for row in Variant.objects.filter(product=copy)] == [0, 0]
    assert InventoryItem.objects.count() == 4


def test_the_copy_is_recorded_like_a_new_product(in_shop: Shop) -> None:
    product = make_product("Bag")

    copy = duplicate_product(product, ProductCopy("Tote"), **BY)

    event = Event.objects.get(topic="products/create", subject_id=copy.pk)
    assert (event.actor, str(event.message), event.changes) == ("staff:17", "Duplicated from Bag", {})
    assert not Event.objects.filter(topic="products/update").exists()


def test_parts_are_left_out(in_shop: Shop) -> None:
    product = make_bag()
    make_custom("Sale", product)
    requested = ProductCopy("Tote", status="active", images=False, metafields=False, collections=False)

    copy = duplicate_product(product, requested, **BY)

    assert copy.status == "active"
    assert not copy.images.exists()
    assert list_metafields(copy) == []
    assert not Collect.objects.filter(product=copy).exists()
    bare = InventoryItem.objects.filter(variant__product=copy, sku="", variant__barcode=None, variant__image=None)
    assert bare.count() == 2


def test_the_copy_of_a_hidden_or_scheduled_product_is_published_alike(in_shop: Shop) -> None:
    later = NOON + timedelta(days=3)
    hidden, scheduled = make_product("A", published_at=None), make_product("B", published_at=later)

    copies = [duplicate_product(product, ProductCopy("C"), **BY) for product in (hidden, scheduled)]

    assert [copy.published_at for copy in copies] == [None, later]
    assert [copy.handle for copy in copies] == ["c", "c-1"]


def test_metafields_with_unique_values_are_not_copied(in_shop: Shop) -> None:
    product = make_product()
    unique = MetafieldInput("erp", "id", "id", "A-1")
    set_metafields(product, [unique, CARE], actor="system", at=timezone.now())

    copy = duplicate_product(product, ProductCopy("Tote"), **BY)

    assert list(Metafield.objects.filter(owner_id=copy.pk).values_list("key", flat=True)) == ["wash"]


def test_the_copy_is_last_in_the_custom_collections(in_shop: Shop) -> None:
    first, product, last = make_product("A"), make_product("Bag"), make_product("C")
    sale, kitchen = make_custom("Sale", first, product, last), make_custom("Kitchen", product)
    other = make_custom("Other", first)
    versions = {row.pk: row.version for row in Collection.objects.all()}

    copy = duplicate_product(product, ALL, **BY)

    assert sorted(Collect.objects.filter(product=copy).values_list("collection", "position")) == [
        (sale.pk, 4),
        (kitchen.pk, 2),
    ]
    changed = {row.pk for row in Collection.objects.all() if row.version != versions[row.pk]}
    assert changed == {sale.pk, kitchen.pk}
    updates = Event.objects.filter(topic="collections/update", actor="staff:17")
    assert set(updates.values_list("subject_id", flat=True)) == changed
    assert other.pk not in changed


def test_a_deleted_product_is_not_copied(in_shop: Shop) -> None:
    product = make_product()
    Product.objects.all().delete()

    with pytest.raises(RowDeleted):
        duplicate_product(product, ALL, **BY)


def delete_original(product: Product) -> None:
    products.delete_product(product, **BY)


def delete_image(product: Product) -> None:
    images.delete_image(ProductImage.objects.get(product=product), **BY)


def replace_images(product: Product) -> None:
    products.update_product(product, {}, ProductParts(images=[]), **BY)


@pytest.mark.parametrize("remove", [delete_original, delete_image, replace_images])
@pytest.mark.parametrize("copy_first", [False, True])
def test_a_file_is_deleted_with_its_last_image(
    in_shop: Shop,
    remove: Callable[[Product], None],
    copy_first: bool,
    django_capture_on_commit_callbacks: Capture,
) -> None:
    product = make_product()
    image = make_image(product)
    copy = duplicate_product(product, ALL, **BY)
    order = [copy, product] if copy_first else [product, copy]

    with django_capture_on_commit_callbacks(execute=True):
        remove(order[0])
    kept = exists(image)
    with django_capture_on_commit_callbacks(execute=True):
        remove(order[1])

    assert (kept, exists(image)) == (True, False)


def make_pictured_collection(*members: Product) -> Collection:
    stored = image_files.store_uploaded_image(Shop.objects.get().pk, PNG, "pots.png")
    parts = lifecycle.CollectionParts(
        image=stored, placements=[collects.Placement(product.pk) for product in members], metafields=[CARE]
    )
    attrs = {"title": "Pots", "body_html": "<p>Pots</p>", "sort_order": "manual", "image_alt": "Two pots"}
    return lifecycle.create_collection(
        Collection.Kind.CUSTOM, {**attrs, "template_suffix": "wide"}, parts, actor="system", at=timezone.now()
    )


def test_a_custom_collection_is_copied_with_its_products_in_order(in_shop: Shop) -> None:
    first, second = make_product("A"), make_product("B")
    collection = make_pictured_collection(second, first)

    copy = duplicate_collection(collection, CollectionCopy("Pans"), **BY)

    copy.refresh_from_db()
    assert (copy.kind, copy.title, copy.handle, copy.published_at) == ("custom", "Pans", "pans", None)
    names = (*collection_copies.COLUMNS, "image_key", "image_name", "image_alt", "image_width", "image_height")
    assert [getattr(copy, name) for name in names] == [getattr(collection, name) for name in names]
    rows = Collect.objects.filter(collection=copy).order_by("position")
    assert list(rows.values_list("product_id", "position")) == [(second.pk, 1), (first.pk, 2)]
    assert Metafield.objects.filter(owner_resource="collection", owner_id=copy.pk, value="Cold").count() == 1
    event = Event.objects.get(topic="collections/create", subject_id=copy.pk)
    assert (event.actor, str(event.message)) == ("staff:17", "Duplicated from Pots")
    assert not Event.objects.filter(topic="collections/update").exists()


def test_a_smart_collection_is_copied_with_its_rules_and_positions(in_shop: Shop) -> None:
    first, second = make_product("Mug 1"), make_product("Mug 2")
    smart = make_smart("Mugs", ("title", "contains", "mug"), sort_order="manual", disjunctive=True)
    lifecycle.set_collection_order(smart, product_ids=[second.pk, first.pk], **BY)

    copy = duplicate_collection(smart, CollectionCopy("More mugs", visible=True), **BY)

    assert (copy.kind, copy.rules, copy.disjunctive, copy.published_at) == ("smart", smart.rules, True, NOON)
    assert set(get_collection_products(copy)) == {first, second}
    positions = ManualPlace.objects.filter(collection=copy).order_by("position").values_list("product_id", flat=True)
    assert list(positions) == [second.pk, first.pk]


def test_parts_of_a_collection_are_left_out(in_shop: Shop) -> None:
    collection = make_pictured_collection(make_product())
    requested = CollectionCopy("Pans", image=False, metafields=False, products=False)

    copy = duplicate_collection(collection, requested, **BY)

    assert (copy.image_key, copy.image_alt, copy.collects.count()) == ("", None, 0)
    assert not Metafield.objects.filter(owner_id=copy.pk).exists()


def test_a_collections_file_is_deleted_with_its_last_collection(
    in_shop: Shop, django_capture_on_commit_callbacks: Capture
) -> None:
    collection = make_pictured_collection()
    copy = duplicate_collection(collection, CollectionCopy("Pans"), **BY)

    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.update_collection(collection, {}, lifecycle.CollectionParts(removes_image=True), **BY)
    kept = exists(copy)
    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.delete_collection(copy, **BY)

    assert (kept, exists(copy)) == (True, False)


def test_large_collections_are_copied_in_batches(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_copies, "_BATCH", 2)
    members = [make_product(str(number)) for number in range(5)]
    collection = make_custom("Kitchen", *reversed(members))

    copy = duplicate_collection(collection, CollectionCopy("Pans"), **BY)

    rows = Collect.objects.filter(collection=copy).order_by("position")
    assert list(rows.values_list("product_id", flat=True)) == [row.pk for row in reversed(members)]


def make_large_product(variant_count: int, image_count: int) -> Product:
    """Create a product with variants that use its images. Each part has a metafield."""
    stored = [
        StoredImage(Shop.objects.get().pk, f"{number:032x}", "a.png", 1, 1) for number in range(1, image_count + 1)
    ]
    parts = ProductParts(
        options=[OptionInput("Size")],
        variants=[
            VariantInput(attrs={"option1": str(number)}, metafields=[CARE], image=stored[number % image_count])
            for number in range(variant_count)
        ],
        images=[ImageInput(image=image) for image in stored],
    )
    product = products.create_product({"title": "Bag", "tags": "a, b"}, parts, actor="system", at=timezone.now())
    for row in product.images.all():
        set_metafields(row, [CARE], actor="system", at=timezone.now())
    return product


def test_a_large_product_is_copied_with_few_statements(in_shop: Shop) -> None:
    """SQLite limits the values in one statement, so some rows are inserted in several statements."""
    counts = []
    for variant_count, image_count in ((2, 2), (100, 250)):
        product = make_large_product(variant_count, image_count)
        with CaptureQueriesContext(connection) as captured:
            copy = duplicate_product(product, ALL, **BY)
        counts.append(len(captured))
        assert (copy.variants.count(), copy.images.count()) == (variant_count, image_count)
        Product.objects.all().delete()

    assert counts[0] <= counts[1] <= counts[0] + (0 if connection.vendor == "postgresql" else 30)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_a_copy_loses_its_file_without_the_products_lock")
def test_an_image_is_not_deleted_while_it_is_copied(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product()
        image = make_image(product)

    run_while_uncommitted(shop, lambda: duplicate_product(product, ALL, **BY), lambda: delete_image(product))

    with shop_scope(shop):
        assert ProductImage.objects.get().key == image.key
        assert exists(image)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_copy_loses_its_file_without_the_products_lock(shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product()
        image = make_image(product)

    def delete() -> None:
        images.delete_image(image, **BY)

    run_unguarded(shop, lambda: duplicate_product(product, ALL, **BY), delete, locks={"catalog_product"})

    with shop_scope(shop):
        assert ProductImage.objects.get().key == image.key
        assert not exists(image)
