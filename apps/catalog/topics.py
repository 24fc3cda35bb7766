"""The topics that the catalog publishes."""

from apps.api.topics import register_resource
from apps.catalog.api.collection_resources import CollectionSerializer
from apps.catalog.api.resources import ProductSerializer


def register_all() -> None:
    """Add the topics."""
    register_resource("products", "Product", ProductSerializer, scope="read_products")
    register_resource("collections", "Collection", CollectionSerializer, scope="read_products")
