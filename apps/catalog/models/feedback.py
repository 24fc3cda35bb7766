from django.db import models
from django.utils.translation import gettext_lazy

from apps.catalog.models.products import Product
from apps.shops.models import ResourceFeedback


class ProductFeedback(ResourceFeedback):
    """Feedback about a product. ``resource_updated_at`` is the version of the product that the app has checked."""

    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="feedback")
    resource_updated_at = models.DateTimeField()

    class Meta:
        verbose_name = gettext_lazy("feedback")
        verbose_name_plural = gettext_lazy("feedback")
        constraints = (
            models.UniqueConstraint(fields=("shop", "app", "product"), name="catalog_productfeedback_once_per_app"),
        )
