"""Fulfillment orders: the items of an order to be fulfilled from one location, with holds and requests."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy

from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned
from apps.inventory.models import Location
from apps.orders.models import LineItem, Order


class Status(models.TextChoices):
    OPEN = "open", gettext_lazy("Open")
    IN_PROGRESS = "in_progress", gettext_lazy("In progress")
    SCHEDULED = "scheduled", gettext_lazy("Scheduled")
    ON_HOLD = "on_hold", gettext_lazy("On hold")
    INCOMPLETE = "incomplete", gettext_lazy("Incomplete")
    CANCELLED = "cancelled", gettext_lazy("Canceled")
    CLOSED = "closed", gettext_lazy("Closed")


class RequestStatus(models.TextChoices):
    UNSUBMITTED = "unsubmitted", gettext_lazy("Not requested")
    SUBMITTED = "submitted", gettext_lazy("Requested")
    ACCEPTED = "accepted", gettext_lazy("Accepted")
    REJECTED = "rejected", gettext_lazy("Rejected")
    CANCELLATION_REQUESTED = "cancellation_requested", gettext_lazy("Cancellation requested")
    CANCELLATION_ACCEPTED = "cancellation_accepted", gettext_lazy("Cancellation accepted")
    CANCELLATION_REJECTED = "cancellation_rejected", gettext_lazy("Cancellation rejected")
    CLOSED = "closed", gettext_lazy("Closed by the service")


_BEFORE_ACCEPTANCE = (RequestStatus.UNSUBMITTED, RequestStatus.SUBMITTED, RequestStatus.REJECTED)
_IN_PROGRESS = (
    RequestStatus.UNSUBMITTED,
    RequestStatus.ACCEPTED,
    RequestStatus.CANCELLATION_REQUESTED,
    RequestStatus.CANCELLATION_REJECTED,
)
# All combinations of status and request status that the state table in ``domain.states`` allows.
STATES: dict[Status, tuple[RequestStatus, ...]] = {
    Status.OPEN: _BEFORE_ACCEPTANCE,
    Status.SCHEDULED: (RequestStatus.UNSUBMITTED,),
    Status.ON_HOLD: _BEFORE_ACCEPTANCE,
    Status.IN_PROGRESS: _IN_PROGRESS,
    Status.INCOMPLETE: (RequestStatus.CLOSED,),
    Status.CANCELLED: (RequestStatus.CANCELLATION_ACCEPTED,),
    Status.CLOSED: tuple(dict.fromkeys((*_BEFORE_ACCEPTANCE, *_IN_PROGRESS))),
}
# The statuses with items still to be fulfilled.
UNFINISHED = (Status.OPEN, Status.SCHEDULED, Status.ON_HOLD, Status.IN_PROGRESS)
# The due date is the deadline, otherwise the scheduled start, otherwise the time of creation.
DUE = Coalesce("fulfill_by", "fulfill_at", "created_at")


def _is_possible_state() -> Q:
    condition = Q()
    for status, requests in STATES.items():
        condition |= Q(status=status.value, request_status__in=[request.value for request in requests])
    return condition


class FulfillmentOrder(ShopOwned):
    """The items of an order that one location fulfills. An order can have several fulfillment orders per location.

    Splits, moves and cancellations create additional fulfillment orders for the affected items. Only modules in
    ``domain`` change the two statuses, and they lock the order first.
    """

    class Method(models.TextChoices):
        LOCAL = "local", gettext_lazy("Local delivery")
        NONE = "none", gettext_lazy("Nothing to ship")
        PICK_UP = "pick_up", gettext_lazy("Pickup")
        RETAIL = "retail", gettext_lazy("In store")
        SHIPPING = "shipping", gettext_lazy("Shipping")

    order = models.ForeignKey(
        Order,
        on_delete=models.CASCADE,
        related_name="fulfillment_orders",
        db_index=False,
        verbose_name=gettext_lazy("order"),
    )
    assigned_location = models.ForeignKey(
        Location,
        on_delete=models.RESTRICT,
        related_name="fulfillment_orders",
        db_index=False,
        verbose_name=gettext_lazy("assigned location"),
    )
    status = models.CharField(
        gettext_lazy("status"), max_length=11, choices=Status, default=Status.OPEN, editable=False
    )
    request_status = models.CharField(
        max_length=22, choices=RequestStatus, default=RequestStatus.UNSUBMITTED, editable=False
    )
    fulfill_at = models.DateTimeField(
        gettext_lazy("fulfill at"),
        null=True,
        blank=True,
        help_text=gettext_lazy("The items can be fulfilled from this time on."),
    )
    fulfill_by = models.DateTimeField(
        gettext_lazy("fulfill by"), null=True, blank=True, help_text=gettext_lazy("The deadline for fulfillment.")
    )
    method_type = models.CharField(max_length=8, choices=Method, default=Method.SHIPPING, editable=False)
    presented_name = models.CharField(max_length=255, blank=True, editable=False)
    service_code = models.CharField(max_length=255, blank=True, editable=False)
    source_reference = models.CharField(max_length=255, blank=True, editable=False)
    version = VersionField()

    non_personal_fields = ("presented_name", "service_code", "source_reference")

    # The hold that the current event describes. This attribute is not stored in the database.
    event_hold: "FulfillmentHold | None" = None

    class Meta:
        verbose_name = gettext_lazy("fulfillment order")
        verbose_name_plural = gettext_lazy("fulfillment orders")
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=_is_possible_state(),
                name="fulfillment_order_state_is_possible",
                violation_error_code="status",
            ),
        )
        indexes = (
            models.Index(fields=("order", "id"), name="fulfillment_order_by_order"),
            models.Index(fields=("assigned_location", "status", "id"), name="fulfillment_order_by_location"),
            # The index for the fulfillment queue: sorted by due date, including the columns of the filters.
            models.Index(
                "shop",
                DUE,
                "id",
                "status",
                "request_status",
                "assigned_location",
                "fulfill_by",
                name="fulfillment_order_work",
                condition=Q(status__in=[status.value for status in UNFINISHED]),
            ),
            models.Index(fields=("shop", "id"), name="fulfillment_order_by_shop"),
        )

    def __str__(self) -> str:
        return f"#{self.pk}"

    @property
    def is_unfinished(self) -> bool:
        return self.status in UNFINISHED


class FulfillmentOrderLine(ShopOwned):
    fulfillment_order = models.ForeignKey(
        FulfillmentOrder,
        on_delete=models.CASCADE,
        related_name="lines",
        db_index=False,
        verbose_name=gettext_lazy("fulfillment order"),
    )
    line_item = models.ForeignKey(
        LineItem,
        on_delete=models.CASCADE,
        related_name="fulfillment_order_lines",
        verbose_name=gettext_lazy("line item"),
    )
    quantity = models.PositiveIntegerField(gettext_lazy("quantity"))
    fulfilled_quantity = models.PositiveIntegerField(gettext_lazy("fulfilled quantity"), default=0)
    fulfillable_quantity = models.PositiveIntegerField(gettext_lazy("fulfillable quantity"))

    history_owners = ("fulfillment_order",)
    unrecorded_fields = ("fulfilled_quantity", "fulfillable_quantity")

    class Meta:
        verbose_name = gettext_lazy("fulfillment order line item")
        verbose_name_plural = gettext_lazy("fulfillment order line items")
        ordering = ("fulfillment_order", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("fulfillment_order", "line_item"), name="fulfillment_orderline_once_per_line_item"
            ),
            models.CheckConstraint(
                condition=Q(quantity__gte=1), name="fulfillment_orderline_has_units", violation_error_code="quantity"
            ),
            models.CheckConstraint(
                condition=Q(quantity=F("fulfilled_quantity") + F("fulfillable_quantity")),
                name="fulfillment_orderline_units_add_up",
                violation_error_code="quantity",
            ),
        )

    def __str__(self) -> str:
        return f"{self.quantity} of {self.line_item_id}"

    @property
    def history_label(self) -> str:
        """Return the item's name if the line item is loaded, or else its ID."""
        line_item = self._state.fields_cache.get("line_item")
        return line_item.name if line_item else f"#{self.line_item_id}"


class FulfillmentHold(ShopOwned):
    class Reason(models.TextChoices):
        AWAITING_PAYMENT = "awaiting_payment", gettext_lazy("Awaiting payment")
        HIGH_RISK_OF_FRAUD = "high_risk_of_fraud", gettext_lazy("High risk of fraud")
        INCORRECT_ADDRESS = "incorrect_address", gettext_lazy("Incorrect address")
        INVENTORY_OUT_OF_STOCK = "inventory_out_of_stock", gettext_lazy("Out of stock")
        UNKNOWN_DELIVERY_DATE = "unknown_delivery_date", gettext_lazy("Unknown delivery date")
        AWAITING_RETURN_ITEMS = "awaiting_return_items", gettext_lazy("Awaiting returned items")
        OTHER = "other", gettext_lazy("Another reason")

    fulfillment_order = models.ForeignKey(
        FulfillmentOrder, on_delete=models.CASCADE, related_name="holds", verbose_name=gettext_lazy("fulfillment order")
    )
    reason = models.CharField(gettext_lazy("reason"), max_length=22, choices=Reason)
    reason_notes = models.CharField(max_length=1000, blank=True)
    actor = models.CharField(gettext_lazy("actor"), max_length=100)

    history_owners = ("fulfillment_order",)
    personal_fields = ("reason_notes",)
    non_personal_fields = ("actor",)

    class Meta:
        verbose_name = gettext_lazy("fulfillment hold")
        verbose_name_plural = gettext_lazy("fulfillment holds")
        ordering = ("id",)

    def __str__(self) -> str:
        return self.get_reason_display()


class MerchantRequest(ShopOwned):
    """A request from the shop to a fulfillment service, with the service's response."""

    class Kind(models.TextChoices):
        FULFILLMENT = "fulfillment_request", gettext_lazy("Fulfillment")
        CANCELLATION = "cancellation_request", gettext_lazy("Cancellation")

    class Answer(models.TextChoices):
        NONE = "", gettext_lazy("None yet")
        ACCEPTED = "accepted", gettext_lazy("Accepted")
        REJECTED = "rejected", gettext_lazy("Rejected")

    fulfillment_order = models.ForeignKey(
        FulfillmentOrder,
        on_delete=models.CASCADE,
        related_name="requests",
        verbose_name=gettext_lazy("fulfillment order"),
    )
    kind = models.CharField(gettext_lazy("kind"), max_length=20, choices=Kind)
    message = models.CharField(gettext_lazy("message"), max_length=1000, blank=True)
    notify_customer = models.BooleanField(gettext_lazy("notify customer"), default=False)
    sent_at = models.DateTimeField()
    answer = models.CharField(max_length=8, choices=Answer, blank=True)
    answer_message = models.CharField(max_length=1000, blank=True)
    answer_reason = models.CharField(max_length=255, blank=True)
    line_messages = models.JSONField(default=list)

    personal_fields = ("message", "answer_message", "answer_reason", "line_messages")

    class Meta:
        verbose_name = gettext_lazy("merchant request")
        verbose_name_plural = gettext_lazy("merchant requests")
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.fulfillment_order_id}"

    @property
    def answer_reason_label(self) -> str:
        return str(dict(FulfillmentHold.Reason.choices).get(self.answer_reason, self.answer_reason))
