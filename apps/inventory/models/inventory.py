"""Where goods lie and how many: locations, items, levels, and the ledger of every movement.

``InventoryLevel.available`` is the sum of its ``StockMovement`` rows at any time; both change together, in
``apps.inventory.domain.stock`` only.
"""

from decimal import Decimal

from django.db import models
from django.db.models import Q

from apps.ground.phrases import at_least, between
from apps.ground.rows import ShopOwned, VersionField

# No level leaves this range, so that no sum of a level and a change overflows its column.
MAX_AVAILABLE = 1_000_000_000


class Location(ShopOwned):
    """A place where a shop stocks goods or from which orders are fulfilled.

    A legacy location belongs to a fulfillment service, which names it; staff cannot change it.
    """

    name = models.CharField(max_length=255)
    address1 = models.CharField("address", max_length=255, null=True, blank=True)
    address2 = models.CharField("apartment, suite …", max_length=255, null=True, blank=True)
    city = models.CharField(max_length=255, null=True, blank=True)
    zip = models.CharField("postal code", max_length=50, null=True, blank=True)
    province = models.CharField(max_length=255, null=True, blank=True)
    province_code = models.CharField(max_length=10, null=True, blank=True, editable=False)
    country_code = models.CharField("country", max_length=2, help_text="ISO 3166-1 alpha-2.")
    phone = models.CharField(max_length=50, null=True, blank=True)
    active = models.BooleanField(
        default=True, editable=False, help_text="Sells, stocks and fulfills; an inactive one does nothing."
    )
    legacy = models.BooleanField("fulfillment service", default=False, editable=False)
    permits_sku_sharing = models.BooleanField(
        default=True, editable=False, help_text="Whether its items may lie at other locations, too."
    )
    priority = models.PositiveSmallIntegerField(
        "fulfillment priority", default=0, help_text="Of locations that suit an order equally, the lowest wins."
    )
    version = VersionField()

    class Meta:
        ordering = ("name", "id")
        indexes = (models.Index(fields=("shop", "name", "id"), name="inventory_location_by_name"),)

    def __str__(self) -> str:
        return self.name


class InventoryItem(ShopOwned):
    """A thing that can be stocked: what a variant is in the warehouse and at the customs."""

    sku = models.CharField("SKU", max_length=255, blank=True)
    tracked = models.BooleanField(default=False, help_text="Whether sales count down its stock.")
    requires_shipping = models.BooleanField(default=True)
    cost = models.DecimalField(
        max_digits=14, decimal_places=2, default=Decimal(0), help_text="What one costs the shop, in its currency."
    )
    country_code_of_origin = models.CharField("country of origin", max_length=2, null=True, blank=True)
    province_code_of_origin = models.CharField("province of origin", max_length=10, null=True, blank=True)
    harmonized_system_code = models.CharField("HS code", max_length=13, null=True, blank=True)
    country_harmonized_system_codes = models.JSONField("HS codes by country", default=list, blank=True)
    version = VersionField()

    class Meta:
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


class InventoryLevel(ShopOwned):
    """How many of an item are available at a location; negative where an order oversold it."""

    item = models.ForeignKey(InventoryItem, on_delete=models.CASCADE, related_name="levels")
    location = models.ForeignKey(Location, on_delete=models.RESTRICT, related_name="levels")
    available = models.IntegerField(default=0, editable=False)
    version = VersionField()

    class Meta:
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
        indexes = (models.Index(fields=("shop", "location", "id"), name="inventory_level_by_location"),)

    def __str__(self) -> str:
        return f"{self.item_id} at {self.location_id}: {self.available}"


class StockMovement(ShopOwned):
    """One change of one level: who changed it, why, and by how much; never updated.

    It names the item and the location, not the level, so that it outlives the item's leaving the location.
    """

    class Reason(models.TextChoices):
        CORRECTION = "correction", "Correction"
        COUNT = "count", "Counted"
        RECEIVED = "received", "Received"
        DAMAGED = "damaged", "Damaged or lost"
        SALE = "sale", "Sold"
        RESTOCK = "restock", "Restocked"
        TRANSFER = "transfer", "Moved to another location"
        DISCONNECTED = "disconnected", "No longer stocked here"
        SERVICE = "service", "Reported by the fulfillment service"

    item = models.ForeignKey(InventoryItem, on_delete=models.CASCADE, related_name="movements")
    location = models.ForeignKey(Location, on_delete=models.RESTRICT, related_name="movements")
    delta = models.IntegerField()
    available = models.IntegerField(help_text="The level after the movement.")
    reason = models.CharField(max_length=20, choices=Reason)
    actor = models.CharField(max_length=100)
    reference = models.CharField(max_length=255, blank=True, help_text="What it belongs to, e.g. an order's name.")
    at = models.DateTimeField()

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("item", "location", "-id"), name="inventory_movement_by_level"),
            models.Index(fields=("shop", "-id"), name="inventory_movement_by_shop"),
        )

    def __str__(self) -> str:
        return f"{self.delta:+d} {self.get_reason_display()}"
