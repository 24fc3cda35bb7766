"""Products, the options that their variants differ in, and their tags."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.ground.folding import FoldedField
from apps.ground.phrases import BLANK
from apps.ground.rows import MAX_FOLDED, ShopOwned, VersionField, shop_of_many

MAX_OPTIONS = 3


class PublishedScope(models.TextChoices):
    """Where a published product or collection is offered."""

    WEB = "web", "Online store"
    GLOBAL = "global", "Online store and point of sale"


class Product(ShopOwned):
    """Something that the shop sells, in one or more variants.

    It is the root of its options, variants, images and tags: whatever changes one of them moves its version.
    ``lowest_price`` and ``units_sold`` follow from other rows and are kept here, so that collections can be sorted by
    them with an index. What moves with stock and orders has its indexes in the product's rank.
    """

    class Status(models.TextChoices):
        ACTIVE = "active", "Active"
        ARCHIVED = "archived", "Archived"
        DRAFT = "draft", "Draft"

    shop = shop_of_many()
    title = models.CharField(max_length=255)
    title_key = FoldedField(of="title")
    handle = models.CharField(max_length=255, blank=True, help_text="The product's part of its address.")
    body_html = models.TextField("description", null=True, blank=True)
    vendor = models.CharField(max_length=255, blank=True)
    vendor_key = FoldedField(of="vendor")
    product_type = models.CharField("type", max_length=255, blank=True)
    product_type_key = FoldedField(of="product_type")
    tags = models.TextField(blank=True, help_text="Separated by commas.")
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    template_suffix = models.CharField("template", max_length=255, null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True, default=timezone.now)
    published_scope = models.CharField(max_length=10, choices=PublishedScope, default=PublishedScope.WEB)
    lowest_price = models.DecimalField(max_digits=15, decimal_places=3, default=0, editable=False)
    units_sold = models.PositiveBigIntegerField(default=0, editable=False)
    version = VersionField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("shop", "handle"), name="catalog_product_handle_unique"),
            models.CheckConstraint(
                condition=~Q(title=""),
                name="catalog_product_has_title",
                violation_error_message=BLANK,
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="catalog_product_by_id"),
            models.Index(fields=("shop", "title_key", "id"), name="catalog_product_by_title"),
            models.Index(fields=("shop", "-title_key", "id"), name="catalog_product_by_title_desc"),
            models.Index(fields=("shop", "created_at", "id"), name="catalog_product_by_creation"),
            models.Index(fields=("shop", "-created_at", "id"), name="catalog_product_newest"),
            models.Index(fields=("shop", "lowest_price", "id"), name="catalog_product_by_price"),
            models.Index(fields=("shop", "-lowest_price", "id"), name="catalog_product_dearest"),
            models.Index(fields=("shop", "published_at", "id"), name="catalog_product_by_publish"),
            models.Index(fields=("shop", "vendor_key", "id"), name="catalog_product_by_vendor"),
            models.Index(fields=("shop", "product_type_key", "id"), name="catalog_product_by_type"),
            models.Index(fields=("shop", "status", "id"), name="catalog_product_by_status"),
        )

    def __str__(self) -> str:
        return self.title


class ProductOption(ShopOwned):
    """One of at most three things in which the variants of a product differ, such as its size."""

    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="options")
    name = models.CharField(max_length=255)
    position = models.PositiveSmallIntegerField()
    values = models.JSONField(default=list, help_text="The values in their order.")

    class Meta:
        ordering = ("position", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(position__gte=1, position__lte=MAX_OPTIONS), name="catalog_option_at_most_three"
            ),
        )

    def __str__(self) -> str:
        return self.name


class ProductTag(ShopOwned):
    """One tag of a product, beside the text that holds all of them, so that products are found by tag."""

    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="tag_rows")
    name = models.CharField(max_length=255)
    key = models.CharField(max_length=MAX_FOLDED, help_text="The name without regard to case.")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("product", "key"), name="catalog_tag_once_per_product"),)
        indexes = (models.Index(fields=("shop", "key", "product"), name="catalog_tag_by_key"),)

    def __str__(self) -> str:
        return self.name
