"""The models for background work that must not be lost, and for the processes that run the work."""

from typing import Any

import uuid6
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.i18n.messages import MessageField
from apps.core.tenancy.shop_owned import ShopOwned


class SentAtField(models.DateTimeField[Any, Any]):
    """A time that the database may compute when it inserts a row. The inserted object receives the value."""

    db_returning = True


class Job(ShopOwned):
    """A background job. It runs after the transaction that enqueued it has committed.

    The row is the source of truth. The Celery task that runs it has ``key`` as its ID, and its message is only a
    notification. A worker acquires the job with a conditional update that sets a lease, and renews the lease while the
    task runs. ``rung_at`` is the time of the last message (``apps.core.jobs.publishing``).
    """

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Waiting")
        RUNNING = "running", gettext_lazy("Running")
        DONE = "done", gettext_lazy("Done")
        FAILED = "failed", gettext_lazy("Failed")
        CANCELLED = "cancelled", gettext_lazy("Canceled")

    key = models.UUIDField(default=uuid6.uuid7, unique=True, editable=False)
    task = models.CharField(gettext_lazy("task"), max_length=100)
    queue = models.CharField(gettext_lazy("queue"), max_length=100, default="default", db_default="default")
    arguments = models.JSONField(default=dict)
    state = models.CharField(gettext_lazy("state"), max_length=20, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(gettext_lazy("attempts"), default=0)
    due_at = models.DateTimeField(default=timezone.now)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    rung_at = SentAtField(null=True)
    progress_done = models.PositiveIntegerField(default=0)
    progress_total = models.PositiveIntegerField(default=0)
    error = MessageField()
    actor = models.CharField(max_length=100, default="system")
    finished_at = models.DateTimeField(gettext_lazy("finished at"), null=True)

    personal_fields = ("error",)
    non_personal_fields = ("task", "queue", "arguments", "actor")

    class Meta:
        verbose_name = gettext_lazy("job")
        verbose_name_plural = gettext_lazy("jobs")
        ordering = ("-id",)
        indexes = (
            models.Index(
                fields=("due_at", "id"),
                condition=Q(state__in=("waiting", "running")),
                name="jobs_job_unfinished",
            ),
            # ``publishing`` uses the following three indexes.
            models.Index(
                fields=("shop", "queue"),
                condition=Q(state__in=("waiting", "running"), rung_at__isnull=False),
                name="jobs_job_sent",
            ),
            models.Index(
                fields=("shop", "queue", "due_at", "id"),
                condition=Q(state="waiting", rung_at__isnull=True),
                name="jobs_job_unsent",
            ),
            models.Index(fields=("shop", "lease_until"), condition=Q(state="running"), name="jobs_job_running"),
            models.Index(fields=("shop", "-id"), name="jobs_job_by_shop"),
            models.Index(fields=("shop", "-id"), condition=Q(state="failed"), name="jobs_job_failed"),
        )

    def __str__(self) -> str:
        return f"{self.task} #{self.pk}"


class PeriodicRun(models.Model):
    """The last run of a periodic task. Only the run that has the lease may work."""

    name = models.CharField(max_length=100, unique=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    # The number of rows that the last successful run processed.
    result = models.IntegerField(null=True)
    error = models.TextField(default="")

    non_personal_fields = ("name", "error")

    def __str__(self) -> str:
        return self.name


class WorkerProcess(models.Model):
    """A worker or scheduler process that reports every few seconds that it is running.

    A process deletes its row when it stops. A row that is not updated any more belongs to a process that was killed,
    hangs, or does not reach the database.

    Attributes:
        node: The Celery node name, such as ``celery@host``.
        queues: The names of the queues that a worker consumes.
    """

    class Role(models.TextChoices):
        WORKER = "worker"
        SCHEDULER = "scheduler"

    role = models.CharField(max_length=20, choices=Role)
    node = models.CharField(max_length=255)
    host = models.CharField(max_length=255)
    queues = models.JSONField(default=list)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    non_personal_fields = ("node", "host", "queues")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("role", "node"), name="jobs_workerprocess_once"),)

    def __str__(self) -> str:
        return f"{self.role} {self.node}"
