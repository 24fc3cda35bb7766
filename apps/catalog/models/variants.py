"""Variants: what is ordered, priced and kept in stock."""

from django.db import models
from django.db.models import Q

from apps.catalog.models.images import ProductImage
from apps.catalog.models.products import Product
from apps.ground.folding import FoldedField
from apps.ground.phrases import at_least
from apps.ground.rows import ShopOwned, shop_of_many
from apps.inventory.models import InventoryItem
from apps.shops.models import Shop

DEFAULT_VALUE = "Default Title"


class Variant(ShopOwned):
    """One form in which a product is sold.

    ``inventory_quantity`` is the sum of the levels of its inventory item and follows them in the same transaction.
    ``grams`` follows ``weight`` and ``weight_unit``.
    """

    class InventoryPolicy(models.TextChoices):
        DENY = "deny", "Stop selling when out of stock"
        CONTINUE = "continue", "Continue selling when out of stock"

    shop = shop_of_many()
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="variants")
    inventory_item = models.OneToOneField(InventoryItem, on_delete=models.RESTRICT, related_name="variant")
    image = models.ForeignKey(ProductImage, on_delete=models.SET_NULL, null=True, blank=True, related_name="variants")
    title = models.CharField(max_length=800, default=DEFAULT_VALUE, editable=False)
    title_key = FoldedField(of="title")
    option1 = models.CharField("option 1", max_length=255, default=DEFAULT_VALUE)
    option2 = models.CharField("option 2", max_length=255, null=True, blank=True)
    option3 = models.CharField("option 3", max_length=255, null=True, blank=True)
    position = models.PositiveIntegerField(default=1)
    price = models.DecimalField(max_digits=15, decimal_places=3, default=0)
    compare_at_price = models.DecimalField(max_digits=15, decimal_places=3, null=True, blank=True)
    fixed_prices = models.JSONField(null=True, blank=True, editable=False, help_text="By currency; see price_tags.")
    barcode = models.CharField(max_length=255, null=True, blank=True)
    taxable = models.BooleanField(default=True)
    tax_code = models.CharField(max_length=255, blank=True)
    inventory_policy = models.CharField(
        "when sold out", max_length=10, choices=InventoryPolicy, default=InventoryPolicy.DENY
    )
    inventory_quantity = models.BigIntegerField(default=0, editable=False)
    fulfillment_service = models.CharField(max_length=255, default="manual", help_text="Its handle.")
    grams = models.PositiveBigIntegerField(default=0)
    weight = models.DecimalField(max_digits=15, decimal_places=6, default=0)
    weight_unit = models.CharField(max_length=2, choices=Shop.WeightUnit, default=Shop.WeightUnit.KILOGRAM)

    class Meta:
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
        )

    def __str__(self) -> str:
        return self.product.title if self.is_default else self.title

    @property
    def is_default(self) -> bool:
        """Whether it is the one form of a product without forms, whose title says nothing to people."""
        return set(self.options) <= {DEFAULT_VALUE}

    @property
    def full_name(self) -> str:
        """What staff call it beside other products' variants; its product is loaded."""
        return self.product.title if self.is_default else f"{self.product.title} · {self.title}"

    @property
    def event_label(self) -> str:
        """By which events name it."""
        return self.full_name

    @property
    def options(self) -> tuple[str, ...]:
        """The values of the options that it has."""
        return tuple(value for value in (self.option1, self.option2, self.option3) if value is not None)
