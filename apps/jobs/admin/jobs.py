"""Background work as staff see it: how far it is, what went wrong, trying again."""

from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.ground.retelling import retold
from apps.jobs.domain import queue
from apps.jobs.domain.waiting import waits_since
from apps.jobs.models import Job
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.theme import display
from apps.staff.domain.actors import name_of
from apps.staff.domain.permissions import grant

grant("preferences", "vc", "jobs.job")

VIEW, CHANGE = "jobs.view_job", "jobs.change_job"
LABELS: dict[str, str] = {
    Job.State.WAITING: "info",
    Job.State.RUNNING: "warning",
    Job.State.DONE: "success",
    Job.State.FAILED: "danger",
    Job.State.CANCELLED: "default",
}
RETRYABLE = (Job.State.FAILED, Job.State.CANCELLED)


@admin.register(Job)
class JobAdmin(ReadOnly, ShopOwnedAdmin[Job]):
    """Jobs are made and done by the services; staff watch, try again, and cancel what has not begun."""

    menu = Menu(
        "Activity",
        "pending_actions",
        20,
        gettext_lazy("Background jobs"),
        words=pgettext_lazy("search", "task, queue, progress, failed, running"),
    )
    intro = gettext_lazy(
        "Imports, exports, uploads and whatever else takes longer than a page. Finished jobs are kept for 30 days."
    )
    empty_text = gettext_lazy("Nothing is running, and nothing has run lately.")
    list_display = ("name", "progress", "status", "attempts", "created_at", "finished_at", "problem")
    list_self_evident = ("problem",)
    list_display_links = ("name",)
    list_filter = ("state",)
    search_fields = ("task__icontains",)
    place_in_search = 90
    ordering = ("-id",)
    sortable_by = ()
    actions = ("retry_jobs", "cancel_jobs")

    @display(description=gettext_lazy("Job"))
    def name(self, job: Job) -> str:
        """What it does."""
        return queue.title_of(job.task)

    @display(description=gettext_lazy("State"), label=LABELS)
    def status(self, job: Job) -> tuple[str, str]:
        """Where it stands."""
        return job.state, job.get_state_display()

    @display(description=gettext_lazy("Progress"))
    def progress(self, job: Job) -> str:
        """How far it has come."""
        return (
            _("{done} of {total}").format(done=job.progress_done, total=job.progress_total)
            if job.progress_total
            else "–"
        )

    @display(description=gettext_lazy("Problem"))
    def problem(self, job: Job) -> str:
        """Why it failed, shortened."""
        return retold(job.error)[:80]

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """None in the panel-wide search, which is for the shop's data."""
        match = request.resolver_match
        return () if match and match.url_name == "search" else self.search_fields

    def get_urls(self) -> list[URLPattern]:
        """Trying again and cancelling, besides Django's own."""
        return [
            self.action_url("<path:object_id>/retry/", self.retry_view, "retry"),
            self.action_url("<path:object_id>/cancel/", self.cancel_view, "cancel"),
            *super().get_urls(),
        ]

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Whether the bulk actions are offered."""
        return may(request, CHANGE)

    @admin.action(description=gettext_lazy("Try again"), permissions=("retry",))
    def retry_jobs(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Start the failed and cancelled ones over."""
        jobs = list(queryset.order_by("pk"))
        again = sum(queue.retry(job) for job in jobs)
        self.message_user(
            request,
            _("{again} of {number} start over; others were not at an end.").format(again=again, number=len(jobs)),
        )

    @admin.action(description=gettext_lazy("Cancel"), permissions=("retry",))
    def cancel_jobs(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Keep the waiting ones from being started."""
        jobs = list(queryset.order_by("pk"))
        stopped = sum(queue.cancel(job) for job in jobs)
        self.message_user(
            request,
            _("{stopped} of {number} are cancelled; others had begun already.").format(
                stopped=stopped, number=len(jobs)
            ),
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """One job."""
        require(request, VIEW, CHANGE)
        job = self.row_or_404(request, object_id)
        return self.page(
            request,
            "panel/job.html",
            queue.title_of(job.task),
            original=job,
            who=name_of(job.actor),
            live=job.state in {Job.State.WAITING, Job.State.RUNNING} and job.due_at <= timezone.now(),
            waits=waits_since(job),
            may_retry=may(request, CHANGE) and job.state in RETRYABLE,
            may_cancel=may(request, CHANGE) and job.state == Job.State.WAITING,
        )

    def retry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Start one over."""
        return self._move(request, object_id, queue.retry, _("It starts over."), _("It is not at an end."))

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Cancel one."""
        return self._move(request, object_id, queue.cancel, _("It is cancelled."), _("It has begun already."))

    def _move(
        self, request: HttpRequest, object_id: str, move: Callable[[Job], bool], done: str, refused: str
    ) -> HttpResponse:
        require(request, CHANGE)
        job = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if move(job):
            self.message_user(request, done, messages.SUCCESS)
        else:
            self.message_user(request, refused, messages.WARNING)
        return HttpResponseRedirect(self.url("change", job.pk))


home.add_task(
    home.Task(
        gettext_lazy("Failed jobs"),
        gettext_lazy("imports, exports and other work that gave up"),
        Job,
        "state__exact=failed",
        lambda request: Job.rows().filter(state=Job.State.FAILED),
        order=80,
    )
)
