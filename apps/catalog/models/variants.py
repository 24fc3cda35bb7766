from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.catalog.models.products import Product, ProductImage
from apps.core.db.case_folding import CaseFoldedField
from apps.core.i18n.error_messages import at_least
from apps.core.tenancy.models import Shop
from apps.core.tenancy.shop_owned import ShopOwned
from apps.inventory.models import InventoryItem

DEFAULT_VALUE = "Default Title"


class Variant(ShopOwned):
    """One combination of a product's option values, with its own price and inventory.

    ``inventory_quantity`` is the sum of the quantities at all locations. The transaction of an inventory change
    also updates this sum. ``grams`` is derived from ``weight`` and ``weight_unit``.
    """

    class InventoryPolicy(models.TextChoices):
        DENY = "deny", gettext_lazy("Stop selling when out of stock")
        CONTINUE = "continue", gettext_lazy("Continue selling when out of stock")

    product = models.ForeignKey(
        Product, on_delete=models.CASCADE, related_name="variants", verbose_name=gettext_lazy("product")
    )
    inventory_item = models.OneToOneField(
        InventoryItem, on_delete=models.RESTRICT, related_name="variant", verbose_name=gettext_lazy("inventory item")
    )
    image = models.ForeignKey(
        ProductImage,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="variants",
        verbose_name=gettext_lazy("image"),
    )
    title = models.CharField(gettext_lazy("title"), max_length=800, default=DEFAULT_VALUE, editable=False)
    title_key = CaseFoldedField(of="title")
    option1 = models.CharField(gettext_lazy("option 1"), max_length=255, default=DEFAULT_VALUE)
    option2 = models.CharField(gettext_lazy("option 2"), max_length=255, null=True, blank=True)
    option3 = models.CharField(gettext_lazy("option 3"), max_length=255, null=True, blank=True)
    position = models.PositiveIntegerField(gettext_lazy("position"), default=1)
    price = models.DecimalField(gettext_lazy("price"), max_digits=15, decimal_places=3, default=0)
    compare_at_price = models.DecimalField(
        gettext_lazy("compare-at price"), max_digits=15, decimal_places=3, null=True, blank=True
    )
    fixed_prices = models.JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text="Fixed prices by currency.",
    )
    barcode = models.CharField(gettext_lazy("barcode"), max_length=255, null=True, blank=True)
    taxable = models.BooleanField(gettext_lazy("taxable"), default=True)
    tax_code = models.CharField(gettext_lazy("tax code"), max_length=255, blank=True)
    inventory_policy = models.CharField(
        gettext_lazy("when sold out"), max_length=10, choices=InventoryPolicy, default=InventoryPolicy.DENY
    )
    inventory_quantity = models.BigIntegerField(gettext_lazy("inventory quantity"), default=0, editable=False)
    fulfillment_service = models.CharField(
        gettext_lazy("fulfillment service"),
        max_length=255,
        default="manual",
        help_text=gettext_lazy("The handle of the fulfillment service."),
    )
    grams = models.PositiveBigIntegerField(default=0)
    weight = models.DecimalField(gettext_lazy("weight"), max_digits=15, decimal_places=6, default=0)
    weight_unit = models.CharField(
        gettext_lazy("weight unit"), max_length=2, choices=Shop.WeightUnit, default=Shop.WeightUnit.KILOGRAM
    )

    history_owners = ("product",)
    unrecorded_fields = ("title", "inventory_item", "inventory_quantity", "grams")
    non_personal_fields = (
        "title",
        "title_key",
        "option1",
        "option2",
        "option3",
        "fixed_prices",
        "barcode",
        "tax_code",
        "fulfillment_service",
    )

    class Meta:
        verbose_name = gettext_lazy("variant")
        verbose_name_plural = gettext_lazy("variants")
        ordering = ("position", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(price__gte=0),
                name="catalog_variant_price_not_negative",
                violation_error_message=at_least(0),
            ),
            models.CheckConstraint(
                condition=Q(compare_at_price__gte=0),
                name="catalog_variant_compare_price_not_negative",
                violation_error_message=at_least(0),
            ),
        )
        indexes = (
            models.Index(fields=("shop", "product", "position", "id"), name="catalog_variant_by_place"),
            models.Index(fields=("shop", "id"), name="catalog_variant_by_id"),
            models.Index(fields=("shop", "barcode"), name="catalog_variant_by_barcode"),
            models.Index(fields=("shop", "price", "id"), name="catalog_variant_by_price"),
            # These indexes are partial because few variants differ from the defaults.
            models.Index(
                fields=("shop", "id"), condition=Q(inventory_policy="continue"), name="catalog_variant_continued"
            ),
            models.Index(fields=("shop", "id"), condition=Q(taxable=False), name="catalog_variant_untaxed"),
        )

    def __str__(self) -> str:
        return self.product.title if self.is_default else self.title

    @property
    def is_default(self) -> bool:
        """Return True if the product has no options. The variant then has an internal default title."""
        return set(self.options) <= {DEFAULT_VALUE}

    @property
    def full_name(self) -> str:
        """Return the product title and the variant title. The product must be loaded."""
        return self.product.title if self.is_default else f"{self.product.title} · {self.title}"

    @property
    def event_label(self) -> str:
        return self.full_name

    @property
    def history_label(self) -> str:
        """Return the title that the product's history shows. A product without options has only one variant."""
        return "" if self.is_default else self.title

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(value for value in (self.option1, self.option2, self.option3) if value is not None)
