"""The life cycle of a bulk edit: select rows, plan changes, start, stop, and undo."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from apps.bulk_edits.domain.apply import EditOutcome, try_change
from apps.bulk_edits.domain.targets import EditTarget, edit_targets
from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError, TransitionRefused
from apps.core.jobs import queue as jobs
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs

RUN_TASK, UNDO_TASK = "bulk_edits.run_edit", "bulk_edits.undo_edit"
STARTED, FINISHED, STOPPED, UNDONE = "bulk_edits/start", "bulk_edits/finish", "bulk_edits/stop", "bulk_edits/undo"
State = BulkEdit.State
# Maximum number of rows per edit.
MAX_ROWS = 100_000
PREVIEW_ROWS = 10
DRAFT_RETENTION, RETENTION = timedelta(days=1), timedelta(days=90)
_BATCH = 100


@transaction.atomic
def create_draft(kind: EditTarget, ids: Sequence[int], *, actor: str, at: datetime) -> BulkEdit:
    """Create a draft for selected rows.

    Raises:
        DomainError: If there are no rows, or more than ``MAX_ROWS``.
    """
    if not 0 < len(ids) <= MAX_ROWS:
        raise DomainError(_("Select 1 to {limit} rows.").format(limit=format(MAX_ROWS, ",")))
    edit = BulkEdit(
        shop=get_current_shop(), kind=kind.name, ids=sorted(ids), total=len(ids), actor=actor, created_at=at
    )
    edit.save(force_insert=True)
    return edit


@transaction.atomic
def plan_edit(edit: BulkEdit, operations: Attrs, *, actor: str, at: datetime) -> None:
    """Save the operations, and the results of a dry run that applies the operations to the first rows.

    Raises:
        TransitionRefused: If the edit has already started.
    """
    if not BulkEdit.objects.filter(pk=edit.pk, state=State.DRAFT).update(operations=operations, actor=actor):
        raise TransitionRefused(_("This bulk edit has already started."))
    EditedRow.objects.filter(edit=edit, dry=True).delete()
    for pk in edit.ids[:PREVIEW_ROWS]:
        save_result(edit, pk, try_change(edit_targets[edit.kind], pk, operations, actor=actor, at=at), is_dry_run=True)


def save_result(edit: BulkEdit, pk: int, outcome: EditOutcome, *, is_dry_run: bool = False) -> None:
    EditedRow.objects.create(
        shop_id=edit.shop_id,
        edit=edit,
        row_id=pk,
        dry=is_dry_run,
        fate=outcome.fate,
        label=outcome.label[:255],
        reason=outcome.reason,
        changes=[list(change) for change in outcome.changes],
        before=outcome.before,
        mark=outcome.mark,
    )


@transaction.atomic
def start_edit(edit: BulkEdit, *, actor: str, at: datetime) -> None:
    """Start the edit.

    Raises:
        TransitionRefused: If the edit has already started or has no operations.
    """
    ready = BulkEdit.objects.filter(pk=edit.pk, state=State.DRAFT).exclude(operations={})
    if not ready.update(state=State.RUNNING, actor=actor, started_at=at):
        raise TransitionRefused(_("This bulk edit has already started or contains no changes."))
    record_event(STARTED, edit, actor=actor, at=at, changes={"kind": [None, edit.kind], "rows": [None, edit.total]})
    jobs.enqueue(RUN_TASK, actor=actor, edit_id=edit.pk)


@transaction.atomic
def stop_edit(edit: BulkEdit, *, actor: str, at: datetime) -> None:
    """Stop a running edit. Remaining rows stay unchanged.

    Raises:
        TransitionRefused: If the edit is not running.
    """
    if not BulkEdit.objects.filter(pk=edit.pk, state=State.RUNNING).update(state=State.STOPPED, finished_at=at):
        raise TransitionRefused(_("This bulk edit is not running."))
    record_event(STOPPED, edit, actor=actor, at=at)


@transaction.atomic
def start_undo(edit: BulkEdit, *, actor: str, at: datetime) -> None:
    """Start undoing the edit, except for rows that were changed later.

    Raises:
        TransitionRefused: If the edit has not ended or was already undone.
    """
    ended = BulkEdit.objects.filter(pk=edit.pk, state__in=(State.DONE, State.STOPPED, State.FAILED))
    if not ended.update(state=State.UNDOING, problem=""):
        raise TransitionRefused(_("This bulk edit is still running or has already been undone."))
    record_event(UNDONE, edit, actor=actor, at=at)
    jobs.enqueue(UNDO_TASK, actor=actor, edit_id=edit.pk)


def delete_old_edits(at: datetime) -> int:
    """Delete old drafts and finished edits, and return their number. A deleted edit can't be undone."""
    drafts = BulkEdit.objects.filter(state=State.DRAFT, created_at__lt=at - DRAFT_RETENTION)
    ended = BulkEdit.objects.filter(finished_at__lt=at - RETENTION).exclude(state__in=(State.RUNNING, State.UNDOING))
    deleted = 0
    for rows in (drafts, ended):
        while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
            deleted += len(ids)
            BulkEdit.objects.filter(pk__in=ids).delete()
    return deleted
