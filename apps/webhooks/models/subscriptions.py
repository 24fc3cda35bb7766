"""Models for webhook subscriptions and their health."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy, gettext_noop

from apps.core.i18n.error_messages import INVALID
from apps.core.i18n.messages import MessageField, decode
from apps.core.models import Timestamped, VersionField
from apps.core.tenancy.models import App, Shop
from apps.core.tenancy.shop_owned import ShopOwned

MAX_NAME = 50
MAX_IN_FLIGHT = 50
MAX_PER_SECOND = 1000

ADDRESS_TAKEN_MESSAGE = gettext_noop("for this topic has already been taken")
NAME_TAKEN_MESSAGE = gettext_noop("already exists, no duplicate allowed")


class Subscription(ShopOwned):
    """A webhook subscription, which sends the events of a topic to a URI of an app.

    A subscription of origin ``config`` has no shop and covers every shop that has the app. Queries in a shop's scope
    return only the shop's own subscriptions. Code that also needs configured subscriptions uses ``all_shops_scope()``
    and filters by shop and app.

    The row of a deleted subscription remains as long as the subscription has deliveries.

    Attributes:
        key_digest: The SHA-256 digest of the URI, format and filter. The digest must be unique per topic.
        warnings: Warnings about the filter and the selected fields, as ``[{field, code, params}]``.
        reason: Why the subscription is disabled or paused. Staff see the reason.
        removed_by_uninstalling: True if uninstalling the app deleted the subscription, which then still receives the
            event ``app/uninstalled``.
    """

    class Origin(models.TextChoices):
        API = "api", gettext_lazy("Created by the app for this shop")
        CONFIG = "config", gettext_lazy("From the app's configuration file, for all shops")

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
        gettext_lazy("ordered"), default=False, help_text=gettext_lazy("Deliver each resource's events in order.")
    )
    max_in_flight = models.PositiveSmallIntegerField(
        gettext_lazy("maximum concurrent deliveries"),
        default=10,
        validators=(MinValueValidator(1), MaxValueValidator(MAX_IN_FLIGHT)),
    )
    max_per_second = models.PositiveSmallIntegerField(
        gettext_lazy("maximum deliveries per second"),
        null=True,
        blank=True,
        validators=(MinValueValidator(1), MaxValueValidator(MAX_PER_SECOND)),
    )
    state = models.CharField(gettext_lazy("state"), max_length=10, choices=State, default=State.LIVE, editable=False)
    reason = MessageField(editable=False)
    state_changed_at = models.DateTimeField(null=True, editable=False)
    warnings = models.JSONField(default=list, editable=False)
    key_digest = models.CharField(max_length=64, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)
    removed_by_uninstalling = models.BooleanField(default=False, editable=False)
    version = VersionField()

    non_personal_fields = (
        "topic",
        "uri",
        "filter",
        "include_fields",
        "metafield_namespaces",
        "private_metafield_namespaces",
        "metafields",
        "name",
        "api_version",
        "reason",
        "warnings",
        "key_digest",
    )

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
                violation_error_message=ADDRESS_TAKEN_MESSAGE,
                violation_error_code="uri",
            ),
            models.UniqueConstraint(
                fields=("app", "topic", "key_digest"),
                condition=Q(deleted_at=None, origin="config"),
                name="webhooks_subscription_once_per_app",
                violation_error_message=ADDRESS_TAKEN_MESSAGE,
                violation_error_code="uri",
            ),
            models.UniqueConstraint(
                fields=("shop", "app", "name"),
                condition=Q(deleted_at=None, origin="api", name__isnull=False),
                name="webhooks_subscription_name_once_per_shop",
                violation_error_message=NAME_TAKEN_MESSAGE,
                violation_error_code="name",
            ),
            models.UniqueConstraint(
                fields=("app", "topic", "name"),
                condition=Q(deleted_at=None, origin="config", name__isnull=False),
                name="webhooks_subscription_name_once_per_app",
                violation_error_message=NAME_TAKEN_MESSAGE,
                violation_error_code="name",
            ),
        )
        indexes = (models.Index(fields=("shop", "app", "id"), name="webhooks_subscription_by_app"),)

    def __str__(self) -> str:
        return f"{self.topic} → {self.uri}"

    @property
    def event_label(self) -> str:
        """Return the label of the subscription in the audit log."""
        return str(self)[:255]


def decode_warnings(warnings: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return stored warnings as ``{field, message}``."""
    return [{"field": warning["field"], "message": decode(warning)} for warning in warnings]


class Health(Timestamped):
    """Results of a subscription's recent deliveries, in a separate table so that subscription rows rarely change.

    Attributes:
        failing_since: The time of the first failure after the last success.
        dead_in_a_row: The number of dead letters since the last success.
        warned: The stage of the last warning email: 50, 75 or 100 percent, or 0 if no email was sent.
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
    last_error = MessageField()

    non_personal_fields = ("last_error",)

    def __str__(self) -> str:
        return f"health of {self.subscription_id}"
