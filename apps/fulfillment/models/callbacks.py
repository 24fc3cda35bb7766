"""Hourly requests to fulfillment services and their results. Notifications to services are webhook deliveries."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.fulfillment.models.services import FulfillmentService
from apps.ground.base_models import ShopOwned


class Pull(ShopOwned):
    """An hourly request to a service, for stock or for tracking numbers.

    Attributes:
        next_at: The time at which the next round begins.
        round: The number of rounds that have begun. Results of an earlier round are ignored.
        attempt: The number of the round's next attempt.
    """

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
    """One call for stock or tracking numbers, with its result.

    Attributes:
        number: The attempt's number within its round.
        url: The requested URL, including the query string.
        outcome: ``ok``, ``bad_answer``, ``status``, ``timeout``, ``unreachable``, ``blocked_address`` …
        changed: The number of rows that the response changed.
        message: A description of the problem or of ignored data, otherwise blank.
        excerpt: The beginning of the response.
    """

    service = models.ForeignKey(FulfillmentService, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=8, choices=Pull.Kind)
    number = models.PositiveSmallIntegerField()
    url = models.TextField("URL")
    outcome = models.CharField(max_length=20)
    status = models.PositiveSmallIntegerField(null=True)
    changed = models.PositiveIntegerField(default=0)
    message = models.CharField(max_length=1000, blank=True)
    excerpt = models.TextField(blank=True)
    total_ms = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("service", "-id"), name="fulfillment_pull_by_service"),
            models.Index(fields=("created_at",), name="fulfillment_pull_by_age"),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.service_id}: {self.outcome}"
