"""Requests for products, variants, images, collections and collects."""

from typing import Any

from tests.catalog.factories import ATTACHMENT, make_custom, make_image, make_product, make_smart
from tests.samples import World, sample

PRODUCT = {
    "product": {
        "title": "Canvas bag",
        "body_html": "<p>Strong.</p>",
        "vendor": "Weavers",
        "product_type": "Bags",
        "tags": "canvas, summer",
        "options": [{"name": "Colour", "values": ["Sand"]}],
        "variants": [{"option1": "Sand", "price": "19.90", "sku": "CB-S", "grams": 300}],
    }
}
VARIANT = {"variant": {"option1": "Olive", "price": "19.90"}}
IMAGE = {"image": {"attachment": ATTACHMENT, "filename": "bag.png", "alt": "A bag"}}
RULES = [{"column": "title", "relation": "contains", "condition": "bag"}]
CUSTOM = {"custom_collection": {"title": "Bags", "body_html": "<p>All.</p>"}}
SMART = {"smart_collection": {"title": "Bags", "rules": RULES, "disjunctive": False}}


def one_product(world: World) -> dict[str, Any]:
    return {"id": make_product().pk}


def parent(world: World) -> dict[str, Any]:
    return {"product_id": make_product(prices=("1.00",)).pk}


def one_variant(world: World) -> dict[str, Any]:
    product = make_product(prices=("1.00", "2.00"))
    return {"product_id": product.pk, "id": product.variants.all()[0].pk}


def one_image(world: World) -> dict[str, Any]:
    product = make_product()
    return {"product_id": product.pk, "id": make_image(product).pk}


def one_custom(world: World) -> dict[str, Any]:
    return {"id": make_custom("Kitchen", make_product()).pk}


def one_smart(world: World) -> dict[str, Any]:
    return {"id": make_smart("Cheap", ("variant_price", "less_than", "5")).pk}


def a_collection(world: World) -> dict[str, Any]:
    return {"collection_id": make_custom("Kitchen", make_product()).pk}


def a_smart(world: World) -> dict[str, Any]:
    return {"collection_id": one_smart(world)["id"]}


def one_collect(world: World) -> dict[str, Any]:
    return {"id": make_custom("Kitchen", make_product()).collects.get().pk}


def apart(world: World) -> dict[str, Any]:
    return {"product": make_product().pk, "collection": make_custom().pk}


def collect_of(rows: dict[str, Any]) -> dict[str, Any]:
    return {"collect": {"product_id": rows["product"], "collection_id": rows["collection"]}}


sample("GET products.json", arrange=one_product)
sample("POST products.json", PRODUCT, status=201)
sample("GET products/count.json", arrange=one_product)
sample("GET products/<id>.json", arrange=one_product)
sample("PUT products/<id>.json", {"product": {"title": "Bag"}}, arrange=one_product)
sample("DELETE products/<id>.json", arrange=one_product)
sample("GET products/<product_id>/variants.json", arrange=parent)
sample("POST products/<product_id>/variants.json", VARIANT, arrange=parent, status=201)
sample("GET products/<product_id>/variants/count.json", arrange=parent)
sample("GET products/<product_id>/variants/<id>.json", arrange=one_variant)
sample("PUT products/<product_id>/variants/<id>.json", {"variant": {"price": "3.00"}}, arrange=one_variant)
sample("DELETE products/<product_id>/variants/<id>.json", arrange=one_variant)
sample("GET variants/<id>.json", arrange=one_variant)
sample("PUT variants/<id>.json", {"variant": {"price": "3.00"}}, arrange=one_variant)
sample("GET products/<product_id>/images.json", arrange=one_image)
sample("POST products/<product_id>/images.json", IMAGE, arrange=parent, status=201)
sample("GET products/<product_id>/images/count.json", arrange=one_image)
sample("GET products/<product_id>/images/<id>.json", arrange=one_image)
sample("PUT products/<product_id>/images/<id>.json", {"image": {"alt": "A bag"}}, arrange=one_image)
sample("DELETE products/<product_id>/images/<id>.json", arrange=one_image)
sample("GET custom_collections.json", arrange=one_custom)
sample("POST custom_collections.json", CUSTOM, status=201)
sample("GET custom_collections/count.json", arrange=one_custom)
sample("GET custom_collections/<id>.json", arrange=one_custom)
sample("PUT custom_collections/<id>.json", CUSTOM, arrange=one_custom)
sample("DELETE custom_collections/<id>.json", arrange=one_custom)
sample("GET smart_collections.json", arrange=one_smart)
sample("POST smart_collections.json", SMART, status=201)
sample("GET smart_collections/count.json", arrange=one_smart)
sample("GET smart_collections/<id>.json", arrange=one_smart)
sample("PUT smart_collections/<id>.json", SMART, arrange=one_smart)
sample("DELETE smart_collections/<id>.json", arrange=one_smart)
sample("PUT smart_collections/<id>/order.json", arrange=one_smart, query={"sort_order": "manual"}, bodiless=True)
sample("GET smart_collections/<collection_id>/products.json", arrange=a_smart)
sample("GET collections/<id>.json", arrange=one_smart)
sample("GET collections/<collection_id>/products.json", arrange=a_collection)
sample("GET collects.json", arrange=one_collect)
sample("POST collects.json", collect_of, arrange=apart, status=201)
sample("GET collects/count.json", arrange=one_collect)
sample("GET collects/<id>.json", arrange=one_collect)
sample("DELETE collects/<id>.json", arrange=one_collect)
