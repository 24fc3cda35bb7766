"""Models for the delivery of webhooks: outbox, payloads, endpoints, deliveries and attempts."""

import uuid6
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from apps.core.events.models import Event
from apps.core.i18n.messages import MessageField, define_message, define_text
from apps.core.models import Timestamped
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned
from apps.webhooks.models.subscriptions import Subscription

# Why a call to a broker or an event bus failed (see ``apps.core.http.errors`` for calls to URLs).
NO_BROKER = define_text("amqp.no_broker", "no broker with this name is configured")
NO_QUEUE = define_text("amqp.no_queue", "no queue is bound to the routing key")
REJECTED = define_text("amqp.rejected", "the broker rejected the message")
NO_EXCHANGE = define_text("amqp.no_exchange", "the exchange does not exist on the broker")
NO_ACCESS = define_text("amqp.no_access", "write access to the exchange was denied")
NOT_AUTHENTICATED = define_text("amqp.not_authenticated", "authentication with the broker failed")
EVENTBRIDGE_REJECTED = define_message("webhooks.eventbridge_rejected", "EventBridge rejected the event: {code}")
NOT_CONFIGURED = define_text(
    "webhooks.not_configured",
    "this type of endpoint is no longer configured",
    gettext_lazy("This type of address is no longer configured"),
)
# Labels for the values of ``Delivery.error``.
ERROR_LABELS = {
    "bad_answer": gettext_lazy("The response could not be read"),
    "blocked_address": gettext_lazy("The address is not allowed"),
    "erased": gettext_lazy("Personal data was erased before the delivery was sent"),
    "internal": gettext_lazy("An internal error occurred"),
    "not_taken": gettext_lazy("The address rejected the delivery"),
    "payload_too_large": gettext_lazy("The payload is too large"),
    "reset": gettext_lazy("The address closed the connection"),
    "timeout": gettext_lazy("The address did not respond in time"),
    "tls": gettext_lazy("The secure connection (TLS) failed"),
    "too_large": gettext_lazy("The response is too large"),
    "unreachable": gettext_lazy("The address could not be reached"),
    "unsubscribed": gettext_lazy("The subscription was disabled or deleted before the delivery was sent"),
}
_STATUS = "status_"


def get_error_label(error: str) -> str:
    """Return the label of an error class, or the error class itself if it has no label."""
    if error.startswith(_STATUS):
        return gettext("The address responded with {status}").format(status=error.removeprefix(_STATUS))
    return str(ERROR_LABELS.get(error, error))


class Pending(ShopOwned):
    """An outbox entry for an event that has subscribers and waits for fan-out. Fan-out deletes the entry.

    Event rows are immutable, so the outbox is a separate table. Its rows are written in the event's transaction.
    """

    event = models.OneToOneField(Event, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("event"))
    metafields = models.JSONField(null=True)

    personal_fields = ("metafields",)

    class Meta:
        verbose_name = gettext_lazy("pending event")
        verbose_name_plural = gettext_lazy("pending events")
        indexes = (models.Index(fields=("shop", "id"), name="webhooks_pending_by_shop"),)

    def __str__(self) -> str:
        return f"event {self.event_id}"


class Host(Timestamped):
    """A server that deliveries are sent to, with the circuit breaker state that all processes share.

    Attributes:
        trips: How often the breaker has opened since the last success. Each trip doubles the pause.
        paused_until: The end of the pause. Until then, no requests are sent. After that, a single request probes the
            server.
    """

    name = models.CharField(max_length=255, unique=True)
    trips = models.PositiveSmallIntegerField(default=0)
    paused_until = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=255, blank=True)

    non_personal_fields = ("name", "last_error")

    def __str__(self) -> str:
        return self.name


class Endpoint(ShopOwned):
    """A URI that deliveries of one shop are sent to. Waiting deliveries are queued by endpoint.

    ``uri_digest`` is the SHA-256 digest of the URI, which is short enough for an index. ``domain.engine.rate_limits``
    maintains the limits. ``tokens`` is the level of the token bucket at the time ``tokens_at``.
    """

    uri = models.TextField(gettext_lazy("URI"))
    uri_digest = models.CharField(max_length=64)
    host = models.CharField(max_length=255)
    max_in_flight = models.PositiveSmallIntegerField(gettext_lazy("maximum concurrent deliveries"), default=10)
    max_per_second = models.PositiveSmallIntegerField(gettext_lazy("maximum deliveries per second"), null=True)
    tokens = models.FloatField(default=0.0, db_default=0.0)
    tokens_at = models.DateTimeField(null=True)

    non_personal_fields = ("uri", "uri_digest", "host")

    class Meta:
        verbose_name = gettext_lazy("endpoint")
        verbose_name_plural = gettext_lazy("endpoints")
        constraints = (models.UniqueConstraint(fields=("shop", "uri_digest"), name="webhooks_endpoint_once_per_shop"),)

    def __str__(self) -> str:
        return self.uri


class Payload(ShopOwned):
    """The request body of one or more deliveries. The body never changes.

    Deliveries of the same event share a payload if their bytes are equal. Erasing personal data clears ``body``.
    """

    event = models.ForeignKey(
        Event, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, verbose_name=gettext_lazy("event")
    )
    digest = models.CharField(max_length=64)
    body = models.BinaryField()

    personal_fields = ("body",)
    non_personal_fields = ("digest",)

    class Meta:
        verbose_name = gettext_lazy("payload")
        verbose_name_plural = gettext_lazy("payloads")
        constraints = (models.UniqueConstraint(fields=("event", "digest"), name="webhooks_payload_once_per_event"),)

    def __str__(self) -> str:
        return f"{self.digest[:12]} of event {self.event_id}"


class Delivery(ShopOwned):
    """A message to one endpoint: an event for a subscription, a test, or a call by another part of Backoffice.

    Attributes:
        key: The value of ``X-…-Webhook-Id``, derived from the event and subscription. All attempts and replays have the
            same value.
        ordering_key: The resource of the event if the subscription requires ordered delivery, otherwise blank.
        attempts: The number of attempts that were started.
        lease_until: The end of the lease. If ordered delivery has postponed a waiting delivery, the time at which the
            delivery was due.
        redelivery: True if the delivery was replayed after an earlier attempt.
        triggered_at: When the event happened.
        error: The class of the last failure, e.g. ``timeout`` or ``status_500``.
    """

    class State(models.TextChoices):
        DUE = "due", gettext_lazy("Waiting")
        RETRY = "retry", gettext_lazy("Waiting for retry")
        LEASED = "leased", gettext_lazy("Sending")
        DONE = "done", gettext_lazy("Delivered")
        DEAD = "dead", gettext_lazy("Failed")
        HELD = "held", gettext_lazy("Held (subscription paused or disabled)")
        CANCELLED = "cancelled", gettext_lazy("Canceled")

    class Kind(models.TextChoices):
        EVENT = "event", gettext_lazy("Event")
        TEST = "test", gettext_lazy("Test")
        CALL = "call", gettext_lazy("Notification")

    key = models.UUIDField(default=uuid6.uuid7, editable=False)
    kind = models.CharField(gettext_lazy("kind"), max_length=5, choices=Kind, default=Kind.EVENT)
    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="+", db_index=False, verbose_name=gettext_lazy("app")
    )
    subscription = models.ForeignKey(
        Subscription,
        on_delete=models.CASCADE,
        null=True,
        related_name="deliveries",
        db_index=False,
        verbose_name=gettext_lazy("subscription"),
    )
    event = models.ForeignKey(
        Event, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, verbose_name=gettext_lazy("event")
    )
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="+", db_index=False)
    # There is no database constraint, because payloads are deleted in separate batches and the database would check
    # each deletion.
    payload = models.ForeignKey(
        Payload, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    topic = models.CharField(gettext_lazy("topic"), max_length=100)
    api_version = models.CharField(max_length=10)
    ordering_key = models.CharField(max_length=100, blank=True)
    state = models.CharField(gettext_lazy("state"), max_length=10, choices=State, default=State.DUE)
    next_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveSmallIntegerField(default=0)
    redelivery = models.BooleanField(default=False)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    triggered_at = models.DateTimeField(gettext_lazy("triggered at"))
    first_attempt_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(gettext_lazy("finished at"), null=True)
    error = models.CharField(max_length=50, blank=True)

    non_personal_fields = ("topic", "api_version", "ordering_key", "error")

    class Meta:
        verbose_name = pgettext_lazy("webhook", "delivery")
        verbose_name_plural = gettext_lazy("deliveries")
        constraints = (
            models.UniqueConstraint(
                fields=("event", "subscription"), name="webhooks_delivery_once_per_event_and_subscription"
            ),
        )
        indexes = (
            models.Index(
                fields=("endpoint", "state", "next_at", "id"),
                condition=Q(state__in=("due", "retry")),
                name="webhooks_delivery_waiting",
            ),
            models.Index(fields=("lease_until",), condition=Q(state="leased"), name="webhooks_delivery_leased"),
            models.Index(
                fields=("subscription", "ordering_key", "event"),
                condition=Q(state__in=("due", "retry", "leased")) & ~Q(ordering_key=""),
                name="webhooks_delivery_event_order",
            ),
            models.Index(fields=("subscription", "state", "id"), name="webhooks_delivery_by_state"),
            models.Index(fields=("shop", "-id"), name="webhooks_delivery_by_shop"),
        )

    def __str__(self) -> str:
        return f"{self.topic} {self.key}"

    @property
    def problem(self) -> str:
        return get_error_label(self.error)


class Attempt(ShopOwned):
    """A call to an endpoint and the result. ``created_at`` is the start of the call.

    Attributes:
        outcome: The class of the result, e.g. ``ok``, ``status``, ``timeout``, ``connect``, ``tls``,
            ``blocked_address``.
        fenced: True if the lease had expired when the call ended, so that the result was ignored.
        queued_ms: Milliseconds from the due time to the start of the call. The other durations are measured from the
            start of the call.
    """

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="log")
    number = models.PositiveSmallIntegerField(gettext_lazy("number"))
    outcome = models.CharField(max_length=20)
    status = models.PositiveSmallIntegerField(gettext_lazy("status"), null=True)
    error = MessageField()
    fenced = models.BooleanField(default=False)
    queued_ms = models.PositiveIntegerField(default=0)
    connect_ms = models.PositiveIntegerField(null=True)
    first_byte_ms = models.PositiveIntegerField(null=True)
    total_ms = models.PositiveIntegerField(default=0)
    remote_ip = models.GenericIPAddressField(null=True)
    response_headers = models.JSONField(default=dict)
    excerpt = models.TextField(blank=True)

    personal_fields = ("response_headers", "excerpt")
    non_personal_fields = ("outcome", "error", "remote_ip")

    class Meta:
        verbose_name = gettext_lazy("attempt")
        verbose_name_plural = gettext_lazy("attempts")
        ordering = ("delivery", "number")

    def __str__(self) -> str:
        return f"attempt {self.number} of delivery {self.delivery_id}"

    @property
    def result(self) -> str:
        """Return the response status, or the label of the error if there was no response."""
        return str(self.status or get_error_label(self.outcome))
