"""What is to be told, to whom, and what became of it."""

import uuid6
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from apps.events.models import Event
from apps.ground.rows import ShopOwned, Timestamped
from apps.shops.models import App
from apps.webhooks.models.subscriptions import Subscription

# What people read for the classes of failures.
PROBLEMS = {
    "bad_answer": gettext_lazy("The answer cannot be read"),
    "blocked_address": gettext_lazy("The address is not allowed"),
    "erased": gettext_lazy("Personal data was erased before it was sent"),
    "internal": gettext_lazy("Something went wrong on our side"),
    "not_taken": gettext_lazy("The destination did not take it"),
    "payload_too_large": gettext_lazy("The payload is too large"),
    "reset": gettext_lazy("The receiver broke off the connection"),
    "timeout": gettext_lazy("No answer came in time"),
    "tls": gettext_lazy("No secure connection (TLS)"),
    "too_large": gettext_lazy("The answer is too large"),
    "unreachable": gettext_lazy("The receiver cannot be reached"),
    "unsubscribed": gettext_lazy("The subscription was switched off or removed before it was sent"),
}
_STATUS = "status_"


def problem_of(error: str) -> str:
    """What people read for the class of a failure; the class itself where there are no words for it."""
    if error.startswith(_STATUS):
        return gettext("The receiver answered {status}").format(status=error.removeprefix(_STATUS))
    return str(PROBLEMS.get(error, error))


class Pending(ShopOwned):
    """An event that somebody listens to and that fan-out has not seen yet; gone once it has.

    Event rows are never changed, so the mark is a row of its own, written in the event's transaction.
    """

    event = models.OneToOneField(Event, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("event"))
    metafields = models.JSONField(null=True)

    class Meta:
        verbose_name = gettext_lazy("pending")
        verbose_name_plural = gettext_lazy("pendings")
        indexes = (models.Index(fields=("shop", "id"), name="webhooks_pending_by_shop"),)

    def __str__(self) -> str:
        return f"event {self.event_id}"


class Host(Timestamped):
    """A server that deliveries go to, and its breaker, which all processes know of.

    Attributes:
        trips: How often the breaker opened since the last success; the pause doubles each time.
        paused_until: Until when nothing is sent but a single probe after it.
    """

    name = models.CharField(max_length=255, unique=True)
    trips = models.PositiveSmallIntegerField(default=0)
    paused_until = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=255, blank=True)

    def __str__(self) -> str:
        return self.name


class Endpoint(ShopOwned):
    """A URI that deliveries of one shop go to: the lane in which they wait.

    ``uri_digest`` is its SHA-256, which an index can hold. The limits are those of ``domain.engine.pacing``, whose
    bucket held ``tokens`` at ``tokens_at``.
    """

    uri = models.TextField(gettext_lazy("URI"))
    uri_digest = models.CharField(max_length=64)
    host = models.CharField(max_length=255)
    max_in_flight = models.PositiveSmallIntegerField(gettext_lazy("max in flight"), default=10)
    max_per_second = models.PositiveSmallIntegerField(gettext_lazy("max per second"), null=True)
    tokens = models.FloatField(default=0.0, db_default=0.0)
    tokens_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = gettext_lazy("endpoint")
        verbose_name_plural = gettext_lazy("endpoints")
        constraints = (models.UniqueConstraint(fields=("shop", "uri_digest"), name="webhooks_endpoint_once_per_shop"),)

    def __str__(self) -> str:
        return self.uri


class Payload(ShopOwned):
    """The bytes of an event as some subscriptions get them; frozen, and shared where they are the same.

    ``body`` is empty once it was erased.
    """

    event = models.ForeignKey(
        Event, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, verbose_name=gettext_lazy("event")
    )
    digest = models.CharField(max_length=64)
    body = models.BinaryField()

    class Meta:
        verbose_name = gettext_lazy("payload")
        verbose_name_plural = gettext_lazy("payloads")
        constraints = (models.UniqueConstraint(fields=("event", "digest"), name="webhooks_payload_once_per_event"),)

    def __str__(self) -> str:
        return f"{self.digest[:12]} of event {self.event_id}"


class Delivery(ShopOwned):
    """One thing to tell to one endpoint: an event to a subscription, a test, a call that another app of ours makes.

    Attributes:
        key: ``X-…-Webhook-Id``: made of event and subscription, and the same in every attempt and replay.
        ordering_key: The resource, where the subscription wants its events in order; else blank.
        attempts: How many were begun.
        redelivery: Whether it was sent before and goes out once more because somebody asked.
        triggered_at: When what it tells of happened.
        error: The class of the last failure, e.g. ``timeout`` or ``status_500``.
    """

    class State(models.TextChoices):
        DUE = "due", gettext_lazy("Waiting for its first attempt")
        RETRY = "retry", gettext_lazy("Waiting for another attempt")
        LEASED = "leased", gettext_lazy("Being sent")
        DONE = "done", gettext_lazy("Delivered")
        DEAD = "dead", gettext_lazy("Given up")
        HELD = "held", gettext_lazy("Held: the subscription is paused or disabled")
        CANCELLED = "cancelled", gettext_lazy("Cancelled")

    class Kind(models.TextChoices):
        EVENT = "event", gettext_lazy("Event")
        TEST = "test", gettext_lazy("Test")
        CALL = "call", gettext_lazy("Call")

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
    # Bytes go later than what they were sent in, in steps of their own: no constraint looks for it at each.
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
                fields=("subscription", "ordering_key", "id"),
                condition=Q(state__in=("due", "retry", "leased")) & ~Q(ordering_key=""),
                name="webhooks_delivery_in_order",
            ),
            models.Index(fields=("subscription", "state", "id"), name="webhooks_delivery_by_state"),
            models.Index(fields=("shop", "-id"), name="webhooks_delivery_by_shop"),
        )

    def __str__(self) -> str:
        return f"{self.topic} {self.key}"

    @property
    def problem(self) -> str:
        """The last failure in words; blank for none."""
        return problem_of(self.error)


class Attempt(ShopOwned):
    """One HTTP call, and how it ended. ``created_at`` is when it began.

    Attributes:
        outcome: Its class, e.g. ``ok``, ``status``, ``timeout``, ``connect``, ``tls``, ``blocked_address``.
        fenced: Whether its lease had run out when it ended, so that it changed nothing.
        queued_ms: From the moment it was due to its beginning; the other times count from the beginning.
    """

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="log")
    number = models.PositiveSmallIntegerField(gettext_lazy("number"))
    outcome = models.CharField(max_length=20)
    status = models.PositiveSmallIntegerField(gettext_lazy("status"), null=True)
    error = models.CharField(max_length=255, blank=True)
    fenced = models.BooleanField(default=False)
    queued_ms = models.PositiveIntegerField(default=0)
    connect_ms = models.PositiveIntegerField(null=True)
    first_byte_ms = models.PositiveIntegerField(null=True)
    total_ms = models.PositiveIntegerField(default=0)
    remote_ip = models.GenericIPAddressField(null=True)
    response_headers = models.JSONField(default=dict)
    excerpt = models.TextField(blank=True)

    class Meta:
        verbose_name = gettext_lazy("attempt")
        verbose_name_plural = gettext_lazy("attempts")
        ordering = ("delivery", "number")

    def __str__(self) -> str:
        return f"attempt {self.number} of delivery {self.delivery_id}"

    @property
    def result(self) -> str:
        """The status of the answer, or in words why there was none."""
        return str(self.status or problem_of(self.outcome))
