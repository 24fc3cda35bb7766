"""The topics that the catalog publishes."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.shapes import Shown
from apps.api.topics import register_resource
from apps.catalog.api.collection_resources import CollectionSerializer
from apps.catalog.api.resources import ProductSerializer, VariantSerializer
from apps.catalog.domain.collections.membership import products_of
from apps.catalog.models import Collection

_TURNS = {"in_stock": gettext_noop("Variant came into stock"), "out_of_stock": gettext_noop("Variant ran out of stock")}


def register_all() -> None:
    """Add the topics."""
    register_resource("products", gettext_noop("Product"), ProductSerializer, scope="read_products")
    register_resource("variants", gettext_noop("Variant"), VariantSerializer, scope="read_products", verbs=_TURNS)
    register_resource(
        "collections", gettext_noop("Collection"), CollectionSerializer, scope="read_products", besides=_products_count
    )


def _products_count(instance: Model) -> Shown:
    collection = Collection.objects.get(pk=instance.pk)
    return {"products_count": products_of(collection).count()}
