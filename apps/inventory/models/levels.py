"""How many of an item lie where, and the ledger of every movement.

``InventoryLevel.available`` is the sum of its ``StockMovement`` rows at any time; both change together, in
``apps.inventory.domain`` only.
"""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.ground.phrases import between
from apps.ground.rows import ShopOwned, VersionField, shop_of_many
from apps.inventory.models.items import InventoryItem
from apps.inventory.models.locations import Location

# No level leaves this range, so that no sum of a level and a change overflows its column.
MAX_AVAILABLE = 1_000_000_000


class InventoryLevel(ShopOwned):
    """How many of an item are available at a location; negative where an order oversold it."""

    shop = shop_of_many()
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
    # Whether so few are left that the shop wants to know, see ``domain.low``.
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
    """One change of one level: who changed it, why, and by how much; never updated.

    It names the item and the location, not the level, so that it outlives the item's leaving the location.
    """

    class Reason(models.TextChoices):
        CORRECTION = "correction", gettext_lazy("Correction")
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
    delta = models.IntegerField(gettext_lazy("delta"))
    available = models.IntegerField(gettext_lazy("available"), help_text=gettext_lazy("The level after the movement."))
    reason = models.CharField(gettext_lazy("reason"), max_length=20, choices=Reason)
    actor = models.CharField(gettext_lazy("actor"), max_length=100)
    reference = models.CharField(
        gettext_lazy("reference"),
        max_length=255,
        blank=True,
        help_text=gettext_lazy("What it belongs to, e.g. an order's name."),
    )
    at = models.DateTimeField(gettext_lazy("at"))

    class Meta:
        verbose_name = gettext_lazy("stock movement")
        verbose_name_plural = gettext_lazy("stock movements")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("item", "location", "-id"), name="inventory_movement_by_level"),
            models.Index(fields=("shop", "-id"), name="inventory_movement_by_shop"),
            # Most of what moves is sold.
            models.Index(
                fields=("shop", "reason", "-id"), condition=~Q(reason="sale"), name="inventory_movement_by_reason"
            ),
        )

    def __str__(self) -> str:
        return f"{self.delta:+d} {self.get_reason_display()}"
