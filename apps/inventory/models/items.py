"""Inventory items."""

import re
from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.ground.base_models import ShopOwned, VersionField, unindexed_shop_fk
from apps.ground.error_messages import at_least

# A code of the Harmonized System, which customs authorities use to classify products.
HS_CODE = re.compile(r"[0-9.]{6,13}", re.ASCII)


class InventoryItem(ShopOwned):
    """The stock-keeping record of a variant, which also has its cost and customs data."""

    shop = unindexed_shop_fk()
    sku = models.CharField(gettext_lazy("SKU"), max_length=255, blank=True)
    tracked = models.BooleanField(
        gettext_lazy("tracked"),
        default=False,
        help_text=gettext_lazy("Sales reduce the available quantity of tracked items."),
    )
    requires_shipping = models.BooleanField(gettext_lazy("requires shipping"), default=True)
    cost = models.DecimalField(
        gettext_lazy("cost"),
        max_digits=15,
        decimal_places=3,
        default=Decimal(0),
        help_text=gettext_lazy("The cost per item in the shop currency."),
    )
    country_code_of_origin = models.CharField(gettext_lazy("country of origin"), max_length=2, null=True, blank=True)
    province_code_of_origin = models.CharField(
        gettext_lazy("state or province of origin"), max_length=10, null=True, blank=True
    )
    harmonized_system_code = models.CharField(gettext_lazy("HS code"), max_length=13, null=True, blank=True)
    country_harmonized_system_codes = models.JSONField(gettext_lazy("HS codes by country"), default=list, blank=True)
    version = VersionField()

    class Meta:
        verbose_name = gettext_lazy("inventory item")
        verbose_name_plural = gettext_lazy("inventory items")
        constraints = (
            models.CheckConstraint(
                condition=Q(cost__gte=0),
                name="inventory_inventoryitem_cost_not_negative",
                violation_error_message=at_least(0),
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="inventory_item_by_shop"),
            models.Index(fields=("shop", "sku"), name="inventory_item_by_sku"),
        )

    def __str__(self) -> str:
        return self.sku or f"#{self.pk}"
