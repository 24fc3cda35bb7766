"""Job queue metrics for monitoring."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q
from django.db.models.functions import Now

from apps.jobs.models import Job

# Metrics count jobs that failed within this time. The Jobs page shows failed jobs for longer.
FAILED_WINDOW = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class JobMetrics:
    """Job metrics for all shops.

    Attributes:
        states: The number of jobs that are ``due`` (waiting for a worker), ``planned`` for later, ``running``, and
            ``failed`` within the last day.
        oldest_due_seconds: How long the oldest due job has been waiting, or 0 if no job is due.
    """

    states: dict[str, int]
    oldest_due_seconds: float


def get_job_metrics() -> JobMetrics:
    """Return the metrics. Call this function in the all-shops scope."""
    is_waiting = Q(state=Job.State.WAITING)
    is_due = is_waiting & Q(due_at__lte=Now())
    unfinished = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING))
    states = unfinished.aggregate(
        due=Count("pk", filter=is_due),
        planned=Count("pk", filter=is_waiting & Q(due_at__gt=Now())),
        running=Count("pk", filter=Q(state=Job.State.RUNNING)),
    )
    states["failed"] = Job.objects.filter(state=Job.State.FAILED, finished_at__gt=Now() - FAILED_WINDOW).count()
    oldest = Job.objects.filter(is_due).annotate(now=Now()).order_by("due_at").values("now", "due_at").first()
    return JobMetrics(states, (oldest["now"] - oldest["due_at"]).total_seconds() if oldest else 0.0)
