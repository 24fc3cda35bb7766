"""Tests with the real client: products with variants and images, collections, collects."""

import base64
from typing import Any
from urllib.request import urlopen

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from tests.support.files.images import decode_image, make_plain_image
from tests.support.servers.live import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

PNG = make_plain_image("PNG", (40, 20))
BAG = {
    "title": "Canvas bag",
    "body_html": "<p>Strong.</p>",
    "vendor": "Weavers",
    "product_type": "Bags",
    "tags": "summer, canvas",
    "options": [{"name": "Colour"}, {"name": "Size"}],
    "variants": [
        {"option1": "Sand", "option2": "S", "price": "19.90", "sku": "CB-1", "grams": 300},
        {"option1": "Olive", "option2": "L", "price": "24.50", "sku": "CB-2", "taxable": False},
    ],
    "images": [{"attachment": base64.b64encode(PNG).decode(), "filename": "bag.png", "alt": "A bag"}],
}


def get_titles(products: Any) -> list[str]:
    return [item.title for item in products]


def test_a_product_is_made_with_options_variants_and_images(api_client_factory: Connect) -> None:
    api_client_factory()

    product = shopify.Product.create(BAG)
    matching_product = shopify.Product.find(product.id)

    assert product.errors.full_messages() == []
    assert matching_product.to_dict() == product.to_dict()
    assert (matching_product.title, matching_product.handle, matching_product.tags, matching_product.status) == (
        "Canvas bag",
        "canvas-bag",
        "canvas, summer",
        "active",
    )
    assert [(option.name, option.values) for option in matching_product.options] == [
        ("Colour", ["Sand", "Olive"]),
        ("Size", ["S", "L"]),
    ]
    assert [(variant.title, variant.price, variant.sku) for variant in matching_product.variants] == [
        ("Sand / S", "19.90", "CB-1"),
        ("Olive / L", "24.50", "CB-2"),
    ]
    assert [(image.alt, image.width, image.height) for image in matching_product.images] == [("A bag", 40, 20)]
    assert matching_product.image.id == matching_product.images[0].id
    assert matching_product.price_range() == "19.90 - 24.50"


def test_a_found_product_is_changed_and_saved_whole(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)

    matching_product = shopify.Product.find(product.id)
    matching_product.title = "Linen bag"
    matching_product.variants[0].price = "21.00"
    saved = matching_product.save()
    second_product = shopify.Product.find(product.id)

    assert saved, matching_product.errors.full_messages()
    assert (second_product.title, second_product.handle, second_product.tags) == (
        "Linen bag",
        "canvas-bag",
        "canvas, summer",
    )
    assert [variant.id for variant in second_product.variants] == [variant.id for variant in product.variants]
    assert [variant.price for variant in second_product.variants] == ["21.00", "24.50"]
    assert [image.src for image in second_product.images] == [image.src for image in product.images]


def test_products_are_counted_listed_narrowed_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    bag, mug = shopify.Product.create(BAG), shopify.Product.create({"title": "Mug", "vendor": "Potters"})

    assert shopify.Product.count() == 2
    assert shopify.Product.count(vendor="Potters") == 1
    assert get_titles(shopify.Product.find(vendor="Weavers")) == ["Canvas bag"]
    assert get_titles(shopify.Product.find(ids=f"{mug.id},{bag.id}", fields="id,title")) == ["Canvas bag", "Mug"]
    assert shopify.Product.find_first(handle="mug").id == mug.id

    bag.destroy()

    assert get_titles(shopify.Product.find()) == ["Mug"]
    with pytest.raises(ResourceNotFound):
        shopify.Product.find(bag.id)


def test_variants_are_made_found_changed_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)

    large = shopify.Variant({"option1": "Sand", "option2": "L", "price": "22.00"})
    added = product.add_variant(large)
    matching_variant = shopify.Variant.find(large.id)
    matching_variant.price = "23.00"
    saved = matching_variant.save()
    nested = shopify.Variant.find(large.id, product_id=product.id)
    nested.sku = "CB-3"
    saved_below = nested.save()
    shopify.Variant.find(product.variants[1].id, product_id=product.id).destroy()

    assert added, large.errors.full_messages()
    assert saved, matching_variant.errors.full_messages()
    assert saved_below, nested.errors.full_messages()
    assert (nested.price, nested.title) == ("23.00", "Sand / L")
    assert [(variant.id, variant.sku) for variant in shopify.Variant.find(product_id=product.id)] == [
        (product.variants[0].id, "CB-1"),
        (large.id, "CB-3"),
    ]
    assert shopify.Variant.count(product_id=product.id) == 2


def test_images_are_attached_shown_moved_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)

    image = shopify.Image({"product_id": product.id, "variant_ids": [product.variants[1].id]})
    image.attach_image(make_plain_image("JPEG", (30, 60)), filename="side.jpg")
    is_saved = image.save()
    matching_image = shopify.Image.find(image.id, product_id=product.id)
    matching_image.position = 1
    matching_image.alt = "From the side"
    saved = matching_image.save()
    images = shopify.Image.find(product_id=product.id)
    shopify.Image.find(product.images[0].id, product_id=product.id).destroy()

    assert is_saved, image.errors.full_messages()
    assert saved, matching_image.errors.full_messages()
    assert [(output.id, output.alt, output.position) for output in images] == [
        (image.id, "From the side", 1),
        (product.images[0].id, "A bag", 2),
    ]
    assert (matching_image.width, matching_image.height, matching_image.variant_ids) == (
        30,
        60,
        [product.variants[1].id],
    )
    assert shopify.Variant.find(product.variants[1].id).image_id == image.id
    assert shopify.Image.count(product_id=product.id) == 1


def test_an_images_address_gives_the_attached_bytes(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create(BAG)
    large = make_plain_image("PNG", (400, 200))
    image = shopify.Image({"product_id": product.id})
    image.attach_image(large, filename="large.png")
    image.save()

    with urlopen(image.src) as response:
        served, kind = response.read(), response.headers["Content-Type"]
    with urlopen(image.thumb) as response:
        thumb = decode_image(response.read())

    assert (served, kind) == (large, "image/png")
    assert thumb.size == (50, 25)


def test_custom_collections_are_filled_and_emptied_by_hand(api_client_factory: Connect) -> None:
    api_client_factory()
    bag, mug = shopify.Product.create(BAG), shopify.Product.create({"title": "Mug"})

    kitchen = shopify.CustomCollection.create(
        {"title": "Kitchen", "image": {"attachment": base64.b64encode(PNG).decode(), "alt": "Pots"}}
    )
    kitchen.add_product(mug)
    collect = bag.add_to_collection(kitchen)

    assert get_titles(kitchen.products()) == ["Canvas bag", "Mug"]
    assert get_titles(mug.collections()) == ["Kitchen"]
    assert [(row.product_id, row.position) for row in shopify.Collect.find(collection_id=kitchen.id)] == [
        (mug.id, 1),
        (bag.id, 2),
    ]
    assert shopify.Collect.find(collect.id).product_id == bag.id
    assert shopify.Collect.count(product_id=mug.id) == 1

    mug.remove_from_collection(kitchen)

    assert get_titles(kitchen.products()) == ["Canvas bag"]
    assert shopify.Collect.count() == 1


def test_a_found_custom_collection_is_changed_saved_whole_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    custom_collection = shopify.CustomCollection.create(
        {"title": "Garden", "image": {"attachment": base64.b64encode(PNG).decode()}}
    )

    matching_custom_collection = shopify.CustomCollection.find(custom_collection.id)
    matching_custom_collection.title = "Balcony"
    matching_custom_collection.published = False
    saved = matching_custom_collection.save()
    second_custom_collection = shopify.CustomCollection.find(matching_custom_collection.id)

    assert saved, matching_custom_collection.errors.full_messages()
    assert (second_custom_collection.title, second_custom_collection.handle, second_custom_collection.published_at) == (
        "Balcony",
        "garden",
        None,
    )
    assert second_custom_collection.image.width == 40
    assert shopify.CustomCollection.count(title="Balcony") == 1

    second_custom_collection.destroy()

    assert shopify.CustomCollection.find(title="Balcony") == []


def test_smart_collections_hold_what_their_rules_say(api_client_factory: Connect) -> None:
    api_client_factory()
    bag, _ = shopify.Product.create(BAG), shopify.Product.create({"title": "Mug"})

    bags = shopify.SmartCollection.create(
        {"title": "Bags", "rules": [{"column": "title", "relation": "contains", "condition": "bag"}]}
    )
    before = get_titles(bags.products())
    smart_collection = shopify.SmartCollection.find(bags.id)
    smart_collection.rules = [{"column": "title", "relation": "equals", "condition": "Mug"}]
    saved = smart_collection.save()

    assert bags.errors.full_messages() == []
    assert before == ["Canvas bag"]
    assert saved, smart_collection.errors.full_messages()
    assert get_titles(smart_collection.products()) == ["Mug"]
    assert bag.smart_collections() == []
    assert shopify.SmartCollection.count() == 1
    assert shopify.SmartCollection.find(bags.id).rules[0].condition == "Mug"


def test_a_smart_collection_is_arranged_by_hand(api_client_factory: Connect) -> None:
    api_client_factory()
    ids = [shopify.Product.create({"title": f"Mug {number}"}).id for number in range(3)]
    mugs = shopify.SmartCollection.create(
        {"title": "Mugs", "rules": [{"column": "title", "relation": "starts_with", "condition": "Mug"}]}
    )

    mugs.put("order", sort_order="manual", products=[ids[2], ids[0]])
    path = f"{shopify.ShopifyResource.site}/collections/{mugs.id}/products.json"
    listed_ids = [product.id for product in shopify.Product.find(from_=path)]
    mugs.destroy()

    assert listed_ids == [ids[2], ids[0], ids[1]]
    assert shopify.SmartCollection.count() == 0
