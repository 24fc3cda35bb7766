"""How much work waits, for what watches the installation."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q
from django.db.models.functions import Now

from apps.jobs.models import Job

# For so long a failed job is told of; the Jobs page keeps it for longer.
FAILED_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Figures:
    """Of all shops.

    Attributes:
        states: How many jobs are ``due`` (and wait for a worker), ``planned`` for later, ``running``, and ``failed``
            within the last day.
        oldest_due_seconds: How long the one that is due for longest has waited; 0 where none is.
    """

    states: dict[str, int]
    oldest_due_seconds: float


def figures() -> Figures:
    """Count them; call it with every shop in sight."""
    waits = Q(state=Job.State.WAITING)
    due = waits & Q(due_at__lte=Now())
    unfinished = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING))
    states = unfinished.aggregate(
        due=Count("pk", filter=due),
        planned=Count("pk", filter=waits & Q(due_at__gt=Now())),
        running=Count("pk", filter=Q(state=Job.State.RUNNING)),
    )
    states["failed"] = Job.objects.filter(state=Job.State.FAILED, finished_at__gt=Now() - FAILED_FOR).count()
    oldest = Job.objects.filter(due).annotate(now=Now()).order_by("due_at").values("now", "due_at").first()
    return Figures(states, (oldest["now"] - oldest["due_at"]).total_seconds() if oldest else 0.0)
