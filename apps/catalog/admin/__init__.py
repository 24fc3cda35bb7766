"""Panel pages for products, variants, images and collections."""

from django.utils.translation import gettext_lazy

from apps.catalog.admin.collections import CustomCollectionAdmin
from apps.catalog.admin.products import ProductAdmin
from apps.catalog.admin.smart_collections import SmartCollectionAdmin
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
from apps.panel.admin_base.delete_preview import hide_from_delete_page, register_delete_label
from apps.staff.domain.permissions import grant_permissions

grant_permissions(
    "products",
    "vacd",
    "catalog.product",
    "catalog.variant",
    "catalog.productimage",
    "catalog.customcollection",
    "catalog.smartcollection",
    "catalog.collect",
)

register_delete_label(
    Variant, gettext_lazy("variant, with its inventory"), gettext_lazy("variants, with their inventory"), with_=Product
)
register_delete_label(ProductImage, gettext_lazy("image"), gettext_lazy("images"))
register_delete_label(ProductOption, gettext_lazy("option"), gettext_lazy("options"))
register_delete_label(ProductTag, gettext_lazy("tag"), gettext_lazy("tags"))
register_delete_label(
    Collect, gettext_lazy("entry in a collection"), gettext_lazy("entries in collections"), with_=Product
)
for kind in (CustomCollection, SmartCollection):
    register_delete_label(
        Collect,
        gettext_lazy("collection entry (the product will not be deleted)"),
        gettext_lazy("collection entries (the products will not be deleted)"),
        with_=kind,
    )
# Manual positions are deleted with the product. Staff do not know these rows, so the delete page hides them.
hide_from_delete_page(ManualPlace)

__all__ = ["CustomCollectionAdmin", "ProductAdmin", "SmartCollectionAdmin", "VariantAdmin"]
