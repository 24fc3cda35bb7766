"""Import a confirmed file in batches, each in one transaction.

A lease ensures that only one worker or command processes an import at a time. The lease is a token in the row of the
import. Each transaction that imports rows also updates the lease, so a worker that lost its lease can't write anything,
no matter how late it continues.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.db import planner_statistics
from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import (
    COLUMN_ERROR,
    FIELD_ERROR,
    PART_ERROR,
    Message,
    as_message,
    define_message,
    get_items,
    join_messages,
)
from apps.imports_exports.domain.files import remove_file
from apps.imports_exports.domain.imports import FINISHED, PREVIEW_ROWS, State, open_import_file
from apps.imports_exports.domain.parser import parse_file
from apps.imports_exports.domain.refused_rows import store_refused_rows
from apps.imports_exports.domain.resources import BATCH_SIZE, get_importers
from apps.imports_exports.domain.rows import (
    Body,
    ImportRow,
    NumberedRow,
    RowOutcome,
    RowResult,
    RowResults,
    add_notes,
    create_failed_outcome,
    save_results,
)
from apps.imports_exports.models import Import, ImportedRow

# A killed worker blocks other workers for this long.
LEASE = timedelta(seconds=60)
# The last line for which all errors are named if the row has cells that can't be read, because this takes a dry run.
_LAST_COMPLETED_LINE = 1000


class ImportBusy(DomainError):
    pass


class ImportLeaseLost(Exception):
    """Raised when another worker has taken over the import."""


@dataclass(frozen=True, slots=True)
class ImportLease:
    """The lease that a worker holds on an import."""

    import_id: int
    token: uuid.UUID

    def extend(self, *, done_rows: int, **values: object) -> None:
        """Extend the lease and save the progress. The row of the import stays locked until the transaction ends.

        Raises:
            ImportLeaseLost: If another worker has taken over.
        """
        own_row = Import.objects.filter(pk=self.import_id, claim=self.token)
        if not own_row.update(claimed_until=Now() + LEASE, done=done_rows, **values):
            raise ImportLeaseLost(f"Another worker has taken over import {self.import_id}")


@contextmanager
def acquire_lease(import_job: Import, state: Import.State) -> Iterator[ImportLease]:
    """Acquire the lease of an import in the given state, and release the lease on exit.

    Raises:
        ImportBusy: If another worker has the lease, or the state has changed.
    """
    claim = ImportLease(import_job.pk, uuid.uuid4())
    is_available = Q(claimed_until=None) | Q(claimed_until__lt=Now())
    if not Import.objects.filter(is_available, pk=import_job.pk, state=state).update(
        claim=claim.token, claimed_until=Now() + LEASE
    ):
        raise ImportBusy(_("This file is being processed or was just processed. Try again in a minute."))
    try:
        yield claim
    finally:
        Import.objects.filter(pk=import_job.pk, claim=claim.token).update(claim=None, claimed_until=None)


def number_rows(rows: Iterator[ImportRow]) -> Iterator[NumberedRow]:
    for number, row in enumerate(rows, 1):
        yield NumberedRow(number, row, () if row.body is None else get_importers()[row.kind].keys(row, row.body))


def create_batches(rows: Iterator[NumberedRow]) -> Iterator[list[NumberedRow]]:
    """Yield batches of consecutive rows of one resource in which no two rows share a key.

    Rows for the same object are in different batches, so that the later row sees the changes made by the earlier row. A
    row that must be imported alone is in a separate batch. An unreadable row is added to the current batch.
    """
    batch: list[NumberedRow] = []
    kind, keys = "", set[str]()
    for numbered_row in rows:
        row = numbered_row.row
        can_batch = row.body is None or not get_importers()[row.kind].must_be_alone(row.body)
        is_other_kind = row.body is not None and kind not in {"", row.kind}
        limit = min(BATCH_SIZE, get_importers()[kind or row.kind].batch_size) if kind or row.kind else BATCH_SIZE
        if batch and (not can_batch or is_other_kind or len(batch) >= limit or not keys.isdisjoint(numbered_row.keys)):
            yield batch
            batch, kind, keys = [], "", set()
        batch.append(numbered_row)
        keys.update(numbered_row.keys)
        kind = kind if row.body is None else row.kind
        if not can_batch:
            yield batch
            batch, kind, keys = [], "", set()
    if batch:
        yield batch


_FORBIDDEN = define_message("imports.no_permission", "You don't have permission to import {kind}")


def get_allowed_resources(actor: str) -> frozenset[str]:
    """Return the names of the resources that the actor may import."""
    return select_allowed(actor, {name: importer.permission for name, importer in get_importers().items()})


def select_allowed(actor: str, needed: Mapping[str, str]) -> frozenset[str]:
    """Return the keys of the permissions that the actor has. The operator's command has all permissions."""
    kind, _, number = actor.partition(":")
    if kind != "staff":
        return frozenset(needed)
    user = get_user_model().objects.filter(pk=number).first()
    return frozenset(name for name, permission in needed.items() if user is not None and user.has_perm(permission))


def import_batch(
    batch: Sequence[NumberedRow], allowed: frozenset[str], *, actor: str, dry: bool = False
) -> list[RowOutcome]:
    """Import rows of one resource, each with a different object. Invalid rows get a failed result.

    Raises:
        DomainError, IntegrityError: If the rows can't be imported together. Nothing is saved.
    """
    rows = [(row, row.body) for _, row, _ in batch if row.body is not None and row.kind in allowed]
    imported = iter(_import_rows(rows, actor=actor, at=timezone.now(), dry=dry) if rows else ())
    outcomes = []
    for row in (numbered_row.row for numbered_row in batch):
        if row.body is None:
            is_completed = row.line <= _LAST_COMPLETED_LINE
            reason = _find_all_problems(row, allowed, actor) if is_completed else row.problem
            outcomes.append(RowOutcome(RowResult.FAILED, reason=reason))
        elif row.kind not in allowed:
            reason = _FORBIDDEN(kind=Message(f"resource_name.{row.kind}"))
            outcomes.append(RowOutcome(RowResult.FAILED, reason=reason))
        else:
            outcomes.append(add_notes(_name_file_columns(next(imported), row), row.notes))
    return outcomes


def _find_all_problems(row: ImportRow, allowed: frozenset[str], actor: str) -> Message | None:
    """Return the errors of the cells that can't be read, and of the other columns, so that all are corrected at once.

    The other cells are validated by a dry run, which is rolled back.
    """
    if row.problem is None or row.readable_body is None or row.file_columns is None or row.kind not in allowed:
        return row.problem
    readable_row = replace(row, body=row.readable_body)
    with transaction.atomic():
        (outcome,) = _import_rows([(readable_row, row.readable_body)], actor=actor, at=timezone.now(), dry=True)
        transaction.set_rollback(True)
    if outcome.result != RowResult.FAILED or outcome.reason is None:
        return row.problem
    problems = get_items(row.problem)
    unreadable_columns = {_get_column(problem) for problem in problems}
    errors = get_items(row.file_columns.rename(outcome.reason))
    # Errors without a column may only be caused by the missing cells.
    return join_messages(
        [*problems, *(error for error in errors if _get_column(error) not in {*unreadable_columns, ""})]
    )


def _get_column(message: Message) -> str:
    """Return the column of the file that a message names, or an empty string."""
    if message.code == PART_ERROR.code:
        return _get_column(message.get("error"))
    return str(message.params["column"]) if message.code == COLUMN_ERROR.code else ""


def _name_file_columns(outcome: RowOutcome, row: ImportRow) -> RowOutcome:
    if row.file_columns is None or outcome.reason is None:
        return outcome
    return replace(outcome, reason=row.file_columns.rename(outcome.reason))


def _import_rows(
    rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool
) -> Sequence[RowOutcome]:
    import_rows = partial(get_importers()[rows[0][0].kind].import_rows, rows, actor=actor, at=at, dry=dry)
    return import_rows() if len(rows) > 1 else [import_in_savepoint(lambda: import_rows()[0])]


def import_in_savepoint(import_row: Callable[[], RowOutcome]) -> RowOutcome:
    """Call a function that imports a row in a savepoint, and turn its errors into a failed result."""
    try:
        with transaction.atomic():
            return import_row()
    except DomainError as domain_error:
        return create_failed_outcome(domain_error)
    except IntegrityError as integrity_error:
        breach = find_violated_constraint(integrity_error)
        if breach is None:
            raise
        return RowOutcome(RowResult.FAILED, reason=FIELD_ERROR(field=breach.field, error=as_message(breach.message)))


def run_import(import_job: Import) -> RowResults:
    """Import a file. Rows that were imported before an interruption are skipped.

    Raises:
        ImportBusy: If another worker is processing the file.
        ImportLeaseLost: If another worker has taken over.
        UnreadableFile: If the file can't be read as a whole.
    """
    allowed_resources = get_allowed_resources(import_job.actor)
    with acquire_lease(import_job, State.IMPORTING) as claim:
        with open_import_file(import_job) as file:
            for batch in create_batches(number_rows(parse_file(file, import_job))):
                before, import_job.done = import_job.done, batch[-1].number
                if remaining := _skip_imported(import_job, batch):
                    alive = partial(claim.extend, done_rows=batch[0].number - 1)
                    with _prepare_batch(remaining, allowed_resources, alive) as ready:
                        outcomes = _import_batch(import_job, ready, allowed_resources, claim)
                    yield from zip((row for _, row, _ in remaining), outcomes, strict=True)
                    planner_statistics.refresh_statistics_while_writing(before, import_job.done)
        # After a takeover, the other worker may have deleted the file.
        claim.extend(done_rows=import_job.done)
        import_job.refused_file = store_refused_rows(import_job, alive=partial(claim.extend, done_rows=import_job.done))
        try:
            _finish(import_job, claim)
        except BaseException:
            remove_file(import_job.refused_file)
            raise
    remove_file(import_job.path)
    if import_job.done >= planner_statistics.MIN_CHANGED_ROWS:
        planner_statistics.refresh_statistics()


@transaction.atomic
def _finish(import_job: Import, claim: ImportLease) -> None:
    now = timezone.now()
    claim.extend(
        done_rows=import_job.done,
        total=import_job.done,
        state=State.DONE,
        refused_file=import_job.refused_file,
        finished_at=now,
    )
    ImportedRow.objects.filter(file=import_job, dry=True).delete()
    record_event(FINISHED, import_job, actor=import_job.actor, at=now)


def _skip_imported(import_job: Import, batch: Sequence[NumberedRow]) -> list[NumberedRow]:
    results = ImportedRow.objects.filter(file=import_job, dry=False, line__in=[row.line for _, row, _ in batch])
    imported_lines = set(results.values_list("line", flat=True))
    return [numbered_row for numbered_row in batch if numbered_row.row.line not in imported_lines]


@contextmanager
def _prepare_batch(
    batch: Sequence[NumberedRow], allowed: frozenset[str], alive: Callable[[], None]
) -> Iterator[Sequence[NumberedRow]]:
    """Fetch the external data of rows outside of any transaction, and yield the rows with this data."""
    importable_rows = [row for _, row, _ in batch if row.body is not None and row.kind in allowed]
    prepare = get_importers()[importable_rows[0].kind].prepare if importable_rows else None
    if prepare is None:
        yield batch
        return
    with prepare(importable_rows, alive=alive) as rows:
        ready = {row.line: row for row in rows}
        yield [numbered_row._replace(row=ready.get(numbered_row.row.line, numbered_row.row)) for numbered_row in batch]


def _import_batch(
    import_job: Import, batch: Sequence[NumberedRow], allowed: frozenset[str], claim: ImportLease
) -> list[RowOutcome]:
    """Import a batch of rows. If a row makes the batch fail, import the rows one by one."""
    try:
        return _import_and_save(import_job, batch, allowed, claim)
    except (DomainError, IntegrityError):
        if len(batch) == 1:
            return _import_and_save(import_job, batch, allowed, claim)
        return [
            outcome for numbered_row in batch for outcome in _import_batch(import_job, [numbered_row], allowed, claim)
        ]


@transaction.atomic
def _import_and_save(
    import_job: Import, batch: Sequence[NumberedRow], allowed: frozenset[str], claim: ImportLease
) -> list[RowOutcome]:
    claim.extend(done_rows=batch[-1].number)
    outcomes = import_batch(batch, allowed, actor=import_job.actor)
    # The changes are only saved for the first rows.
    results = [
        (row, outcome if number <= PREVIEW_ROWS else replace(outcome, changes={}))
        for (number, row, _), outcome in zip(batch, outcomes, strict=True)
    ]
    save_results(import_job, results, is_dry_run=False)
    return outcomes
