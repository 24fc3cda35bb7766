"""Fulfillment services, which are outside warehouses that fulfill for a shop, and the calls to their callbacks."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.i18n.messages import MessageField
from apps.core.models import VersionField
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned
from apps.inventory.models import Location


class FulfillmentService(ShopOwned):
    """A warehouse that an app runs for a shop, with its own location and callback endpoints.

    ``handle`` identifies the service in variants and never changes. ``callback_url`` ends with a slash.
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

    non_personal_fields = ("name", "handle", "callback_url")

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


class Pull(ShopOwned):
    """An hourly request to a service. Results of an earlier ``round`` are ignored."""

    class Kind(models.TextChoices):
        STOCK = "stock", gettext_lazy("Inventory")
        TRACKING = "tracking", gettext_lazy("Tracking numbers")

    service = models.ForeignKey(FulfillmentService, on_delete=models.CASCADE, related_name="pulls")
    kind = models.CharField(max_length=8, choices=Kind)
    next_at = models.DateTimeField(db_index=True)
    round = models.PositiveIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField(default=1)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("service", "kind"), name="fulfillment_pull_once_per_service_and_kind"),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.service_id}"


class PullAttempt(ShopOwned):
    """One call for stock or tracking numbers.

    ``outcome`` is ``ok``, ``bad_answer``, ``status``, or the code of a failed request. ``message`` describes a problem
    or ignored data. ``excerpt`` is the beginning of the response.
    """

    service = models.ForeignKey(FulfillmentService, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=8, choices=Pull.Kind)
    number = models.PositiveSmallIntegerField()
    url = models.TextField("URL")
    outcome = models.CharField(max_length=20)
    status = models.PositiveSmallIntegerField(null=True)
    changed = models.PositiveIntegerField(default=0)
    message = MessageField()
    excerpt = models.TextField(blank=True)
    total_ms = models.PositiveIntegerField(default=0)

    personal_fields = ("url", "message", "excerpt")
    non_personal_fields = ("outcome",)

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("service", "-id"), name="fulfillment_pull_by_service"),
            models.Index(fields=("created_at",), name="fulfillment_pull_by_age"),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.service_id}: {self.outcome}"
