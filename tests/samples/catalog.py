"""Sample requests for products, variants, images, collections and collects."""

from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
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
IMAGE = {"image": {"attachment": ATTACHMENT, "filename": "bag.png", "alt": "A bag"}}
RULES = [{"column": "title", "relation": "contains", "condition": "bag"}]
CUSTOM = {"custom_collection": {"title": "Bags", "body_html": "<p>All.</p>"}}
SMART = {"smart_collection": {"title": "Bags", "rules": RULES, "disjunctive": False}}


def make_product_id(world: SampleContext) -> Attrs:
    return {"id": make_product().pk}


def make_parent(world: SampleContext) -> Attrs:
    return {"product_id": make_product(prices=("1.00",)).pk}


def make_variant_id(world: SampleContext) -> Attrs:
    product = make_product(prices=("1.00", "2.00"))
    return {"product_id": product.pk, "id": product.variants.all()[0].pk}


def make_image_id(world: SampleContext) -> Attrs:
    product = make_product()
    return {"product_id": product.pk, "id": make_image(product).pk}


def make_custom_collection_id(world: SampleContext) -> Attrs:
    return {"id": make_custom("Kitchen", make_product()).pk}


def make_smart_collection_id(world: SampleContext) -> Attrs:
    return {"id": make_smart("Cheap", ("variant_price", "less_than", "5")).pk}


def make_collection_id(world: SampleContext) -> Attrs:
    return {"collection_id": make_custom("Kitchen", make_product()).pk}


def make_any_smart_collection_id(world: SampleContext) -> Attrs:
    return {"collection_id": make_smart_collection_id(world)["id"]}


def make_collect_id(world: SampleContext) -> Attrs:
    return {"id": make_custom("Kitchen", make_product()).collects.get().pk}


def make_unconnected(world: SampleContext) -> Attrs:
    return {"product": make_product().pk, "collection": make_custom().pk}


def build_collect_body(rows: Attrs) -> Attrs:
    return {"collect": {"product_id": rows["product"], "collection_id": rows["collection"]}}


register_sample("GET products.json", arrange=make_product_id)
register_sample("POST products.json", PRODUCT, status=201)
register_sample("GET products/count.json", arrange=make_product_id)
register_sample("GET products/<id>.json", arrange=make_product_id)
register_sample("PUT products/<id>.json", {"product": {"title": "Bag"}}, arrange=make_product_id)
register_sample("DELETE products/<id>.json", arrange=make_product_id)
register_sample("GET products/<product_id>/variants.json", arrange=make_parent)
register_sample("POST products/<product_id>/variants.json", VARIANT, arrange=make_parent, status=201)
register_sample("GET products/<product_id>/variants/count.json", arrange=make_parent)
register_sample("GET products/<product_id>/variants/<id>.json", arrange=make_variant_id)
register_sample("PUT products/<product_id>/variants/<id>.json", {"variant": {"price": "3.00"}}, arrange=make_variant_id)
register_sample("DELETE products/<product_id>/variants/<id>.json", arrange=make_variant_id)
register_sample("GET variants/<id>.json", arrange=make_variant_id)
register_sample("PUT variants/<id>.json", {"variant": {"price": "3.00"}}, arrange=make_variant_id)
register_sample("GET products/<product_id>/images.json", arrange=make_image_id)
register_sample("POST products/<product_id>/images.json", IMAGE, arrange=make_parent, status=201)
register_sample("GET products/<product_id>/images/count.json", arrange=make_image_id)
register_sample("GET products/<product_id>/images/<id>.json", arrange=make_image_id)
register_sample("PUT products/<product_id>/images/<id>.json", {"image": {"alt": "A bag"}}, arrange=make_image_id)
register_sample("DELETE products/<product_id>/images/<id>.json", arrange=make_image_id)
register_sample("GET custom_collections.json", arrange=make_custom_collection_id)
register_sample("POST custom_collections.json", CUSTOM, status=201)
register_sample("GET custom_collections/count.json", arrange=make_custom_collection_id)
register_sample("GET custom_collections/<id>.json", arrange=make_custom_collection_id)
register_sample("PUT custom_collections/<id>.json", CUSTOM, arrange=make_custom_collection_id)
register_sample("DELETE custom_collections/<id>.json", arrange=make_custom_collection_id)
register_sample("GET smart_collections.json", arrange=make_smart_collection_id)
register_sample("POST smart_collections.json", SMART, status=201)
register_sample("GET smart_collections/count.json", arrange=make_smart_collection_id)
register_sample("GET smart_collections/<id>.json", arrange=make_smart_collection_id)
register_sample("PUT smart_collections/<id>.json", SMART, arrange=make_smart_collection_id)
register_sample("DELETE smart_collections/<id>.json", arrange=make_smart_collection_id)
register_sample(
    "PUT smart_collections/<id>/order.json",
    arrange=make_smart_collection_id,
    query={"sort_order": "manual"},
    bodiless=True,
)
register_sample("GET smart_collections/<collection_id>/products.json", arrange=make_any_smart_collection_id)
register_sample("GET collections/<id>.json", arrange=make_smart_collection_id)
register_sample("GET collections/<collection_id>/products.json", arrange=make_collection_id)
register_sample("GET collects.json", arrange=make_collect_id)
register_sample("POST collects.json", build_collect_body, arrange=make_unconnected, status=201)
register_sample("GET collects/count.json", arrange=make_collect_id)
register_sample("GET collects/<id>.json", arrange=make_collect_id)
register_sample("DELETE collects/<id>.json", arrange=make_collect_id)
