from collections.abc import Callable

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.lists.filters import Choices, Screen
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.pages import dashboard
from apps.core.admin.permissions import has_permission
from apps.core.admin.theme import display
from apps.core.i18n.messages import translate
from apps.core.jobs import queue
from apps.core.jobs.metrics import find_stall
from apps.core.jobs.models import Job
from apps.core.tenancy.actor_names import get_actor_name
from apps.core.tenancy.permissions import allow, grants

grants.add(allow("preferences", "vc", "jobs.job"))

VIEW, CHANGE = "jobs.view_job", "jobs.change_job"
LABELS: dict[str, str] = {
    Job.State.WAITING: "info",
    Job.State.RUNNING: "warning",
    Job.State.DONE: "success",
    Job.State.FAILED: "danger",
    Job.State.CANCELLED: "default",
}
RETRYABLE = (Job.State.FAILED, Job.State.CANCELLED)


class QueueFilter(admin.SimpleListFilter):
    title = gettext_lazy("queue")
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [(name, name) for name in settings.TASK_QUEUES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(queue=self.value()) if self.value() else queryset


@admin.register(Job)
class JobAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[Job]):
    menu = MenuItem("Activity", "pending_actions", 20, gettext_lazy("Background jobs"))
    search_terms = pgettext_lazy("search", "task, queue, progress, failed, running")
    intro = gettext_lazy(
        "Imports, exports, uploads and other long-running work. Finished jobs are deleted after 30 days."
    )
    empty_text = gettext_lazy("No background jobs.")
    list_notice_template = "panel/list_workers.html"
    list_display = ("name", "progress", "status", "attempts", "created_at", "finished_at", "problem")
    mobile_hide_labels = ("problem",)
    list_display_links = ("name",)
    list_filter = ("state", QueueFilter)
    search_fields = ("task__icontains",)
    is_in_palette = False
    ordering = ("-id",)
    sortable_by = ()
    actions = ("retry_jobs", "cancel_jobs")

    @display(description=gettext_lazy("Job"))
    def name(self, job: Job) -> str:
        return queue.get_task_title(job.task)

    @display(description=gettext_lazy("Status"), label=LABELS)
    def status(self, job: Job) -> tuple[str, str]:
        return job.state, job.get_state_display()

    @display(description=gettext_lazy("Progress"))
    def progress(self, job: Job) -> str:
        if not job.progress_total:
            return "–"
        return _("{done} of {total}").format(done=job.progress_done, total=job.progress_total)

    @display(description=gettext_lazy("Error"))
    def problem(self, job: Job) -> str:
        return translate(job.error)[:80]

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return has_permission(request, CHANGE)

    @admin.action(description=gettext_lazy("Retry"), permissions=("retry",))
    def retry_jobs(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        jobs = list(queryset.order_by("pk"))
        count = sum(queue.retry_job(job) for job in jobs)
        text = _("{again} of {number} jobs restarted. Only failed and canceled jobs can be retried.")
        self.message_user(request, text.format(again=count, number=len(jobs)))

    @admin.action(description=gettext_lazy("Cancel"), permissions=("retry",))
    def cancel_jobs(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        jobs = list(queryset.order_by("pk"))
        count = sum(queue.cancel_job(job) for job in jobs)
        text = _("{stopped} of {number} jobs canceled. Only waiting jobs can be canceled.")
        self.message_user(request, text.format(stopped=count, number=len(jobs)))

    @row_view("change/", VIEW, CHANGE, name="change")
    def detail_view(self, request: HttpRequest, job: Job) -> HttpResponse:
        return self.page(
            request,
            "panel/job.html",
            queue.get_task_title(job.task),
            original=job,
            who=get_actor_name(job.actor),
            live=job.state in {Job.State.WAITING, Job.State.RUNNING} and job.due_at <= timezone.now(),
            waits=find_stall(job),
            may_retry=has_permission(request, CHANGE) and job.state in RETRYABLE,
            may_cancel=has_permission(request, CHANGE) and job.state == Job.State.WAITING,
        )

    @row_view("retry/", CHANGE, post_only=True)
    def retry_view(self, request: HttpRequest, job: Job) -> HttpResponse:
        return self._move(
            request, job, queue.retry_job, _("Job restarted."), _("Only failed and canceled jobs can be retried.")
        )

    @row_view("cancel/", CHANGE, post_only=True)
    def cancel_view(self, request: HttpRequest, job: Job) -> HttpResponse:
        return self._move(
            request,
            job,
            queue.cancel_job,
            _("Job canceled."),
            _("This job has already started and can't be canceled."),
        )

    def _move(
        self,
        request: HttpRequest,
        job: Job,
        action: Callable[[Job], bool],
        success_message: str,
        error_message: str,
    ) -> HttpResponse:
        if action(job):
            self.message_user(request, success_message, messages.SUCCESS)
        else:
            self.message_user(request, error_message, messages.WARNING)
        return HttpResponseRedirect(self.url("change", job.pk))


dashboard.tasks.add(
    dashboard.Task(
        gettext_lazy("Failed jobs"),
        gettext_lazy("imports, exports and other jobs that failed"),
        Job,
        "state__exact=failed",
        lambda request: Job.rows().filter(state=Job.State.FAILED),
        order=80,
    )
)
