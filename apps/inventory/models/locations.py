"""Where goods lie, and where orders are fulfilled from."""

from django.db import models

from apps.ground.rows import ShopOwned, VersionField


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
