"""Delete old recorded calls to fulfillment services, and redact customer data in recorded calls."""

from datetime import datetime, timedelta

from apps.customers.domain.personal_data import get_identifying_words
from apps.customers.models import Customer
from apps.fulfillment.models import PullAttempt
from apps.ground.privacy_registry import ColumnsByModel, build_mention_filter

RETENTION = timedelta(days=30)
_STEP = 1000
_WORDS = ("url", "message", "excerpt")
PERSONAL_COLUMNS: ColumnsByModel = {"fulfillment.PullAttempt": _WORDS}


def delete_old_attempts(at: datetime) -> int:
    """Delete attempts older than 30 days, in batches. Runs nightly."""
    deleted = 0
    old = PullAttempt.objects.filter(created_at__lt=at - RETENTION).order_by("created_at")
    while pks := list(old.values_list("pk", flat=True)[:_STEP]):
        deleted += PullAttempt.objects.filter(pk__in=pks).delete()[0]
    return deleted


def redact_attempts(customer: Customer, _actor: str, _at: datetime) -> None:
    """Redact attempts that mention a customer."""
    mentioning = PullAttempt.objects.filter(build_mention_filter(_WORDS, get_identifying_words(customer)))
    mentioning.update(**dict.fromkeys(_WORDS, ""))
