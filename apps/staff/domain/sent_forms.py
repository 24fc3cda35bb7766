"""Letting go of forms that were sent long ago: nobody has their pages open any more."""

from datetime import datetime, timedelta

from apps.staff.models import SentForm

KEPT, BATCH = timedelta(days=30), 1000


def clear(at: datetime) -> int:
    """Delete what was sent more than 30 days ago, in batches."""
    cleared = 0
    old = SentForm.objects.filter(created_at__lt=at - KEPT).order_by("created_at")
    while keys := list(old.values_list("pk", flat=True)[:BATCH]):
        cleared += SentForm.objects.filter(pk__in=keys).delete()[0]
    return cleared
