from apps.core.types import Attrs
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories.catalog import ATTACHMENT, make_custom, make_image, make_product, make_smart

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
NEW_PRICE = {"variant": {"price": "3.00"}}
IMAGE = {"image": {"attachment": ATTACHMENT, "filename": "bag.png", "alt": "A bag"}}
RULES = [{"column": "title", "relation": "contains", "condition": "bag"}]
CUSTOM = {"custom_collection": {"title": "Bags", "body_html": "<p>All.</p>"}}
SMART = {"smart_collection": {"title": "Bags", "rules": RULES, "disjunctive": False}}


def make_parent(world: SampleContext) -> Attrs:
    return {"product_id": make_product(prices=("1.00",)).pk}


def make_variant_id(world: SampleContext) -> Attrs:
    product = make_product(prices=("1.00", "2.00"))
    return {"product_id": product.pk, "id": product.variants.all()[0].pk}


def make_image_id(world: SampleContext) -> Attrs:
    product = make_product()
    return {"product_id": product.pk, "id": make_image(product).pk}


def make_smart_collection_id(world: SampleContext) -> Attrs:
    return {"id": make_smart("Cheap", ("variant_price", "less_than", "5")).pk}


def make_collect_id(world: SampleContext) -> Attrs:
    return {"id": make_custom("Kitchen", make_product()).collects.get().pk}


register_resource("products", PRODUCT, {"product": {"title": "Bag"}}, lambda world: {"id": make_product().pk})
register_resource(
    "products/<product_id>/variants", VARIANT, NEW_PRICE, make_variant_id, many=make_parent, parent=make_parent
)
register_sample("GET variants/<id>.json", arrange=make_variant_id)
register_sample("PUT variants/<id>.json", NEW_PRICE, arrange=make_variant_id)
register_resource("products/<product_id>/images", IMAGE, {"image": {"alt": "A bag"}}, make_image_id, parent=make_parent)
register_resource("custom_collections", CUSTOM, CUSTOM, lambda world: {"id": make_custom("Kitchen", make_product()).pk})
register_resource("smart_collections", SMART, SMART, make_smart_collection_id)
register_sample(
    "PUT smart_collections/<id>/order.json",
    arrange=make_smart_collection_id,
    query={"sort_order": "manual"},
    bodiless=True,
)
register_sample(
    "GET smart_collections/<collection_id>/products.json",
    arrange=lambda world: {"collection_id": make_smart_collection_id(world)["id"]},
)
register_sample("GET collections/<id>.json", arrange=make_smart_collection_id)
register_sample(
    "GET collections/<collection_id>/products.json",
    arrange=lambda world: {"collection_id": make_custom("Kitchen", make_product()).pk},
)
register_sample("GET collects.json", arrange=make_collect_id)
register_sample(
    "POST collects.json",
    lambda rows: {"collect": rows},
    arrange=lambda world: {"product_id": make_product().pk, "collection_id": make_custom().pk},
    status=201,
)
register_sample("GET collects/count.json", arrange=make_collect_id)
register_sample("GET collects/<id>.json", arrange=make_collect_id)
register_sample("DELETE collects/<id>.json", arrange=make_collect_id)
