"""Models for the catalog."""

from apps.catalog.models.collections import Collect, Collection, CustomCollection, ManualPlace, SmartCollection
from apps.catalog.models.images import ProductImage
from apps.catalog.models.products import Product, ProductOption, ProductTag
from apps.catalog.models.ranks import ProductRank
from apps.catalog.models.variants import Variant

__all__ = (
    "Collect",
    "Collection",
    "CustomCollection",
    "ManualPlace",
    "Product",
    "ProductImage",
    "ProductOption",
    "ProductRank",
    "ProductTag",
    "SmartCollection",
    "Variant",
)
