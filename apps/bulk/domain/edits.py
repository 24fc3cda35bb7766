"""Bulk edits as people handle them: rows are chosen, the change is looked at, begun, stopped, and taken back."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from apps.bulk.domain.kinds import Kind, named
from apps.bulk.domain.rows import Outcome, tried
from apps.bulk.models import BulkEdit, EditedRow
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.errors import DomainError, TransitionRefused
from apps.ground.tenancy import current_shop
from apps.jobs.domain import queue as jobs

RUN, UNDO_TASK = "bulk.edit", "bulk.undo"
STARTED, FINISHED, STOPPED, UNDO = "bulk_edits/start", "bulk_edits/finish", "bulk_edits/stop", "bulk_edits/undo"
State = BulkEdit.State
# Rows of one edit.
MOST = 100_000
PREVIEW = 10
KEEP_DRAFTS, KEEP = timedelta(days=1), timedelta(days=90)
_BATCH = 100


class RowsRefused(DomainError):
    """No row is chosen, or more than one edit takes."""

    code = "bulk_rows_refused"


class NotReady(TransitionRefused):
    """The edit is not in the state that this needs."""

    code = "bulk_edit_not_ready"


@transaction.atomic
def choose(kind: Kind, ids: Sequence[int], *, actor: str, at: datetime) -> BulkEdit:
    """Keep which rows are to be changed; nothing happens to them yet.

    Args:
        kind: Of the rows.
        ids: Of the rows, in any order.
        actor: Who.
        at: When.

    Raises:
        RowsRefused: There are none, or more than ``MOST``.
    """
    if not 0 < len(ids) <= MOST:
        raise RowsRefused(_("Choose 1 to {limit} rows.").format(limit=format(MOST, ",")))
    edit = BulkEdit(shop=current_shop(), kind=kind.name, ids=sorted(ids), total=len(ids), actor=actor, created_at=at)
    edit.save(force_insert=True)
    return edit


@transaction.atomic
def plan(edit: BulkEdit, operations: Attrs, *, actor: str, at: datetime) -> None:
    """Keep what is to be done, and what would become of the first rows; nothing is changed.

    Raises:
        NotReady: It has begun already.
    """
    if not BulkEdit.objects.filter(pk=edit.pk, state=State.DRAFT).update(operations=operations, actor=actor):
        raise NotReady(_("This change has begun already."))
    EditedRow.objects.filter(edit=edit, dry=True).delete()
    for pk in edit.ids[:PREVIEW]:
        note(edit, pk, tried(named(edit.kind), pk, operations, actor=actor, at=at), dry=True)


def note(edit: BulkEdit, pk: int, outcome: Outcome, *, dry: bool = False) -> None:
    """Write down what became of a row; it is written once."""
    EditedRow.objects.create(
        shop_id=edit.shop_id,
        edit=edit,
        row_id=pk,
        dry=dry,
        fate=outcome.fate,
        label=outcome.label[:255],
        reason=outcome.reason[:1000],
        changes=[list(each) for each in outcome.changes],
        before={} if dry else outcome.before,
        mark=outcome.mark,
    )


@transaction.atomic
def start(edit: BulkEdit, *, actor: str, at: datetime) -> None:
    """Let a worker change the rows.

    Raises:
        NotReady: It has begun already, or nobody has said what is to be done.
    """
    ready = BulkEdit.objects.filter(pk=edit.pk, state=State.DRAFT).exclude(operations={})
    if not ready.update(state=State.RUNNING, actor=actor, started_at=at):
        raise NotReady(_("This change has begun already, or nothing is to be changed."))
    record_event(STARTED, edit, actor=actor, at=at, changes={"kind": [None, edit.kind], "rows": [None, edit.total]})
    jobs.enqueue(RUN, actor=actor, edit_id=edit.pk)


@transaction.atomic
def stop(edit: BulkEdit, *, actor: str, at: datetime) -> None:
    """Leave the rows that are not changed yet as they are.

    Raises:
        NotReady: It is not under way.
    """
    if not BulkEdit.objects.filter(pk=edit.pk, state=State.RUNNING).update(state=State.STOPPED, finished_at=at):
        raise NotReady(_("This change is not under way."))
    record_event(STOPPED, edit, actor=actor, at=at)


@transaction.atomic
def undo(edit: BulkEdit, *, actor: str, at: datetime) -> None:
    """Let a worker put the rows back that nobody has changed since.

    Raises:
        NotReady: It has not ended, or was taken back already.
    """
    ended = BulkEdit.objects.filter(pk=edit.pk, state__in=(State.DONE, State.STOPPED, State.FAILED))
    if not ended.update(state=State.UNDOING, problem=""):
        raise NotReady(_("This change has not ended, or was taken back already."))
    record_event(UNDO, edit, actor=actor, at=at)
    jobs.enqueue(UNDO_TASK, actor=actor, edit_id=edit.pk)


def clear_old(at: datetime) -> int:
    """Delete drafts after a day and edits that ended after 90 days, in batches; with them goes the way back."""
    drafts = BulkEdit.objects.filter(state=State.DRAFT, created_at__lt=at - KEEP_DRAFTS)
    ended = BulkEdit.objects.filter(finished_at__lt=at - KEEP).exclude(state__in=(State.RUNNING, State.UNDOING))
    cleared = 0
    for rows in (drafts, ended):
        while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
            cleared += len(ids)
            BulkEdit.objects.filter(pk__in=ids).delete()
    return cleared
