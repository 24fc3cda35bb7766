"""The staff face of the catalog: products, their variants and images, and collections of both kinds."""

from apps.catalog.admin.collections import CustomCollectionAdmin
from apps.catalog.admin.products import ProductAdmin
from apps.catalog.admin.smart import SmartCollectionAdmin
from apps.catalog.admin.variants import VariantAdmin
from apps.staff.domain.permissions import grant

grant(
    "products",
    "vacd",
    "catalog.product",
    "catalog.variant",
    "catalog.productimage",
    "catalog.customcollection",
    "catalog.smartcollection",
    "catalog.collect",
)

__all__ = ["CustomCollectionAdmin", "ProductAdmin", "SmartCollectionAdmin", "VariantAdmin"]
