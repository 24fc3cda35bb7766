"""Topics for the catalog."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.types import Rendered
from apps.api.webhook_topics import register_resource_topics
from apps.catalog.api.collection_serializers import CollectionSerializer
from apps.catalog.api.serializers import ProductSerializer, VariantSerializer
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.models import Collection

_STOCK_VERBS = {
    "in_stock": gettext_noop("Variant back in stock"),
    "out_of_stock": gettext_noop("Variant out of stock"),
}


def register_catalog_topics() -> None:
    """Register the topics for products, variants and collections."""
    register_resource_topics("products", gettext_noop("Product"), ProductSerializer, scope="read_products")
    register_resource_topics(
        "variants", gettext_noop("Variant"), VariantSerializer, scope="read_products", verbs=_STOCK_VERBS
    )
    register_resource_topics(
        "collections",
        gettext_noop("Collection"),
        CollectionSerializer,
        scope="read_products",
        extra_fields=_products_count,
    )


def _products_count(instance: Model) -> Rendered:
    collection = Collection.objects.get(pk=instance.pk)
    return {"products_count": get_collection_products(collection).count()}
