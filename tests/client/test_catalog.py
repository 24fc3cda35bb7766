import base64
from typing import Any
from urllib.request import urlopen

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from tests.client.resources import change, create, save
from tests.support.files.images import decode_image, make_plain_image

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client"), pytest.mark.usefixtures("all_scopes")]

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


def create_bag() -> Any:
    return create(shopify.Product, **BAG)


def get_titles(products: Any) -> list[str]:
    return [item.title for item in products]


def test_a_product_is_made_with_options_variants_and_images() -> None:
    made = create_bag()
    product = shopify.Product.find(made.id)

    assert product.to_dict() == made.to_dict()
    assert (product.title, product.handle, product.tags, product.status) == (
        "Canvas bag",
        "canvas-bag",
        "canvas, summer",
        "active",
    )
    assert [(option.name, option.values) for option in product.options] == [
        ("Colour", ["Sand", "Olive"]),
        ("Size", ["S", "L"]),
    ]
    assert [(variant.title, variant.price, variant.sku) for variant in product.variants] == [
        ("Sand / S", "19.90", "CB-1"),
        ("Olive / L", "24.50", "CB-2"),
    ]
    assert [(image.alt, image.width, image.height) for image in product.images] == [("A bag", 40, 20)]
    assert product.image.id == product.images[0].id
    assert product.price_range() == "19.90 - 24.50"


def test_a_found_product_is_changed_and_saved_whole() -> None:
    made = create_bag()
    product = shopify.Product.find(made.id)
    product.variants[0].price = "21.00"
    save(product)

    changed = change(product, title="Linen bag")

    assert (changed.title, changed.handle, changed.tags) == ("Linen bag", "canvas-bag", "canvas, summer")
    assert [(variant.id, variant.price) for variant in changed.variants] == [
        (made.variants[0].id, "21.00"),
        (made.variants[1].id, "24.50"),
    ]
    assert [image.src for image in changed.images] == [image.src for image in made.images]


def test_products_are_counted_listed_narrowed_and_deleted() -> None:
    bag, mug = create_bag(), create(shopify.Product, title="Mug", vendor="Potters")

    assert (shopify.Product.count(), shopify.Product.count(vendor="Potters")) == (2, 1)
    assert get_titles(shopify.Product.find(vendor="Weavers")) == ["Canvas bag"]
    assert get_titles(shopify.Product.find(ids=f"{mug.id},{bag.id}", fields="id,title")) == ["Canvas bag", "Mug"]
    assert shopify.Product.find_first(handle="mug").id == mug.id

    bag.destroy()

    assert get_titles(shopify.Product.find()) == ["Mug"]
    with pytest.raises(ResourceNotFound):
        shopify.Product.find(bag.id)


def test_variants_are_made_found_changed_and_deleted() -> None:
    product = create_bag()

    large = shopify.Variant({"option1": "Sand", "option2": "L", "price": "22.00"})
    assert product.add_variant(large), large.errors.full_messages()
    variant = shopify.Variant.find(large.id)
    variant.price = "23.00"
    save(variant)
    nested = shopify.Variant.find(large.id, product_id=product.id)
    nested.sku = "CB-3"
    save(nested)
    shopify.Variant.find(product.variants[1].id, product_id=product.id).destroy()

    assert (nested.price, nested.title) == ("23.00", "Sand / L")
    assert [(row.id, row.sku) for row in shopify.Variant.find(product_id=product.id)] == [
        (product.variants[0].id, "CB-1"),
        (large.id, "CB-3"),
    ]
    assert shopify.Variant.count(product_id=product.id) == 2


def test_images_are_attached_shown_moved_and_deleted() -> None:
    product = create_bag()
    olive = product.variants[1].id

    image = shopify.Image({"product_id": product.id, "variant_ids": [olive]})
    image.attach_image(make_plain_image("JPEG", (30, 60)), filename="side.jpg")
    save(image)
    changed = change(image, position=1, alt="From the side")
    images = shopify.Image.find(product_id=product.id)
    shopify.Image.find(product.images[0].id, product_id=product.id).destroy()

    assert [(row.id, row.alt, row.position) for row in images] == [
        (image.id, "From the side", 1),
        (product.images[0].id, "A bag", 2),
    ]
    assert (changed.width, changed.height, changed.variant_ids) == (30, 60, [olive])
    assert shopify.Variant.find(olive).image_id == image.id
    assert shopify.Image.count(product_id=product.id) == 1


def test_an_images_address_gives_the_attached_bytes() -> None:
    large = make_plain_image("PNG", (400, 200))
    image = shopify.Image({"product_id": create_bag().id})
    image.attach_image(large, filename="large.png")
    save(image)

    with urlopen(image.src) as response:
        assert (response.read(), response.headers["Content-Type"]) == (large, "image/png")
    with urlopen(image.thumb) as response:
        assert decode_image(response.read()).size == (50, 25)


def test_custom_collections_are_filled_and_emptied_by_hand() -> None:
    bag, mug = create_bag(), create(shopify.Product, title="Mug")

    kitchen = create(shopify.CustomCollection, title="Kitchen")
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


def test_a_found_custom_collection_is_changed_saved_whole_and_deleted() -> None:
    garden = create(shopify.CustomCollection, title="Garden", image={"attachment": base64.b64encode(PNG).decode()})

    changed = change(garden, title="Balcony", published=False)

    assert (changed.title, changed.handle, changed.published_at, changed.image.width) == (
        "Balcony",
        "garden",
        None,
        40,
    )
    assert shopify.CustomCollection.count(title="Balcony") == 1

    changed.destroy()

    assert shopify.CustomCollection.find(title="Balcony") == []


def build_rule(relation: str, condition: str) -> dict[str, str]:
    return {"column": "title", "relation": relation, "condition": condition}


def test_smart_collections_hold_what_their_rules_say() -> None:
    bag, _ = create_bag(), create(shopify.Product, title="Mug")

    bags = create(shopify.SmartCollection, title="Bags", rules=[build_rule("contains", "bag")])
    assert get_titles(bags.products()) == ["Canvas bag"]
    changed = change(bags, rules=[build_rule("equals", "Mug")])

    assert get_titles(changed.products()) == ["Mug"]
    assert changed.rules[0].condition == "Mug"
    assert bag.smart_collections() == []
    assert shopify.SmartCollection.count() == 1


def test_a_smart_collection_is_arranged_by_hand() -> None:
    ids = [create(shopify.Product, title=f"Mug {number}").id for number in range(3)]
    mugs = create(shopify.SmartCollection, title="Mugs", rules=[build_rule("starts_with", "Mug")])

    mugs.put("order", sort_order="manual", products=[ids[2], ids[0]])
    path = f"{shopify.ShopifyResource.site}/collections/{mugs.id}/products.json"
    listed_ids = [product.id for product in shopify.Product.find(from_=path)]
    mugs.destroy()

    assert listed_ids == [ids[2], ids[0], ids[1]]
    assert shopify.SmartCollection.count() == 0
