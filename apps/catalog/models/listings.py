"""The products and collections that an app has published to its own sales channel."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.catalog.models.collections import Collection
from apps.catalog.models.products import Product
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned


class Listing(ShopOwned):
    """The publication of a product or collection to an app's sales channel. Uninstalling the app deletes it."""

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", editable=False)
    published_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True


class ProductListing(Listing):
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="listings")

    class Meta:
        verbose_name = gettext_lazy("product listing")
        verbose_name_plural = gettext_lazy("product listings")
        constraints = (
            models.UniqueConstraint(fields=("shop", "app", "product"), name="catalog_productlisting_once_per_app"),
        )

    def __str__(self) -> str:
        return str(self.product)


class CollectionListing(Listing):
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="listings")

    class Meta:
        verbose_name = gettext_lazy("collection listing")
        verbose_name_plural = gettext_lazy("collection listings")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "app", "collection"), name="catalog_collectionlisting_once_per_app"
            ),
        )

    def __str__(self) -> str:
        return str(self.collection)
