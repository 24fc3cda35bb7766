"""Metrics for the webhook queue and for recent delivery attempts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q
from django.db.models.functions import Now

from apps.webhooks.models import Attempt, Delivery, DeliveryRun, Host, Pending, Subscription

# Count only unfinished deliveries. Otherwise, a dead letter would be counted until its retention period ends.
_UNFINISHED = (Delivery.State.DUE, Delivery.State.RETRY, Delivery.State.LEASED)
SAMPLE_PERIOD = timedelta(minutes=5)
DISABLED_PERIOD = timedelta(hours=1)
# The maximum number of recent attempts that are read.
SAMPLE_SIZE = 5000
QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class WebhookMetrics:
    """Metrics of webhook deliveries in all shops.

    Attributes:
        states: The numbers of unfinished deliveries by state.
        oldest_event_seconds: The age of the oldest event that waits for fan-out, or 0 if no event waits.
        oldest_due_seconds: How long the oldest due delivery has been due, or 0 if no delivery is due.
        recently_disabled_subscriptions: How many of the disabled subscriptions were disabled within the last hour.
        paused_hosts: The number of servers with an open circuit breaker.
        runs: The number of runs of the task ``webhooks.deliver``.
        outcomes: The numbers of attempts by outcome in the last five minutes, limited to the 5,000 newest attempts.
        fenced: How many of these attempts ended after their lease, so another process may have sent the delivery too.
        lags: The seconds from the event to recent first attempts, keyed by quantile, or {} if there are none.
    """

    states: dict[str, int]
    oldest_event_seconds: float
    oldest_due_seconds: float
    disabled_subscriptions: int
    recently_disabled_subscriptions: int
    paused_hosts: int
    runs: int
    outcomes: dict[str, int]
    fenced: int
    lags: dict[float, float]


def collect_webhook_metrics() -> WebhookMetrics:
    """Collect the metrics of all shops. Call this function in the all-shops scope."""
    counts_by_state = dict(
        Delivery.objects.filter(state__in=_UNFINISHED).order_by().values_list("state").annotate(number=Count("pk"))
    )
    oldest = Pending.objects.annotate(now=Now()).order_by("pk").values("now", "event__created_at").first()
    is_due = Q(state__in=(Delivery.State.DUE, Delivery.State.RETRY), next_at__lte=Now())
    first_due = Delivery.objects.filter(is_due).annotate(now=Now()).order_by("next_at").values("now", "next_at").first()
    attempts = _get_recent_attempts()
    disabled = Subscription.objects.filter(state=Subscription.State.DISABLED, deleted_at=None).aggregate(
        all=Count("pk"), recent=Count("pk", filter=Q(state_changed_at__gt=Now() - DISABLED_PERIOD))
    )
    return WebhookMetrics(
        {state.value: counts_by_state.get(state.value, 0) for state in _UNFINISHED},
        (oldest["now"] - oldest["event__created_at"]).total_seconds() if oldest else 0.0,
        (first_due["now"] - first_due["next_at"]).total_seconds() if first_due else 0.0,
        disabled["all"],
        disabled["recent"],
        Host.objects.filter(paused_until__gt=Now()).count(),
        DeliveryRun.objects.filter(lease_until__gt=Now()).count(),
        dict(Counter(row.outcome for row in attempts)),
        sum(row.fenced for row in attempts),
        _quantiles([row.created_at - row.delivery.triggered_at for row in attempts if row.number == 1]),
    )


def _get_recent_attempts() -> list[Attempt]:
    newest = Attempt.objects.annotate(now=Now()).select_related("delivery").order_by("-pk")
    sample = newest.only("outcome", "fenced", "number", "created_at", "delivery__triggered_at")
    return [row for row in sample[:SAMPLE_SIZE] if row.created_at > row.now - SAMPLE_PERIOD]


def _quantiles(lags: Sequence[timedelta]) -> dict[float, float]:
    seconds = sorted(max(lag.total_seconds(), 0.0) for lag in lags)
    return {share: seconds[min(int(share * len(seconds)), len(seconds) - 1)] for share in QUANTILES if seconds}
