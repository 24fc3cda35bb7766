"""The job model: one row for each piece of background work that must not be lost."""

import uuid6
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.i18n.messages import MessageField
from apps.core.tenancy.shop_owned import ShopOwned


class Job(ShopOwned):
    """A background job. It runs after the transaction that enqueued it has committed.

    The row is the source of truth, and the broker message is only a notification. A worker acquires the job with a
    conditional update that sets a lease, and renews the lease while the task runs. A periodic sweep notifies workers
    about due jobs without a valid lease.
    """

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Waiting")
        RUNNING = "running", gettext_lazy("Running")
        DONE = "done", gettext_lazy("Done")
        FAILED = "failed", gettext_lazy("Failed")
        CANCELLED = "cancelled", gettext_lazy("Canceled")

    key = models.UUIDField(default=uuid6.uuid7, unique=True, editable=False)
    task = models.CharField(gettext_lazy("task"), max_length=100)
    arguments = models.JSONField(default=dict)
    state = models.CharField(gettext_lazy("state"), max_length=20, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(gettext_lazy("attempts"), default=0)
    due_at = models.DateTimeField(default=timezone.now)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    rung_at = models.DateTimeField(null=True)
    progress_done = models.PositiveIntegerField(default=0)
    progress_total = models.PositiveIntegerField(default=0)
    error = MessageField()
    actor = models.CharField(max_length=100, default="system")
    finished_at = models.DateTimeField(gettext_lazy("finished at"), null=True)

    personal_fields = ("error",)
    non_personal_fields = ("task", "arguments", "actor")

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
            # Fair scheduling (``domain.fair_scheduling``) uses the following two indexes.
            models.Index(fields=("shop", "due_at", "id"), condition=Q(state="waiting"), name="jobs_job_waiting"),
            models.Index(fields=("shop", "lease_until"), condition=Q(state="running"), name="jobs_job_running"),
            models.Index(fields=("shop", "-id"), name="jobs_job_by_shop"),
            models.Index(fields=("shop", "-id"), condition=Q(state="failed"), name="jobs_job_failed"),
        )

    def __str__(self) -> str:
        return f"{self.task} #{self.pk}"
