"""Third-party warehouses: who prepares and ships in a shop's stead."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.phrases import TAKEN
from apps.ground.rows import ShopOwned, VersionField
from apps.inventory.models import Location
from apps.shops.models import App


class FulfillmentService(ShopOwned):
    """A warehouse that an app runs for a shop, with a location of its own and endpoints that we call.

    Attributes:
        handle: Names it in variants; stays when the name changes.
        location: Made with it, and named as it is.
        callback_url: The common beginning of its endpoints; ends with a slash.
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
        gettext_lazy("callback URL"), max_length=2048, help_text=gettext_lazy("The common beginning of its endpoints.")
    )
    inventory_management = models.BooleanField(
        gettext_lazy("reports stock"), default=False, help_text=gettext_lazy("It is asked each hour how much it has.")
    )
    tracking_support = models.BooleanField(
        gettext_lazy("reports tracking numbers"),
        default=False,
        help_text=gettext_lazy("It is asked each hour for tracking numbers."),
    )
    requires_shipping_method = models.BooleanField(gettext_lazy("requires shipping method"), default=True)
    permits_sku_sharing = models.BooleanField(
        gettext_lazy("permits sku sharing"),
        default=True,
        help_text=gettext_lazy("Whether its items may lie at other locations, too."),
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
