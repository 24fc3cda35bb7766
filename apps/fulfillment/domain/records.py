"""How long answers of services are kept, and that they are forgotten with a person they mention."""

from datetime import datetime, timedelta

from apps.customers.domain.personal_data import words_of
from apps.customers.models import Customer
from apps.fulfillment.models import PullAttempt
from apps.ground.personal import Places, mentions

KEEP = timedelta(days=30)
_STEP = 1000
_WORDS = ("url", "message", "excerpt")
PLACES: Places = {"fulfillment.PullAttempt": _WORDS}


def clear(at: datetime) -> int:
    """Delete what was recorded of calls longer than 30 days ago, in steps; a duty of housekeeping."""
    cleared = 0
    old = PullAttempt.objects.filter(created_at__lt=at - KEEP).order_by("created_at")
    while pks := list(old.values_list("pk", flat=True)[:_STEP]):
        cleared += PullAttempt.objects.filter(pk__in=pks).delete()[0]
    return cleared


def redact(customer: Customer, _actor: str, _at: datetime) -> None:
    """Empty the records of calls that mention a person."""
    mentioning = PullAttempt.objects.filter(mentions(_WORDS, words_of(customer)))
    mentioning.update(**dict.fromkeys(_WORDS, ""))
