"""The staff face of the catalog: products, their variants and images, and collections of both kinds."""

from django.utils.translation import gettext_lazy

from apps.catalog.admin.collections import CustomCollectionAdmin
from apps.catalog.admin.products import ProductAdmin
from apps.catalog.admin.smart import SmartCollectionAdmin
from apps.catalog.admin.variants import VariantAdmin
from apps.catalog.models import (
    Collect,
    CustomCollection,
    ManualPlace,
    Product,
    ProductImage,
    ProductOption,
    ProductTag,
    SmartCollection,
    Variant,
)
from apps.panel.screens.deleting import tell_as, tell_nothing_of
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

tell_as(Variant, gettext_lazy("variant, with its stock"), gettext_lazy("variants, with their stock"), with_=Product)
tell_as(ProductImage, gettext_lazy("image"), gettext_lazy("images"))
tell_as(ProductOption, gettext_lazy("option"), gettext_lazy("options"))
tell_as(ProductTag, gettext_lazy("tag"), gettext_lazy("tags"))
tell_as(Collect, gettext_lazy("place in a collection"), gettext_lazy("places in collections"), with_=Product)
for kind in (CustomCollection, SmartCollection):
    tell_as(
        Collect,
        gettext_lazy("place of a product, which itself stays"),
        gettext_lazy("places of products, which themselves stay"),
        with_=kind,
    )
# Where a product stands in a collection that is put in order by hand: part of its place.
tell_nothing_of(ManualPlace)

__all__ = ["CustomCollectionAdmin", "ProductAdmin", "SmartCollectionAdmin", "VariantAdmin"]
