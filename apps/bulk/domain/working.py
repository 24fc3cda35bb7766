"""The background work of bulk edits.

Each row is a transaction of its own together with the note of what became of it, under the job's lease; so an edit that
was cut off goes on where it stopped, nothing is done to a row twice, and a row that is refused stops nothing else.
"""

from collections.abc import Callable

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy, gettext_noop

from apps.bulk.domain import rows
from apps.bulk.domain.edits import FINISHED, RUN, UNDO_TASK, note
from apps.bulk.domain.kinds import Kind, named
from apps.bulk.domain.rows import Fate, Outcome
from apps.bulk.models import BulkEdit, EditedRow
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job

State = BulkEdit.State
REPORT_EVERY = 20
_BATCH = 500


def run(job: Job, **arguments: int) -> None:
    """Change the rows of ``edit_id`` that nothing was done to yet; it also goes on with an edit that had failed.

    Raises:
        GiveUp: Whoever asked may not change such rows any more, or it is not known what is to be done.
    """
    BulkEdit.objects.filter(pk=arguments["edit_id"], state=State.FAILED).update(state=State.RUNNING, problem="")
    edit = BulkEdit.objects.filter(pk=arguments["edit_id"], state=State.RUNNING).first()
    if edit is None:
        return
    kind = _allowed(edit, job.actor)
    if not edit.operations:
        raise jobs.GiveUp(gettext_noop("What was to be done was erased with personal data."))
    done = set(EditedRow.objects.filter(edit=edit, dry=False).values_list("row_id", flat=True))
    for number, pk in enumerate(edit.ids, 1):
        if pk not in done and not _one(job, edit, kind, pk):
            return
        if number % REPORT_EVERY == 0:
            jobs.report_progress(job, done=number, total=edit.total)
    _end(job, edit, State.RUNNING, State.DONE)


def undo(job: Job, **arguments: int) -> None:
    """Put the changed rows of ``edit_id`` back that are as the edit left them.

    Raises:
        GiveUp: Whoever asked may not change such rows any more.
    """
    BulkEdit.objects.filter(pk=arguments["edit_id"], state=State.FAILED).update(state=State.UNDOING, problem="")
    edit = BulkEdit.objects.filter(pk=arguments["edit_id"], state=State.UNDOING).first()
    if edit is None:
        return
    kind = _allowed(edit, job.actor)
    _await_last_row(edit)
    changed = EditedRow.objects.filter(edit=edit, dry=False, fate=Fate.CHANGED).order_by("row_id")
    total, done = changed.count(), 0
    while batch := list(changed[:_BATCH]):
        for kept in batch:
            _back(job, kind, kept)
            done += 1
            if done % REPORT_EVERY == 0:
                jobs.report_progress(job, done=done, total=max(total, done))
    _end(job, edit, State.UNDOING, State.UNDONE)


def _allowed(edit: BulkEdit, actor: str) -> Kind:
    """The kind of the rows, where the person may still change them."""
    kind = named(edit.kind)
    user = get_user_model().objects.filter(pk=actor.removeprefix("staff:")).first()
    if user is None or not user.has_perm(kind.permission):
        raise jobs.GiveUp(gettext_noop("Whoever asked for this may not change these rows any more."))
    return kind


def _one(job: Job, edit: BulkEdit, kind: Kind, pk: int) -> bool:
    """Change a row and note it; False where the edit was stopped meanwhile."""

    def work() -> Outcome:
        return rows.change(kind, pk, edit.operations, actor=edit.actor, at=timezone.now())

    with transaction.atomic():
        jobs.hold(job)
        if not BulkEdit.objects.filter(pk=edit.pk, state=State.RUNNING).exists():
            return False
        note(edit, pk, _outcome(work, kind, pk))
    return True


def _outcome(work: Callable[[], Outcome], kind: Kind, pk: int) -> Outcome:
    """What the work comes to; what it did before it was refused is taken back."""
    try:
        with transaction.atomic():
            return work()
    except (DomainError, IntegrityError) as error:
        return rows.refused(kind, pk, error)


@transaction.atomic
def _await_last_row(edit: BulkEdit) -> None:
    """Wait for the row that was being changed when the edit was stopped: its worker holds the job until it is noted."""
    jobs_of_it = Job.objects.filter(task=RUN, arguments__edit_id=edit.pk)
    list(jobs_of_it.select_for_update().order_by("pk").values_list("pk", flat=True))


def _back(job: Job, kind: Kind, kept: EditedRow) -> None:
    with transaction.atomic():
        jobs.hold(job)
        try:
            with transaction.atomic():
                why_not = rows.put_back(kind, kept, actor=job.actor, at=timezone.now())
        except (DomainError, IntegrityError) as error:
            why_not = rows.reason_of(error)
        fate = Fate.KEPT if why_not else Fate.UNDONE
        EditedRow.objects.filter(pk=kept.pk).update(fate=fate, reason=why_not[:1000])


@transaction.atomic
def _end(job: Job, edit: BulkEdit, state: State, ended: State) -> None:
    jobs.hold(job)
    now = timezone.now()
    jobs.report_progress(job, done=edit.total, total=edit.total)
    if BulkEdit.objects.filter(pk=edit.pk, state=state).update(state=ended, finished_at=now):
        record_event(FINISHED, edit, actor=job.actor, at=now)


def give_up(job: Job) -> None:
    """Say that the work could not be done; what was done to rows stays noted."""
    begun = BulkEdit.objects.filter(pk=job.arguments["edit_id"], state__in=(State.RUNNING, State.UNDOING))
    begun.update(state=State.FAILED, problem=job.error[:500], finished_at=timezone.now())


def register_all() -> None:
    """Add the tasks."""
    jobs.register(RUN, run, gettext_lazy("Bulk edit"), on_give_up=give_up)
    jobs.register(UNDO_TASK, undo, gettext_lazy("Undoing a bulk edit"), on_give_up=give_up)
