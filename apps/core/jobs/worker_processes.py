"""Record which workers and schedulers are running, and find lost processes.

All times come from the clock of the database, because the clocks of machines can differ.
"""

import platform
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now

from apps.core.jobs.models import Job, WorkerProcess
from apps.core.tenancy.scope import all_shops_scope

# The number of seconds between two reports of a process.
REPORT_SECONDS = 5.0
# The panel warns of a queue when no worker that consumes the queue has reported for this long. During an upgrade, there
# are also workers of the last release, which report every 20 seconds.
SILENT_AFTER = timedelta(seconds=25)
# A process that has not reported for this long is lost.
LOST_AFTER = timedelta(seconds=60)
# Lost processes are shown for this long, unless a process with the same node name starts earlier.
KEEP_LOST = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class WorkerMetrics:
    """The numbers of running and lost processes.

    Attributes:
        workers, schedulers: The number of processes by state: ``alive`` and ``lost``.
        queues: The number of running workers for each queue in ``TASK_QUEUES``.
    """

    workers: dict[str, int]
    schedulers: dict[str, int]
    queues: dict[str, int]

    @property
    def queues_without_worker(self) -> list[str]:
        return [queue for queue, workers in self.queues.items() if not workers]


def report_process(role: str, node: str, queues: Iterable[str] = (), *, is_first: bool = True) -> None:
    """Record that a process is running. Its first report replaces a lost process with the same node name."""
    process = WorkerProcess(
        role=role, node=node, host=platform.node(), queues=sorted(queues), started_at=Now(), seen_at=Now()
    )
    updated = ["host", "queues", "seen_at", *(["started_at"] if is_first else [])]
    WorkerProcess.objects.bulk_create(
        [process], update_conflicts=True, unique_fields=["role", "node"], update_fields=updated
    )


def remove_process(node: str) -> None:
    """Delete the rows of a process that stops: its worker, and the scheduler that the worker may contain."""
    WorkerProcess.objects.filter(node=node).delete()


def get_worker_metrics() -> WorkerMetrics:
    is_alive = Case(When(Q(seen_at__gt=Now() - LOST_AFTER), then=Value("alive")), default=Value("lost"))
    rows = list(WorkerProcess.objects.annotate(state=is_alive).values_list("role", "state", "queues"))
    states = Counter((role, state) for role, state, _ in rows)
    consumed = Counter(queue for _, state, queues in rows if state == "alive" for queue in queues)
    workers, schedulers = (
        {state: states[role.value, state] for state in ("alive", "lost")} for role in WorkerProcess.Role
    )
    return WorkerMetrics(workers, schedulers, {queue: consumed[queue] for queue in settings.TASK_QUEUES})


def find_queues_without_worker() -> list[str]:
    """Return the queues in ``TASK_QUEUES`` that no worker has consumed for ``SILENT_AFTER``.

    A renewed lease also proves that a worker is running, even if a busy database delays the worker's reports.
    """
    reports = WorkerProcess.objects.filter(role=WorkerProcess.Role.WORKER, seen_at__gt=Now() - SILENT_AFTER)
    consumed = {queue for queues in reports.values_list("queues", flat=True) for queue in queues}
    silent = [queue for queue in settings.TASK_QUEUES if queue not in consumed]
    if not silent:
        return []
    renewed_until = Now() - SILENT_AFTER + timedelta(seconds=settings.JOB_LEASE_SECONDS)
    with all_shops_scope():
        running = Job.objects.filter(state=Job.State.RUNNING, queue__in=silent, lease_until__gt=renewed_until)
        working = set(running.order_by().values_list("queue", flat=True).distinct())
    return [queue for queue in silent if queue not in working]


def delete_lost_processes(at: datetime) -> int:
    return WorkerProcess.objects.filter(seen_at__lt=Now() - KEEP_LOST).delete()[0]
