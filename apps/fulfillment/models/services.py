"""Fulfillment services: outside warehouses that fulfill for a shop."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.base_models import ShopOwned, VersionField
from apps.ground.error_messages import TAKEN
from apps.inventory.models import Location
from apps.shops.models import App


class FulfillmentService(ShopOwned):
    """A warehouse that an app runs for a shop, with its own location and callback endpoints.

    Attributes:
        handle: The identifier of the service in variants. The handle does not change when the service is renamed.
        location: The service's location, which is created and renamed together with the service.
        callback_url: The base URL of the service's endpoints, with a trailing slash.
    """

    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="+", editable=False, verbose_name=gettext_lazy("app")
    )
    location = models.OneToOneField(
        Location,
        on_delete=models.RESTRICT,
        related_name="service",
        editable=False,
        verbose_name=gettext_lazy("location"),
    )
    name = models.CharField(gettext_lazy("name"), max_length=255)
    handle = models.CharField(max_length=255, editable=False)
    callback_url = models.URLField(
        gettext_lazy("callback URL"),
        max_length=2048,
        help_text=gettext_lazy("The base URL of the service's endpoints."),
    )
    inventory_management = models.BooleanField(
        gettext_lazy("reports inventory"),
        default=False,
        help_text=gettext_lazy("Request the service's inventory every hour."),
    )
    tracking_support = models.BooleanField(
        gettext_lazy("reports tracking numbers"),
        default=False,
        help_text=gettext_lazy("Request tracking numbers every hour."),
    )
    requires_shipping_method = models.BooleanField(gettext_lazy("requires shipping method"), default=True)
    permits_sku_sharing = models.BooleanField(
        gettext_lazy("permits SKU sharing"),
        default=True,
        help_text=gettext_lazy("Items stocked by this service can also be stocked at other locations."),
    )
    version = VersionField()

    class Meta:
        verbose_name = gettext_lazy("fulfillment service")
        verbose_name_plural = gettext_lazy("fulfillment services")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "name"),
                name="fulfillment_service_name_once_per_shop",
                violation_error_message=TAKEN,
                violation_error_code="name",
            ),
            models.UniqueConstraint(
                fields=("shop", "handle"),
                name="fulfillment_service_handle_once_per_shop",
                violation_error_message=TAKEN,
                violation_error_code="name",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="fulfillment_service_by_shop"),
            models.Index(fields=("shop", "app", "id"), name="fulfillment_service_by_app"),
        )

    def __str__(self) -> str:
        return self.name
