"""Models for inventory items, locations, inventory levels and the ledger of inventory changes.

``InventoryLevel.available`` always equals the sum of the level's ``StockMovement`` rows. Only ``apps.inventory.domain``
writes to these two tables, and it changes both in the same transaction.
"""

import re
from collections.abc import Iterator

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.db.row_changes import RowKey, get_owner_keys
from apps.core.i18n.error_messages import at_least, between
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned

# A code of the Harmonized System, which customs authorities use to classify products.
HS_CODE = re.compile(r"[0-9.]{6,13}", re.ASCII)


class InventoryItem(ShopOwned):
    """The stock-keeping record of a variant, which also has its cost and customs data."""

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
        null=True,
        blank=True,
        help_text=gettext_lazy("The cost per item in the shop currency."),
    )
    country_code_of_origin = models.CharField(gettext_lazy("country of origin"), max_length=2, null=True, blank=True)
    province_code_of_origin = models.CharField(
        gettext_lazy("state or province of origin"), max_length=10, null=True, blank=True
    )
    harmonized_system_code = models.CharField(gettext_lazy("HS code"), max_length=13, null=True, blank=True)
    country_harmonized_system_codes = models.JSONField(gettext_lazy("HS codes by country"), default=list, blank=True)
    version = VersionField()

    non_personal_fields = (
        "sku",
        "country_code_of_origin",
        "province_code_of_origin",
        "harmonized_system_code",
        "country_harmonized_system_codes",
    )

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

    def get_other_owner_keys(self) -> Iterator[RowKey]:
        """Return the product of the item's variant, if the item was loaded together with the variant."""
        if variant := self._state.fields_cache.get("variant"):
            yield from get_owner_keys(variant)


class Location(ShopOwned):
    """A place where a shop stocks and fulfills items.

    A legacy location belongs to a fulfillment service. Staff cannot change legacy locations.
    """

    name = models.CharField(gettext_lazy("name"), max_length=255)
    address1 = models.CharField(gettext_lazy("address"), max_length=255, null=True, blank=True)
    address2 = models.CharField(gettext_lazy("apartment, suite, etc."), max_length=255, null=True, blank=True)
    city = models.CharField(gettext_lazy("city"), max_length=255, null=True, blank=True)
    zip = models.CharField(gettext_lazy("postal code"), max_length=50, null=True, blank=True)
    province = models.CharField(gettext_lazy("state or province"), max_length=255, null=True, blank=True)
    province_code = models.CharField(
        gettext_lazy("state or province code"), max_length=10, null=True, blank=True, editable=False
    )
    country_code = models.CharField(gettext_lazy("country"), max_length=2)
    phone = models.CharField(gettext_lazy("phone"), max_length=50, null=True, blank=True)
    active = models.BooleanField(
        gettext_lazy("active"),
        default=True,
        editable=False,
        help_text=gettext_lazy("Only active locations sell, stock and fulfill items."),
    )
    legacy = models.BooleanField(gettext_lazy("fulfillment service"), default=False, editable=False)
    permits_sku_sharing = models.BooleanField(
        gettext_lazy("permits SKU sharing"),
        default=True,
        editable=False,
        help_text=gettext_lazy("Items stocked at this location can also be stocked at other locations."),
    )
    priority = models.PositiveSmallIntegerField(
        gettext_lazy("fulfillment priority"),
        default=0,
        help_text=gettext_lazy(
            "If several locations can fulfill an order equally well, the location with the lowest priority number "
            "is used."
        ),
    )
    version = VersionField()

    non_personal_fields = (
        "name",
        "address1",
        "address2",
        "city",
        "zip",
        "province",
        "province_code",
        "country_code",
        "phone",
    )

    class Meta:
        verbose_name = gettext_lazy("location")
        verbose_name_plural = gettext_lazy("locations")
        ordering = ("name", "id")
        indexes = (models.Index(fields=("shop", "name", "id"), name="inventory_location_by_name"),)

    def __str__(self) -> str:
        return self.name


# With this limit, the sum of a level and a change cannot exceed the range of the column.
MAX_AVAILABLE = 1_000_000_000


class InventoryLevel(ShopOwned):
    """The available quantity of an item at a location. The quantity is negative if the item is oversold."""

    item = models.ForeignKey(
        InventoryItem,
        on_delete=models.CASCADE,
        related_name="levels",
        db_index=False,
        verbose_name=gettext_lazy("item"),
    )
    location = models.ForeignKey(
        Location, on_delete=models.RESTRICT, related_name="levels", verbose_name=gettext_lazy("location")
    )
    available = models.IntegerField(gettext_lazy("available"), default=0, editable=False)
    # True if the quantity is at or below the shop's threshold (see ``domain.low_stock``).
    is_low = models.BooleanField(default=False, db_default=False, editable=False)
    version = VersionField()

    class Meta:
        verbose_name = gettext_lazy("inventory level")
        verbose_name_plural = gettext_lazy("inventory levels")
        constraints = (
            models.UniqueConstraint(
                fields=("item", "location"),
                name="inventory_inventorylevel_one_per_item_and_location",
                violation_error_message="is stocked at this location already",
            ),
            models.CheckConstraint(
                condition=Q(available__gte=-MAX_AVAILABLE, available__lte=MAX_AVAILABLE),
                name="inventory_inventorylevel_available_in_range",
                violation_error_message=between(-MAX_AVAILABLE, MAX_AVAILABLE),
            ),
        )
        indexes = (
            models.Index(fields=("shop", "location", "id"), name="inventory_level_by_location"),
            models.Index(fields=("shop", "item"), name="inventory_level_low", condition=Q(is_low=True)),
        )

    def __str__(self) -> str:
        return f"{self.item_id} at {self.location_id}: {self.available}"


class StockMovement(ShopOwned):
    """A ledger row, which records one change to one level, the actor and the reason. Rows are never updated.

    The row refers to the item and the location instead of the level. The row therefore still exists after the item is
    disconnected from the location.
    """

    class Reason(models.TextChoices):
        CORRECTION = "correction", gettext_lazy("Corrected")
        COUNT = "count", gettext_lazy("Counted")
        RECEIVED = "received", gettext_lazy("Received")
        DAMAGED = "damaged", gettext_lazy("Damaged or lost")
        SALE = "sale", gettext_lazy("Sold")
        RESTOCK = "restock", gettext_lazy("Restocked")
        TRANSFER = "transfer", gettext_lazy("Moved to another location")
        DISCONNECTED = "disconnected", gettext_lazy("No longer stocked here")
        SERVICE = "service", gettext_lazy("Reported by the fulfillment service")

    item = models.ForeignKey(
        InventoryItem, on_delete=models.CASCADE, related_name="movements", verbose_name=gettext_lazy("item")
    )
    location = models.ForeignKey(
        Location, on_delete=models.RESTRICT, related_name="movements", verbose_name=gettext_lazy("location")
    )
    delta = models.IntegerField(gettext_lazy("change"))
    available = models.IntegerField(
        gettext_lazy("available"), help_text=gettext_lazy("The available quantity after the change.")
    )
    reason = models.CharField(gettext_lazy("reason"), max_length=20, choices=Reason)
    actor = models.CharField(gettext_lazy("actor"), max_length=100)
    reference = models.CharField(
        gettext_lazy("reference"),
        max_length=255,
        blank=True,
        help_text=gettext_lazy("What caused the change, for example an order number."),
    )
    at = models.DateTimeField(gettext_lazy("changed at"))

    non_personal_fields = ("actor", "reference")

    class Meta:
        verbose_name = gettext_lazy("inventory change")
        verbose_name_plural = gettext_lazy("inventory changes")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("item", "location", "-id"), name="inventory_movement_by_level"),
            models.Index(fields=("shop", "-id"), name="inventory_movement_by_shop"),
            # Most inventory changes are sales. Leaving them out keeps the index small.
            models.Index(
                fields=("shop", "reason", "-id"), condition=~Q(reason="sale"), name="inventory_movement_by_reason"
            ),
        )

    def __str__(self) -> str:
        return f"{self.delta:+d} {self.get_reason_display()}"
