"""Subscriptions: which events an app wants to hear of, and where."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy, gettext_noop

from apps.ground.phrases import INVALID
from apps.ground.rows import ShopOwned, Timestamped, VersionField
from apps.shops.models import App, Shop

MAX_URI = 4096
MAX_NAME = 50
MAX_IN_FLIGHT = 50
MAX_PER_SECOND = 1000

ADDRESS_TAKEN = gettext_noop("for this topic has already been taken")
NAME_TAKEN = gettext_noop("already exists, no duplicate allowed")


class Subscription(ShopOwned):
    """A wish to be told of a topic.

    One of origin ``config`` has no shop: it holds for every shop that has the app. Queries in a shop's scope see the
    shop's own only; whoever needs both says ``every_shop()`` and names the shop and the app.

    A deleted one stays as a row for as long as its deliveries do.

    Attributes:
        max_in_flight: How many calls may be under way at once.
        max_per_second: How many calls may begin in a second; None: as many as come.
        key_digest: SHA-256 of URI, format and filter, which together with the topic may stand once; see
            ``domain.subscriptions``.
        warnings: What was noticed when it was saved: ``[{field, message}]``.
        reason: Why it is disabled or paused, for people.
        removed_by_uninstalling: Whether it went with its app; it then still hears that the app was uninstalled.
    """

    class Origin(models.TextChoices):
        API = "api", gettext_lazy("Made by the app for this shop")
        CONFIG = "config", gettext_lazy("From the app's configuration file, for all its shops")

    class Format(models.TextChoices):
        JSON = "json", gettext_lazy("JSON")
        XML = "xml", gettext_lazy("XML")

    class State(models.TextChoices):
        LIVE = "live", gettext_lazy("Live")
        PAUSED = "paused", gettext_lazy("Paused")
        DISABLED = "disabled", gettext_lazy("Disabled")

    shop: "models.ForeignKey[Shop | None, Shop | None]" = models.ForeignKey(  # type: ignore[assignment]
        Shop, on_delete=models.CASCADE, related_name="+", editable=False, null=True
    )
    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="+", editable=False, verbose_name=gettext_lazy("app")
    )
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.API, editable=False)
    topic = models.CharField(gettext_lazy("topic"), max_length=100)
    uri = models.TextField(gettext_lazy("URI"))
    format = models.CharField(max_length=4, choices=Format, default=Format.JSON)
    filter = models.TextField(gettext_lazy("filter"), blank=True)
    include_fields = models.JSONField(default=list, blank=True)
    metafield_namespaces = models.JSONField(default=list, blank=True)
    private_metafield_namespaces = models.JSONField(default=list, blank=True)
    metafields = models.JSONField(default=list, blank=True)
    name = models.CharField(max_length=MAX_NAME, null=True, blank=True)
    api_version = models.CharField(gettext_lazy("API version"), max_length=10)
    ordered = models.BooleanField(
        gettext_lazy("ordered"),
        default=False,
        help_text=gettext_lazy("One resource's events go out one after another."),
    )
    max_in_flight = models.PositiveSmallIntegerField(
        gettext_lazy("max in flight"), default=10, validators=(MinValueValidator(1), MaxValueValidator(MAX_IN_FLIGHT))
    )
    max_per_second = models.PositiveSmallIntegerField(
        gettext_lazy("max per second"),
        null=True,
        blank=True,
        validators=(MinValueValidator(1), MaxValueValidator(MAX_PER_SECOND)),
    )
    state = models.CharField(gettext_lazy("state"), max_length=10, choices=State, default=State.LIVE, editable=False)
    reason = models.TextField(blank=True, editable=False)
    state_changed_at = models.DateTimeField(null=True, editable=False)
    warnings = models.JSONField(default=list, editable=False)
    key_digest = models.CharField(max_length=64, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)
    removed_by_uninstalling = models.BooleanField(default=False, editable=False)
    version = VersionField()

    class Meta:
        ordering = ("id",)
        verbose_name = gettext_lazy("webhook subscription")
        constraints = (
            models.CheckConstraint(
                condition=Q(origin="config", shop=None) | Q(origin="api", shop__isnull=False),
                name="webhooks_subscription_config_holds_for_all_shops",
                violation_error_message=INVALID,
            ),
            models.CheckConstraint(
                condition=Q(max_in_flight__range=(1, MAX_IN_FLIGHT)),
                name="webhooks_subscription_in_flight_1_to_50",
                violation_error_message=INVALID,
            ),
            models.UniqueConstraint(
                fields=("shop", "app", "topic", "key_digest"),
                condition=Q(deleted_at=None, origin="api"),
                name="webhooks_subscription_once_per_shop",
                violation_error_message=ADDRESS_TAKEN,
                violation_error_code="uri",
            ),
            models.UniqueConstraint(
                fields=("app", "topic", "key_digest"),
                condition=Q(deleted_at=None, origin="config"),
                name="webhooks_subscription_once_per_app",
                violation_error_message=ADDRESS_TAKEN,
                violation_error_code="uri",
            ),
            models.UniqueConstraint(
                fields=("shop", "app", "name"),
                condition=Q(deleted_at=None, origin="api", name__isnull=False),
                name="webhooks_subscription_name_once_per_shop",
                violation_error_message=NAME_TAKEN,
                violation_error_code="name",
            ),
            models.UniqueConstraint(
                fields=("app", "topic", "name"),
                condition=Q(deleted_at=None, origin="config", name__isnull=False),
                name="webhooks_subscription_name_once_per_app",
                violation_error_message=NAME_TAKEN,
                violation_error_code="name",
            ),
        )
        indexes = (models.Index(fields=("shop", "app", "id"), name="webhooks_subscription_by_app"),)

    def __str__(self) -> str:
        return f"{self.topic} → {self.uri}"

    @property
    def is_live(self) -> bool:
        """Whether its deliveries go out."""
        return self.state == self.State.LIVE and self.deleted_at is None

    @property
    def event_label(self) -> str:
        """How the audit trail names it."""
        return f"{self.topic} → {self.uri}"[:255]


class Health(Timestamped):
    """What became of a subscription's deliveries lately; apart from the subscription, whose row must not be busy.

    Attributes:
        failing_since: When the first failure after the last success was.
        dead_in_a_row: Deliveries whose attempts were used up, since the last success.
        warned: The stage of the last warning that was mailed: 50, 75, 100 per cent, or 0.
    """

    subscription = models.OneToOneField(
        Subscription,
        on_delete=models.CASCADE,
        related_name="health",
        primary_key=True,
        verbose_name=gettext_lazy("subscription"),
    )
    last_success_at = models.DateTimeField(null=True)
    last_failure_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    dead_in_a_row = models.PositiveIntegerField(default=0)
    warned = models.PositiveSmallIntegerField(default=0)
    filter_errors = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=255, blank=True)

    def __str__(self) -> str:
        return f"health of {self.subscription_id}"
