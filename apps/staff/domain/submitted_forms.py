from datetime import datetime, timedelta

from apps.core.tenancy.models import SentForm

RETENTION, BATCH_SIZE = timedelta(days=30), 1000


def delete_old_submissions(at: datetime) -> int:
    cleared = 0
    expired = SentForm.objects.filter(created_at__lt=at - RETENTION).order_by("created_at")
    while keys := list(expired.values_list("pk", flat=True)[:BATCH_SIZE]):
        cleared += SentForm.objects.filter(pk__in=keys).delete()[0]
    return cleared
