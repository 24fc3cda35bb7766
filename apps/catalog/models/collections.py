"""Collections of products: put together by hand, or by rules.

Both kinds share one table and so one range of ids, since ``/collections/{id}`` serves both.
"""

from typing import TYPE_CHECKING, ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.catalog.models.products import Product, PublishedScope
from apps.ground.folding import FoldedField
from apps.ground.phrases import BLANK
from apps.ground.rows import ShopOwned, TimestampedQuerySet, VersionField, shop_manager

if TYPE_CHECKING:
    from apps.ground.rows import ShopManager


class Collection(ShopOwned):
    """A collection of either kind."""

    class Kind(models.TextChoices):
        CUSTOM = "custom", gettext_lazy("Custom")
        SMART = "smart", gettext_lazy("Smart")

    class SortOrder(models.TextChoices):
        ALPHA_ASC = "alpha-asc", gettext_lazy("Title, A to Z")
        ALPHA_DESC = "alpha-desc", gettext_lazy("Title, Z to A")
        BEST_SELLING = "best-selling", gettext_lazy("Best selling")
        CREATED = "created", gettext_lazy("Oldest first")
        CREATED_DESC = "created-desc", gettext_lazy("Newest first")
        MANUAL = "manual", gettext_lazy("By hand")
        PRICE_ASC = "price-asc", gettext_lazy("Price, lowest first")
        PRICE_DESC = "price-desc", gettext_lazy("Price, highest first")

    kind = models.CharField(gettext_lazy("kind"), max_length=6, choices=Kind, editable=False)
    title = models.CharField(gettext_lazy("title"), max_length=255)
    title_key = FoldedField(of="title")
    handle = models.CharField(
        gettext_lazy("handle"),
        max_length=255,
        blank=True,
        help_text=gettext_lazy("The collection's part of its address."),
    )
    body_html = models.TextField(gettext_lazy("description"), null=True, blank=True)
    sort_order = models.CharField(
        gettext_lazy("sort order"), max_length=12, choices=SortOrder, default=SortOrder.BEST_SELLING
    )
    template_suffix = models.CharField(gettext_lazy("template"), max_length=255, null=True, blank=True)
    published_at = models.DateTimeField(gettext_lazy("published at"), null=True, blank=True, default=timezone.now)
    published_scope = models.CharField(
        gettext_lazy("published scope"), max_length=10, choices=PublishedScope, default=PublishedScope.WEB
    )
    disjunctive = models.BooleanField(gettext_lazy("any rule is enough"), default=False)
    rules = models.JSONField(gettext_lazy("rules"), default=list, blank=True)
    image_key = models.CharField(max_length=64, blank=True, editable=False)
    image_name = models.CharField(max_length=255, blank=True, editable=False)
    image_alt = models.CharField(gettext_lazy("alternative text"), max_length=512, null=True, blank=True)
    image_width = models.PositiveIntegerField(null=True, editable=False)
    image_height = models.PositiveIntegerField(null=True, editable=False)
    image_created_at = models.DateTimeField(null=True, editable=False)
    version = VersionField()

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
        )

    def __str__(self) -> str:
        return self.title

    @property
    def is_smart(self) -> bool:
        """Whether rules, and not people, say what is in it."""
        return self.kind == self.Kind.SMART


class _CustomManager(models.Manager["CustomCollection"]):
    """Collections that people fill."""

    def get_queryset(self) -> "models.QuerySet[CustomCollection]":
        return super().get_queryset().filter(kind=Collection.Kind.CUSTOM)


class _SmartManager(models.Manager["SmartCollection"]):
    """Collections that rules fill."""

    def get_queryset(self) -> "models.QuerySet[SmartCollection]":
        return super().get_queryset().filter(kind=Collection.Kind.SMART)


class CustomCollection(Collection):
    """A collection whose products are put in by hand, one ``Collect`` each."""

    objects: "ClassVar[ShopManager[Self]]" = shop_manager(TimestampedQuerySet, _CustomManager)

    class Meta:
        verbose_name = gettext_lazy("custom collection")
        verbose_name_plural = gettext_lazy("custom collections")
        proxy = True


class SmartCollection(Collection):
    """A collection of the products that fit its rules, as they are at the moment of reading."""

    objects: "ClassVar[ShopManager[Self]]" = shop_manager(TimestampedQuerySet, _SmartManager)

    class Meta:
        verbose_name = gettext_lazy("smart collection")
        verbose_name_plural = gettext_lazy("smart collections")
        proxy = True


class Collect(ShopOwned):
    """Puts a product into a custom collection."""

    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="collects", verbose_name=gettext_lazy("collection")
    )
    product = models.ForeignKey(
        Product, on_delete=models.CASCADE, related_name="collects", verbose_name=gettext_lazy("product")
    )
    position = models.PositiveIntegerField(gettext_lazy("position"), default=1)

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


class ManualPlace(ShopOwned):
    """The place that staff gave a product in a smart collection that is sorted by hand."""

    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="places", verbose_name=gettext_lazy("collection")
    )
    product = models.ForeignKey(
        Product, on_delete=models.CASCADE, related_name="places", verbose_name=gettext_lazy("product")
    )
    position = models.PositiveIntegerField(gettext_lazy("position"))

    class Meta:
        verbose_name = gettext_lazy("manual place")
        verbose_name_plural = gettext_lazy("manual places")
        constraints = (models.UniqueConstraint(fields=("collection", "product"), name="catalog_place_product_once"),)

    def __str__(self) -> str:
        return f"{self.product_id} at {self.position}"
