"""How much waits to be told, and how telling went lately, for what watches the installation."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q
from django.db.models.functions import Now

from apps.webhooks.models import Attempt, Delivery, Host, Pending, Subscription

# What is not over, one way or another; deliveries that were given up stay until their retention ends.
_TOLD = (Delivery.State.DUE, Delivery.State.RETRY, Delivery.State.LEASED)
LATELY = timedelta(minutes=5)
# Of what happened lately as many of the newest attempts are looked at.
SAMPLE = 5000
QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Figures:
    """Of all shops.

    Attributes:
        states: How many deliveries are ``due``, wait for another attempt (``retry``) or are being sent (``leased``).
        oldest_event_seconds: How long the oldest event that nobody has made deliveries of has waited; 0 without one.
        oldest_due_seconds: How long the delivery that should have gone out first has waited; 0 where none is due.
        disabled_subscriptions: How many subscriptions are switched off.
        paused_hosts: How many servers are left alone at this moment, as they did not answer.
        outcomes: Of the attempts of the last five minutes, the newest 5,000 at most, how many ended how.
        fenced: How many of these ended after their lease had, so that another process may have sent the same.
        lags: By quantile the seconds from what happened to the first attempt to tell of it, of the same attempts;
            empty where there was none.
    """

    states: dict[str, int]
    oldest_event_seconds: float
    oldest_due_seconds: float
    disabled_subscriptions: int
    paused_hosts: int
    outcomes: dict[str, int]
    fenced: int
    lags: dict[float, float]


def figures() -> Figures:
    """Count them; call it with every shop in sight."""
    counted = dict(
        Delivery.objects.filter(state__in=_TOLD).order_by().values_list("state").annotate(number=Count("pk"))
    )
    oldest = Pending.objects.annotate(now=Now()).order_by("pk").values("now", "event__created_at").first()
    due = Q(state__in=(Delivery.State.DUE, Delivery.State.RETRY), next_at__lte=Now())
    first_due = Delivery.objects.filter(due).annotate(now=Now()).order_by("next_at").values("now", "next_at").first()
    lately = _lately()
    return Figures(
        {state.value: counted.get(state.value, 0) for state in _TOLD},
        (oldest["now"] - oldest["event__created_at"]).total_seconds() if oldest else 0.0,
        (first_due["now"] - first_due["next_at"]).total_seconds() if first_due else 0.0,
        Subscription.objects.filter(state=Subscription.State.DISABLED, deleted_at=None).count(),
        Host.objects.filter(paused_until__gt=Now()).count(),
        dict(Counter(row.outcome for row in lately)),
        sum(row.fenced for row in lately),
        _quantiles([_lag(row) for row in lately if row.number == 1]),
    )


def _lately() -> list[Attempt]:
    newest = Attempt.objects.annotate(now=Now()).select_related("delivery").order_by("-pk")
    shown = newest.only("outcome", "fenced", "number", "created_at", "delivery__triggered_at")
    return [row for row in shown[:SAMPLE] if row.created_at > row.now - LATELY]


def _lag(attempt: Attempt) -> float:
    return max((attempt.created_at - attempt.delivery.triggered_at).total_seconds(), 0.0)


def _quantiles(values: Sequence[float]) -> dict[float, float]:
    """The values at which so many of all lie at or below."""
    if not values:
        return {}
    ordered = sorted(values)
    return {share: ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in QUANTILES}
