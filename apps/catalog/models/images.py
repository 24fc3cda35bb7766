"""Images of products."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.catalog.models.products import Product
from apps.core.tenancy.shop_owned import ShopOwned


class ProductImage(ShopOwned):
    """An image of a product.

    The positions of a product's images are 1 to n without gaps, and the first image is the main image. ``key`` and
    ``name`` locate the file (see ``apps.catalog.domain.image_files``). A file never changes, so browsers may cache its
    URL forever.
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
        help_text="The hash of the URL that the image was imported from. Blank if the image was uploaded.",
    )
    width = models.PositiveIntegerField(editable=False)
    height = models.PositiveIntegerField(editable=False)

    non_personal_fields = ("alt", "key", "name", "source")

    class Meta:
        verbose_name = gettext_lazy("product image")
        verbose_name_plural = gettext_lazy("product images")
        ordering = ("position", "id")
        indexes = (models.Index(fields=("product", "position", "id"), name="catalog_image_by_position"),)

    def __str__(self) -> str:
        return self.name
