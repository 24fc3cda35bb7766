"""Fulfillments, their lines, and their tracking events."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned
from apps.fulfillment.models.orders import FulfillmentOrder
from apps.inventory.models import Location
from apps.orders.models import LineItem, Order
from apps.shops.domain.countries import localize_country


class Fulfillment(ShopOwned):
    """One shipment: items of an order from one location. Its name has the order's name and ``number``: ``#1001.1``.

    ``service`` is the handle of the fulfillment service, or ``manual``. ``shipment_status`` is the latest event's
    status.
    """

    class Status(models.TextChoices):
        PENDING = "pending", gettext_lazy("Pending")
        OPEN = "open", gettext_lazy("Open")
        SUCCESS = "success", gettext_lazy("Fulfilled")
        CANCELLED = "cancelled", gettext_lazy("Canceled")
        ERROR = "error", gettext_lazy("Error")
        FAILURE = "failure", gettext_lazy("Failed")

    order = models.ForeignKey(
        Order, on_delete=models.CASCADE, related_name="fulfillments", db_index=False, verbose_name=gettext_lazy("order")
    )
    location = models.ForeignKey(
        Location, on_delete=models.RESTRICT, related_name="fulfillments", verbose_name=gettext_lazy("location")
    )
    number = models.PositiveIntegerField(gettext_lazy("number"), editable=False)
    name = models.CharField(gettext_lazy("name"), max_length=80, editable=False)
    service = models.CharField(gettext_lazy("service"), max_length=255, default="manual", editable=False)
    status = models.CharField(
        gettext_lazy("status"), max_length=9, choices=Status, default=Status.SUCCESS, editable=False
    )
    shipment_status = models.CharField(gettext_lazy("shipment status"), max_length=18, blank=True, editable=False)
    tracking_company = models.CharField(max_length=255, blank=True)
    tracking_numbers = models.JSONField(default=list)
    tracking_urls = models.JSONField(default=list)
    origin_address = models.JSONField(null=True, blank=True)
    message = models.CharField(gettext_lazy("message"), max_length=1000, blank=True)
    version = VersionField()

    personal_fields = ("tracking_numbers", "tracking_urls", "origin_address", "message")
    non_personal_fields = ("name", "service", "shipment_status", "tracking_company")

    class Meta:
        verbose_name = gettext_lazy("fulfillment")
        verbose_name_plural = gettext_lazy("fulfillments")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("order", "number"), name="fulfillment_fulfillment_number_once_per_order"),
        )
        indexes = (
            models.Index(fields=("order", "id"), name="fulfillment_by_order"),
            models.Index(fields=("shop", "id"), name="fulfillment_by_shop"),
        )

    def __str__(self) -> str:
        return self.name


class FulfillmentLine(ShopOwned):
    fulfillment = models.ForeignKey(
        Fulfillment,
        on_delete=models.CASCADE,
        related_name="lines",
        db_index=False,
        verbose_name=gettext_lazy("fulfillment"),
    )
    fulfillment_order = models.ForeignKey(
        FulfillmentOrder,
        on_delete=models.CASCADE,
        related_name="sent_lines",
        verbose_name=gettext_lazy("fulfillment order"),
    )
    line_item = models.ForeignKey(
        LineItem, on_delete=models.CASCADE, related_name="sent_lines", verbose_name=gettext_lazy("line item")
    )
    quantity = models.PositiveIntegerField(gettext_lazy("quantity"))

    class Meta:
        verbose_name = gettext_lazy("fulfillment line item")
        verbose_name_plural = gettext_lazy("fulfillment line items")
        ordering = ("fulfillment", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("fulfillment", "fulfillment_order", "line_item"), name="fulfillment_line_once_per_order_line"
            ),
            models.CheckConstraint(
                condition=Q(quantity__gte=1), name="fulfillment_line_has_units", violation_error_code="quantity"
            ),
        )

    def __str__(self) -> str:
        return f"{self.quantity} of {self.line_item_id}"


class FulfillmentEvent(ShopOwned):
    class Status(models.TextChoices):
        LABEL_PURCHASED = "label_purchased", gettext_lazy("Label purchased")
        LABEL_PRINTED = "label_printed", gettext_lazy("Label printed")
        READY_FOR_PICKUP = "ready_for_pickup", gettext_lazy("Ready for pickup")
        CONFIRMED = "confirmed", gettext_lazy("Confirmed")
        IN_TRANSIT = "in_transit", gettext_lazy("In transit")
        OUT_FOR_DELIVERY = "out_for_delivery", gettext_lazy("Out for delivery")
        ATTEMPTED_DELIVERY = "attempted_delivery", gettext_lazy("Delivery attempted")
        DELIVERED = "delivered", gettext_lazy("Delivered")
        FAILURE = "failure", gettext_lazy("Delivery failed")
        PICKED_UP = "picked_up", gettext_lazy("Picked up")
        DELAYED = "delayed", gettext_lazy("Delayed")
        CARRIER_PICKED_UP = "carrier_picked_up", gettext_lazy("Picked up by the carrier")

    fulfillment = models.ForeignKey(
        Fulfillment,
        on_delete=models.CASCADE,
        related_name="events",
        db_index=False,
        verbose_name=gettext_lazy("fulfillment"),
    )
    status = models.CharField(gettext_lazy("status"), max_length=18, choices=Status)
    message = models.CharField(gettext_lazy("message"), max_length=1000, null=True, blank=True)
    happened_at = models.DateTimeField(gettext_lazy("happened at"))
    address1 = models.CharField(gettext_lazy("address"), max_length=255, null=True, blank=True)
    city = models.CharField(gettext_lazy("city"), max_length=255, null=True, blank=True)
    province = models.CharField(max_length=255, null=True, blank=True)
    country = models.CharField(gettext_lazy("country"), max_length=255, null=True, blank=True)
    zip = models.CharField(gettext_lazy("postal code"), max_length=50, null=True, blank=True)
    latitude = models.FloatField(null=True, blank=True)
    longitude = models.FloatField(null=True, blank=True)
    estimated_delivery_at = models.DateTimeField(gettext_lazy("estimated delivery at"), null=True, blank=True)

    personal_fields = ("message", "address1", "city", "province", "country", "zip")

    class Meta:
        verbose_name = gettext_lazy("fulfillment event")
        verbose_name_plural = gettext_lazy("fulfillment events")
        ordering = ("id",)
        indexes = (
            models.Index(fields=("fulfillment", "id"), name="fulfillment_event_by_parcel"),
            models.Index(fields=("fulfillment", "happened_at", "id"), name="fulfillment_event_by_time"),
        )

    def __str__(self) -> str:
        return self.get_status_display()

    @property
    def location_text(self) -> str:
        return ", ".join(part for part in (self.city, localize_country(None, self.country)) if part)
