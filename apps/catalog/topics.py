from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.catalog.api.collection_serializers import CollectionSerializer
from apps.catalog.api.serializers import ProductSerializer, VariantSerializer
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.models import Collection, Product
from apps.core.events.timelines import Timeline, timelines
from apps.core.events.topics import topics
from apps.core.rest.webhook_topics import build_resource_topics
from apps.core.types import Rendered

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

timelines.add(Timeline("products", Product, scope="products"))
