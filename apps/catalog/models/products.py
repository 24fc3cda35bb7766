"""Products with their options, tags, images and sort columns."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.db.case_folding import CaseFoldedField
from apps.core.db.sort_tables import Rank, sort_table_key
from apps.core.i18n.error_messages import BLANK
from apps.core.models import MAX_FOLDED, VersionField
from apps.core.tenancy.shop_owned import ShopOwned

MAX_OPTIONS = 3


class PublishedScope(models.TextChoices):
    """The sales channels in which a published product or collection is available."""

    WEB = "web", gettext_lazy("Online store")
    GLOBAL = "global", gettext_lazy("Online store and point of sale")


class Product(ShopOwned):
    """A product of the shop, sold in one or more variants.

    Every change of an option, variant, image or tag increases the version of its product. ``lowest_price`` and
    ``units_sold`` are denormalized so that collections can be sorted with an index. Columns that change with inventory
    and orders are indexed in ``ProductRank``.
    """

    class Status(models.TextChoices):
        ACTIVE = "active", gettext_lazy("Active")
        ARCHIVED = "archived", gettext_lazy("Archived")
        DRAFT = "draft", gettext_lazy("Draft")

    title = models.CharField(gettext_lazy("title"), max_length=255)
    title_key = CaseFoldedField(of="title")
    handle = models.CharField(
        gettext_lazy("handle"),
        max_length=255,
        blank=True,
        help_text=gettext_lazy("The part of the URL that identifies the product."),
    )
    body_html = models.TextField(gettext_lazy("description"), null=True, blank=True)
    vendor = models.CharField(gettext_lazy("vendor"), max_length=255, blank=True)
    vendor_key = CaseFoldedField(of="vendor")
    product_type = models.CharField(gettext_lazy("type"), max_length=255, blank=True)
    product_type_key = CaseFoldedField(of="product_type")
    tags = models.TextField(gettext_lazy("tags"), blank=True, help_text=gettext_lazy("Separated by commas."))
    status = models.CharField(gettext_lazy("status"), max_length=10, choices=Status, default=Status.ACTIVE)
    template_suffix = models.CharField(gettext_lazy("template"), max_length=255, null=True, blank=True)
    published_at = models.DateTimeField(gettext_lazy("published at"), null=True, blank=True, default=timezone.now)
    published_scope = models.CharField(
        gettext_lazy("sales channels"), max_length=10, choices=PublishedScope, default=PublishedScope.WEB
    )
    lowest_price = models.DecimalField(
        gettext_lazy("lowest price"), max_digits=15, decimal_places=3, default=0, editable=False
    )
    units_sold = models.PositiveBigIntegerField(default=0, editable=False)
    version = VersionField()

    unrecorded_fields = ("lowest_price",)
    non_personal_fields = (
        "title",
        "title_key",
        "handle",
        "body_html",
        "vendor",
        "vendor_key",
        "product_type",
        "product_type_key",
        "tags",
        "template_suffix",
    )

    class Meta:
        verbose_name = gettext_lazy("product")
        verbose_name_plural = gettext_lazy("products")
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
            models.Index(fields=("shop", "id"), condition=Q(published_scope="global"), name="catalog_product_global"),
        )

    def __str__(self) -> str:
        return self.title


class ProductOption(ShopOwned):
    product = models.ForeignKey(
        Product, on_delete=models.CASCADE, related_name="options", verbose_name=gettext_lazy("product")
    )
    name = models.CharField(gettext_lazy("name"), max_length=255)
    position = models.PositiveSmallIntegerField(gettext_lazy("position"))
    values = models.JSONField(default=list, help_text="The values, in order.")

    history_owners = ("product",)
    non_personal_fields = ("name", "values")

    class Meta:
        verbose_name = gettext_lazy("product option")
        verbose_name_plural = gettext_lazy("product options")
        ordering = ("position", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(position__gte=1, position__lte=MAX_OPTIONS), name="catalog_option_at_most_three"
            ),
        )

    def __str__(self) -> str:
        return self.name


class ProductTag(ShopOwned):
    """One tag of a product, stored as a separate row so that products can be queried by tag.

    ``Product.tags`` contains all tags of the product as one string.
    """

    product = models.ForeignKey(
        Product, on_delete=models.CASCADE, related_name="tag_rows", verbose_name=gettext_lazy("product")
    )
    name = models.CharField(gettext_lazy("name"), max_length=255)
    key = models.CharField(max_length=MAX_FOLDED, help_text="The case-folded name.")

    non_personal_fields = ("name", "key")

    class Meta:
        verbose_name = gettext_lazy("product tag")
        verbose_name_plural = gettext_lazy("product tags")
        constraints = (models.UniqueConstraint(fields=("product", "key"), name="catalog_tag_once_per_product"),)
        indexes = (models.Index(fields=("shop", "key", "product"), name="catalog_tag_by_key"),)

    def __str__(self) -> str:
        return self.name


class ProductImage(ShopOwned):
    """An image of a product.

    The positions of a product's images are 1 to n without gaps, and the first image is the main image. ``key`` and
    ``name`` locate the file (see ``apps.catalog.domain.image_files``). The images of a product and its copies share
    files. A file never changes, so browsers may cache its URL forever.
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

    history_owners = ("product",)
    unrecorded_fields = ("key", "source", "width", "height")
    non_personal_fields = ("alt", "key", "name", "source")

    class Meta:
        verbose_name = gettext_lazy("product image")
        verbose_name_plural = gettext_lazy("product images")
        ordering = ("position", "id")
        indexes = (
            models.Index(fields=("product", "position", "id"), name="catalog_image_by_position"),
            models.Index(fields=("shop", "key"), name="catalog_image_by_key"),
        )

    def __str__(self) -> str:
        return self.name


class ProductRank(Rank):
    """The last update and the units sold of a product, in a narrow table with indexes that are cheap to update."""

    of = sort_table_key("catalog.Product")
    updated_at = models.DateTimeField()
    units_sold = models.PositiveBigIntegerField()

    class Meta:
        indexes = (
            models.Index(fields=("shop", "updated_at", "of"), name="catalog_rank_by_update"),
            models.Index(fields=("shop", "-units_sold", "of"), name="catalog_rank_best_selling"),
        )
