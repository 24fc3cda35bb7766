from collections.abc import Collection as Scopes
from collections.abc import Iterator, Mapping
from functools import partial

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.catalog.api.collection_serializers import CollectionSerializer
from apps.catalog.api.listing_serializers import (
    CollectionListingSerializer,
    ProductListingSerializer,
    complete_listings,
)
from apps.catalog.api.serializers import ProductSerializer, VariantSerializer
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.domain.sales_channels import listings
from apps.catalog.models import Collection, CollectionListing, Product, ProductListing
from apps.core.events.timelines import Timeline, timelines
from apps.core.events.topics import Topic, topics
from apps.core.rest.openapi.schemas import build_resource_schema
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.serializers import Resource
from apps.core.rest.webhook_topics import build_resource_topics
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Rendered, Schema

_STOCK_VERBS = {
    "in_stock": gettext_noop("Variant back in stock"),
    "out_of_stock": gettext_noop("Variant out of stock"),
}


def _products_count(instance: Model) -> Rendered:
    collection = Collection.objects.get(pk=instance.pk)
    return {"products_count": get_collection_products(collection).count()}


topics.add(*build_resource_topics("products", gettext_noop("Product"), ProductSerializer, scopes=("read_products",)))
topics.add(
    *build_resource_topics(
        "variants", gettext_noop("Variant"), VariantSerializer, scopes=("read_products",), verbs=_STOCK_VERBS
    )
)
topics.add(
    *build_resource_topics(
        "collections",
        gettext_noop("Collection"),
        CollectionSerializer,
        scopes=("read_products",),
        extra_fields=_products_count,
    )
)


def _render_listing(instance: Model, version: str, *, removed: bool) -> Rendered:
    """Return the payload of a listing. ``app_id`` is the app that may receive it."""
    assert isinstance(instance, ProductListing | CollectionListing)
    serializer, subject, singular = (
        (ProductListingSerializer, instance.product_id, "product")
        if isinstance(instance, ProductListing)
        else (CollectionListingSerializer, instance.collection_id, "collection")
    )
    listing: Rendered = {f"{singular}_id": subject}
    if not removed:
        context = RenderContext(get_current_shop(), version)
        item = get_read_plan(serializer, version).read_one(subject, context)
        listing = complete_listings([item], f"{singular}_id", {subject: instance.published_at}, context)[0]
    return {f"{singular}_listing": listing, "app_id": instance.app_id}


def _is_own_listing(payload: Mapping[str, object], app_id: int, _granted: Scopes[str]) -> bool:
    return payload["app_id"] == app_id


def _build_listing_topics(
    family: str, model: type[ProductListing | CollectionListing], serializer: Resource, labels: Mapping[str, str]
) -> Iterator[Topic]:
    singular = family.removesuffix("s")

    def get_schema(version: str, *, removed: bool) -> Schema:
        listing = {"type": "object"} if removed else build_resource_schema(serializer, version)
        return {"type": "object", "properties": {singular: listing, "app_id": {"type": "integer"}}}

    for verb, label in labels.items():
        removed = verb == "remove"
        yield Topic(
            name=f"{family}/{verb}",
            scopes=("read_product_listings",),
            render=partial(_render_listing, removed=removed),
            label=label,
            get_schema=partial(get_schema, removed=removed),
            is_allowed=_is_own_listing,
            example=model,
        )


topics.add(
    *_build_listing_topics(
        listings.PRODUCTS,
        ProductListing,
        ProductListingSerializer,
        {
            "add": gettext_noop("Product listing added"),
            "update": gettext_noop("Product listing changed"),
            "remove": gettext_noop("Product listing removed"),
        },
    ),
    *_build_listing_topics(
        listings.COLLECTIONS,
        CollectionListing,
        CollectionListingSerializer,
        {
            "add": gettext_noop("Collection listing added"),
            "update": gettext_noop("Collection listing changed"),
            "remove": gettext_noop("Collection listing removed"),
        },
    ),
)

timelines.add(Timeline("products", Product, scope="products"))
