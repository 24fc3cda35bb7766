"""Background tasks that validate, import and export files."""

from contextlib import closing

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from apps.core.i18n.messages import as_message, define_message
from apps.core.jobs import queue as jobs
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.imports_exports.domain import exports, imports, runner
from apps.imports_exports.domain.csv_reader import UnreadableFile
from apps.imports_exports.domain.dry_run import validate_file
from apps.imports_exports.domain.imports import REPORT_EVERY
from apps.imports_exports.models import Import
from apps.imports_exports.resources import privacy

State = Import.State

_GAVE_UP = define_message("imports.gave_up", "{error} – retry the background job to continue.")


def _process_file(job: Job, *, import_id: int, checking: bool) -> None:
    """Validate or import a file. Continue where an interrupted task stopped.

    Raises:
        GiveUp: If the file no longer exists.
    """
    expected_state = State.CHECKING if checking else State.IMPORTING
    Import.objects.filter(pk=import_id, state=State.FAILED, finished_at=None).update(state=expected_state, problem="")
    import_job = Import.objects.select_related("shop").filter(pk=import_id).first()
    if import_job is not None and import_job.state == State.FAILED:
        raise jobs.GiveUp(import_job.problem)
    if import_job is None or import_job.state != expected_state:
        return
    try:
        with closing(validate_file(import_job) if checking else runner.run_import(import_job)) as rows:
            reported = 0
            for _ in rows:
                if import_job.done >= reported + REPORT_EVERY:
                    reported = import_job.done
                    jobs.report_progress(job, completed=reported, total=max(import_job.total, reported))
    except UnreadableFile:
        # Do not retry: the error is saved on the import, and a retry would fail in the same way.
        return


@transaction.atomic
def mark_import_failed(job: Job) -> None:
    """Mark the import as failed, unless another worker is processing it."""
    is_available = Q(claimed_until=None) | Q(claimed_until__lt=Now())
    unfinished = Import.objects.filter(is_available, state__in=(State.CHECKING, State.IMPORTING))
    unfinished.filter(pk=job.arguments["import_id"]).update(
        state=State.FAILED, problem=_GAVE_UP(error=as_message(job.error))
    )


@job_task(
    imports.VALIDATE_TASK,
    title=gettext_lazy("Validate an import"),
    on_give_up=mark_import_failed,
    former_names=("orders.check_import",),
)
def validate_import(job: Job, *, import_id: int) -> None:
    _process_file(job, import_id=import_id, checking=True)


@job_task(
    imports.RUN_TASK,
    title=gettext_lazy("Import"),
    on_give_up=mark_import_failed,
    former_names=("orders.run_import",),
)
def run_import(job: Job, *, import_id: int) -> None:
    _process_file(job, import_id=import_id, checking=False)


@job_task(
    exports.EXPORT,
    title=gettext_lazy("Export"),
    on_give_up=exports.mark_export_failed,
    former_names=("orders.export",),
)
def write_export(job: Job, *, export_id: int) -> None:
    exports.write_export(job, export_id=export_id)


@job_task(
    exports.EXPIRE,
    title=gettext_lazy("Delete an expired export"),
    former_names=("orders.expire_export",),
)
def expire_export(job: Job, *, export_id: int) -> None:
    exports.expire_export(job, export_id=export_id)


@job_task(privacy.DELETE, title=gettext_lazy("Delete files after a customer's data is erased"))
def delete_files(job: Job, *, places: list[str]) -> None:
    privacy.delete_files(job, places=places)
