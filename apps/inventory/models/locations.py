"""Locations."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.base_models import ShopOwned, VersionField


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

    class Meta:
        verbose_name = gettext_lazy("location")
        verbose_name_plural = gettext_lazy("locations")
        ordering = ("name", "id")
        indexes = (models.Index(fields=("shop", "name", "id"), name="inventory_location_by_name"),)

    def __str__(self) -> str:
        return self.name
