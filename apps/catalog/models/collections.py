"""Custom and smart collections of products.

Both kinds share one table, so that an id in ``/collections/{id}`` is unique among all collections.
"""

from typing import TYPE_CHECKING, ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.catalog.models.products import Product, PublishedScope
from apps.core.db.case_folding import CaseFoldedField
from apps.core.i18n.error_messages import BLANK
from apps.core.models import TimestampedQuerySet, VersionField, create_shop_manager
from apps.core.tenancy.shop_owned import ShopOwned

if TYPE_CHECKING:
    from apps.core.models import ShopManager


class Collection(ShopOwned):
    class Kind(models.TextChoices):
        CUSTOM = "custom", gettext_lazy("Custom")
        SMART = "smart", gettext_lazy("Smart")

    class SortOrder(models.TextChoices):
        ALPHA_ASC = "alpha-asc", gettext_lazy("Title, A to Z")
        ALPHA_DESC = "alpha-desc", gettext_lazy("Title, Z to A")
        BEST_SELLING = "best-selling", gettext_lazy("Best selling")
        CREATED = "created", gettext_lazy("Oldest first")
        CREATED_DESC = "created-desc", gettext_lazy("Newest first")
        MANUAL = "manual", gettext_lazy("Manual")
        PRICE_ASC = "price-asc", gettext_lazy("Price, lowest first")
        PRICE_DESC = "price-desc", gettext_lazy("Price, highest first")

    kind = models.CharField(gettext_lazy("kind"), max_length=6, choices=Kind, editable=False)
    title = models.CharField(gettext_lazy("title"), max_length=255)
    title_key = CaseFoldedField(of="title")
    handle = models.CharField(
        gettext_lazy("handle"),
        max_length=255,
        blank=True,
        help_text=gettext_lazy("The part of the URL that identifies the collection."),
    )
    body_html = models.TextField(gettext_lazy("description"), null=True, blank=True)
    sort_order = models.CharField(
        gettext_lazy("sort order"), max_length=12, choices=SortOrder, default=SortOrder.BEST_SELLING
    )
    template_suffix = models.CharField(gettext_lazy("template"), max_length=255, null=True, blank=True)
    published_at = models.DateTimeField(gettext_lazy("published at"), null=True, blank=True, default=timezone.now)
    published_scope = models.CharField(
        gettext_lazy("sales channels"), max_length=10, choices=PublishedScope, default=PublishedScope.WEB
    )
    disjunctive = models.BooleanField(gettext_lazy("match any rule"), default=False)
    rules = models.JSONField(gettext_lazy("rules"), default=list, blank=True)
    image_key = models.CharField(max_length=64, blank=True, editable=False)
    image_name = models.CharField(max_length=255, blank=True, editable=False)
    image_alt = models.CharField(gettext_lazy("alternative text"), max_length=512, null=True, blank=True)
    image_width = models.PositiveIntegerField(null=True, editable=False)
    image_height = models.PositiveIntegerField(null=True, editable=False)
    image_created_at = models.DateTimeField(null=True, editable=False)
    version = VersionField()

    non_personal_fields = (
        "title",
        "title_key",
        "handle",
        "body_html",
        "template_suffix",
        "rules",
        "image_key",
        "image_name",
        "image_alt",
    )

    class Meta:
        verbose_name = gettext_lazy("collection")
        verbose_name_plural = gettext_lazy("collections")
        constraints = (
            models.UniqueConstraint(fields=("shop", "handle"), name="catalog_collection_handle_unique"),
            models.CheckConstraint(
                condition=~Q(title=""),
                name="catalog_collection_has_title",
                violation_error_message=BLANK,
            ),
        )
        indexes = (
            models.Index(fields=("shop", "kind", "id"), name="catalog_collection_by_id"),
            models.Index(fields=("shop", "kind", "title", "id"), name="catalog_collection_by_title"),
            models.Index(fields=("shop", "image_key"), condition=~Q(image_key=""), name="catalog_collection_by_image"),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def is_smart(self) -> bool:
        return self.kind == self.Kind.SMART


class _CustomManager(models.Manager["CustomCollection"]):
    def get_queryset(self) -> "models.QuerySet[CustomCollection]":
        return super().get_queryset().filter(kind=Collection.Kind.CUSTOM)


class _SmartManager(models.Manager["SmartCollection"]):
    def get_queryset(self) -> "models.QuerySet[SmartCollection]":
        return super().get_queryset().filter(kind=Collection.Kind.SMART)


class CustomCollection(Collection):
    """A collection with manually added products, each stored as a ``Collect``."""

    objects: "ClassVar[ShopManager[Self]]" = create_shop_manager(TimestampedQuerySet, _CustomManager)

    class Meta:
        verbose_name = gettext_lazy("custom collection")
        verbose_name_plural = gettext_lazy("custom collections")
        proxy = True


class SmartCollection(Collection):
    """A collection of all products that match its rules. The rules are evaluated on each read."""

    objects: "ClassVar[ShopManager[Self]]" = create_shop_manager(TimestampedQuerySet, _SmartManager)

    class Meta:
        verbose_name = gettext_lazy("smart collection")
        verbose_name_plural = gettext_lazy("smart collections")
        proxy = True


class Collect(ShopOwned):
    """The membership of a product in a custom collection."""

    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="collects", verbose_name=gettext_lazy("collection")
    )
    product = models.ForeignKey(
        Product, on_delete=models.CASCADE, related_name="collects", verbose_name=gettext_lazy("product")
    )
    position = models.PositiveIntegerField(gettext_lazy("position"), default=1)

    history_owners = ("collection",)

    class Meta:
        verbose_name = gettext_lazy("collect")
        verbose_name_plural = gettext_lazy("collects")
        constraints = (
            models.UniqueConstraint(
                fields=("collection", "product"),
                name="catalog_collect_product_once",
                violation_error_message="already exists in this collection",
                violation_error_code="product_id",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="catalog_collect_by_id"),
            models.Index(fields=("collection", "position", "product"), name="catalog_collect_by_position"),
        )

    def __str__(self) -> str:
        return f"{self.product_id} in {self.collection_id}"

    @property
    def history_label(self) -> str:
        """Return the product's title if the product is loaded, or else its ID."""
        product = self._state.fields_cache.get("product")
        return product.title if product else f"#{self.product_id}"


class ManualPlace(ShopOwned):
    """The position that staff chose for a product in a manually sorted smart collection."""

    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="places", verbose_name=gettext_lazy("collection")
    )
    product = models.ForeignKey(
        Product, on_delete=models.CASCADE, related_name="places", verbose_name=gettext_lazy("product")
    )
    position = models.PositiveIntegerField(gettext_lazy("position"))

    class Meta:
        verbose_name = gettext_lazy("manual position")
        verbose_name_plural = gettext_lazy("manual positions")
        constraints = (models.UniqueConstraint(fields=("collection", "product"), name="catalog_place_product_once"),)

    def __str__(self) -> str:
        return f"{self.product_id} at {self.position}"
