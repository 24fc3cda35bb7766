from django.utils.translation import gettext_lazy

from apps.bulk_edits.domain import edits, runner
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job


@job_task(
    edits.RUN_TASK,
    title=gettext_lazy("Bulk edit"),
    on_give_up=runner.mark_edit_failed,
    former_names=("bulk.edit",),
)
def run_edit(job: Job, *, edit_id: int) -> None:
    runner.run_edit_task(job, edit_id=edit_id)


@job_task(
    edits.UNDO_TASK,
    title=gettext_lazy("Undo a bulk edit"),
    on_give_up=runner.mark_edit_failed,
    former_names=("bulk.undo",),
)
def undo_edit(job: Job, *, edit_id: int) -> None:
    runner.run_undo_task(job, edit_id=edit_id)
