"""Pictures of products."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.catalog.models.products import Product
from apps.ground.rows import ShopOwned


class ProductImage(ShopOwned):
    """A picture of a product.

    Positions are dense, 1 to n; the first image is the main one. ``key`` and ``name`` say where the file is kept
    (``apps.catalog.domain.pictures``); a file never changes, so its address may be cached for good.
    """

    product = models.ForeignKey(
        Product, on_delete=models.CASCADE, related_name="images", verbose_name=gettext_lazy("product")
    )
    position = models.PositiveIntegerField(gettext_lazy("position"))
    alt = models.CharField(gettext_lazy("alternative text"), max_length=512, null=True, blank=True)
    key = models.CharField(max_length=64, editable=False)
    name = models.CharField(gettext_lazy("file name"), max_length=255, editable=False)
    source = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="What its address elsewhere is known again by; blank where it was not imported.",
    )
    width = models.PositiveIntegerField(editable=False)
    height = models.PositiveIntegerField(editable=False)

    class Meta:
        verbose_name = gettext_lazy("product image")
        verbose_name_plural = gettext_lazy("product images")
        ordering = ("position", "id")
        indexes = (models.Index(fields=("product", "position", "id"), name="catalog_image_by_position"),)

    def __str__(self) -> str:
        return self.name
