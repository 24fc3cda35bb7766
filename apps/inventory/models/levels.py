"""Inventory levels, and the ledger of all inventory changes.

``InventoryLevel.available`` always equals the sum of the level's ``StockMovement`` rows. Only ``apps.inventory.domain``
writes to these two tables, and it changes both in the same transaction.
"""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.ground.base_models import ShopOwned, VersionField, unindexed_shop_fk
from apps.ground.error_messages import between
from apps.inventory.models.items import InventoryItem
from apps.inventory.models.locations import Location

# With this limit, the sum of a level and a change cannot exceed the range of the column.
MAX_AVAILABLE = 1_000_000_000


class InventoryLevel(ShopOwned):
    """The available quantity of an item at a location. The quantity is negative if the item is oversold."""

    shop = unindexed_shop_fk()
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
