from apps.catalog.models import CollectionListing, ProductListing
from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support.factories.catalog import make_custom, make_product

EMPTY: Attrs = {"product_listing": {}}


def make_product_id(world: SampleContext) -> Attrs:
    return {"id": make_product().pk}


def make_listed_product_id(world: SampleContext) -> Attrs:
    product = make_product()
    ProductListing.objects.create(shop=world.shop, app=world.installation.app, product=product)
    return {"id": product.pk}


def make_collection_id(world: SampleContext) -> Attrs:
    return {"id": make_custom("Kitchen", make_product()).pk}


def make_listed_collection_id(world: SampleContext) -> Attrs:
    pk = make_listed_product_id(world)["id"]
    collection = make_custom("Kitchen", ProductListing.objects.get(product_id=pk).product)
    CollectionListing.objects.create(shop=world.shop, app=world.installation.app, collection=collection)
    return {"id": collection.pk}


register_sample("GET product_listings.json", arrange=make_listed_product_id)
register_sample("GET product_listings/count.json", arrange=make_listed_product_id)
register_sample("GET product_listings/product_ids.json", arrange=make_listed_product_id)
register_sample("GET product_listings/<id>.json", arrange=make_listed_product_id)
register_sample("PUT product_listings/<id>.json", EMPTY, arrange=make_product_id)
register_sample("DELETE product_listings/<id>.json", arrange=make_listed_product_id)
register_sample("GET collection_listings.json", arrange=make_listed_collection_id)
register_sample("GET collection_listings/<id>.json", arrange=make_listed_collection_id)
register_sample("PUT collection_listings/<id>.json", {"collection_listing": {}}, arrange=make_collection_id)
register_sample("DELETE collection_listings/<id>.json", arrange=make_listed_collection_id)
register_sample(
    "GET collection_listings/<collection_id>/product_ids.json",
    arrange=lambda world: {"collection_id": make_listed_collection_id(world)["id"]},
)
