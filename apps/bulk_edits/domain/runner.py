"""Background tasks that run and undo bulk edits.

Each row is changed in the same transaction that saves its result, under the job's lease. An interrupted edit therefore
continues where it stopped, and no row is changed twice. An error in one row does not stop the edit.
"""

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.bulk_edits.domain import apply
from apps.bulk_edits.domain.apply import RowResult
from apps.bulk_edits.domain.edits import FINISHED, RUN_TASK, save_result
from apps.bulk_edits.domain.targets import EditTarget, edit_targets
from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_text
from apps.core.jobs import queue as jobs
from apps.core.jobs.job_tasks import get_all_names
from apps.core.jobs.models import Job

State = BulkEdit.State
REPORT_EVERY = 20
_BATCH = 500
_ERASED = define_text(
    "bulk_edits.erased",
    "This bulk edit can't continue because its planned changes were erased along with personal data. "
    "Start a new bulk edit.",
)
_NOT_ALLOWED = define_text(
    "bulk_edits.not_allowed", "The user who started this bulk edit no longer has permission to change these rows."
)


def run_edit_task(job: Job, **arguments: int) -> None:
    """Change the remaining rows of the edit ``edit_id``. If an earlier run failed, continue the edit.

    Raises:
        GiveUp: If the user may no longer change rows of this kind, or the operations were erased.
    """
    BulkEdit.objects.filter(pk=arguments["edit_id"], state=State.FAILED).update(state=State.RUNNING, problem="")
    edit = BulkEdit.objects.filter(pk=arguments["edit_id"], state=State.RUNNING).first()
    if edit is None:
        return
    kind = _get_allowed_target(edit, job.actor)
    if not edit.operations:
        raise jobs.GiveUp(_ERASED)
    done_ids = set(EditedRow.objects.filter(edit=edit, dry=False).values_list("row_id", flat=True))
    for number, pk in enumerate(edit.ids, 1):
        if pk not in done_ids and not _change_and_save(job, edit, kind, pk):
            return
        if number % REPORT_EVERY == 0:
            jobs.report_progress(job, completed=number, total=edit.total)
    _finish(job, edit, State.RUNNING, State.DONE)


def run_undo_task(job: Job, **arguments: int) -> None:
    """Restore the changed rows of the edit ``edit_id``, except for rows that were changed later.

    Raises:
        GiveUp: If the user may no longer change rows of this kind.
    """
    BulkEdit.objects.filter(pk=arguments["edit_id"], state=State.FAILED).update(state=State.UNDOING, problem="")
    edit = BulkEdit.objects.filter(pk=arguments["edit_id"], state=State.UNDOING).first()
    if edit is None:
        return
    kind = _get_allowed_target(edit, job.actor)
    _wait_for_last_row(edit)
    changed_rows = EditedRow.objects.filter(edit=edit, dry=False, fate=RowResult.CHANGED).order_by("row_id")
    total, count = changed_rows.count(), 0
    while batch := list(changed_rows[:_BATCH]):
        for edited_row in batch:
            _restore_and_save(job, kind, edited_row)
            count += 1
            if count % REPORT_EVERY == 0:
                jobs.report_progress(job, completed=count, total=max(total, count))
    _finish(job, edit, State.UNDOING, State.UNDONE)


def _get_allowed_target(edit: BulkEdit, actor: str) -> EditTarget:
    kind = edit_targets[edit.kind]
    user = get_user_model().objects.filter(pk=actor.removeprefix("staff:")).first()
    if user is None or not user.has_perm(kind.permission):
        raise jobs.GiveUp(_NOT_ALLOWED)
    return kind


def _change_and_save(job: Job, edit: BulkEdit, kind: EditTarget, pk: int) -> bool:
    """Change a row and save its result. Return False if the edit was stopped."""
    with transaction.atomic():
        jobs.lock_lease(job)
        if not BulkEdit.objects.filter(pk=edit.pk, state=State.RUNNING).exists():
            return False
        try:
            with transaction.atomic():
                outcome = apply.change_row(kind, pk, edit.operations, actor=edit.actor, at=timezone.now())
        except (DomainError, IntegrityError) as error:
            outcome = apply.create_refused_outcome(kind, pk, error)
        save_result(edit, pk, outcome)
    return True


@transaction.atomic
def _wait_for_last_row(edit: BulkEdit) -> None:
    """Wait for the worker, which locks the job until it has saved the row that it changed when the edit was stopped."""
    jobs_of_it = Job.objects.filter(task__in=get_all_names(RUN_TASK), arguments__edit_id=edit.pk)
    list(jobs_of_it.select_for_update().order_by("pk").values_list("pk", flat=True))


def _restore_and_save(job: Job, kind: EditTarget, edited_row: EditedRow) -> None:
    with transaction.atomic():
        jobs.lock_lease(job)
        try:
            with transaction.atomic():
                reason = apply.restore_row(kind, edited_row, actor=job.actor, at=timezone.now())
        except (DomainError, IntegrityError) as error:
            reason = apply.get_refusal_reason(error)
        result = RowResult.KEPT if reason else RowResult.UNDONE
        EditedRow.objects.filter(pk=edited_row.pk).update(fate=result, reason=reason)


@transaction.atomic
def _finish(job: Job, edit: BulkEdit, state: State, end_state: State) -> None:
    jobs.lock_lease(job)
    now = timezone.now()
    jobs.report_progress(job, completed=edit.total, total=edit.total)
    if BulkEdit.objects.filter(pk=edit.pk, state=state).update(state=end_state, finished_at=now):
        record_event(FINISHED, edit, actor=job.actor, at=now)


def mark_edit_failed(job: Job) -> None:
    unfinished = BulkEdit.objects.filter(pk=job.arguments["edit_id"], state__in=(State.RUNNING, State.UNDOING))
    unfinished.update(state=State.FAILED, problem=job.error, finished_at=timezone.now())
