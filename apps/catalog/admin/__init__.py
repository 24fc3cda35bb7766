"""Panel pages for products, variants, images and collections."""

from django.utils.translation import gettext_lazy, gettext_noop

from apps.catalog.admin import event_subjects
from apps.catalog.admin.collections import CustomCollectionAdmin
from apps.catalog.admin.products import ProductAdmin
from apps.catalog.admin.smart_collections import SmartCollectionAdmin
from apps.catalog.admin.variants import VariantAdmin
from apps.catalog.models import (
    Collect,
    CollectionListing,
    CustomCollection,
    DelayedUpdate,
    ManualPlace,
    Product,
    ProductFeedback,
    ProductImage,
    ProductListing,
    ProductOption,
    ProductTag,
    SmartCollection,
    Variant,
)
from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels, hidden_models
from apps.core.tenancy.permissions import allow, grants
from apps.shops.admin.uninstall_preview import uninstall_counts

grants.add(
    allow(
        "products",
        "vacd",
        "catalog.product",
        "catalog.variant",
        "catalog.productimage",
        "catalog.customcollection",
        "catalog.smartcollection",
        "catalog.collect",
    )
)

delete_labels.add(
    DeleteLabel(
        Variant, gettext_lazy("variant, with its inventory"), gettext_lazy("variants, with their inventory"), Product
    ),
    DeleteLabel(ProductImage, gettext_lazy("image"), gettext_lazy("images")),
    DeleteLabel(ProductOption, gettext_lazy("option"), gettext_lazy("options")),
    DeleteLabel(ProductTag, gettext_lazy("tag"), gettext_lazy("tags")),
    DeleteLabel(Collect, gettext_lazy("entry in a collection"), gettext_lazy("entries in collections"), Product),
)
uninstall_counts.register(
    gettext_noop("listings"),
    lambda installation: sum(
        model.rows().filter(app_id=installation.app_id).count() for model in (ProductListing, CollectionListing)
    ),
)
uninstall_counts.register(
    gettext_noop("product feedback"),
    lambda installation: ProductFeedback.rows().filter(app_id=installation.app_id).count(),
)
for kind in (CustomCollection, SmartCollection):
    delete_labels.add(
        DeleteLabel(
            Collect,
            gettext_lazy("collection entry (the product will not be deleted)"),
            gettext_lazy("collection entries (the products will not be deleted)"),
            kind,
        )
    )
# Deleted with the product. Staff do not know these rows, so the delete page hides them.
hidden_models.add(DelayedUpdate, ManualPlace, ProductFeedback, ProductListing, CollectionListing)
