"""Import a confirmed file in batches."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.events.domain.recording import record_event
from apps.exchange.domain.apply_rows import get_allowed_resources, import_batch
from apps.exchange.domain.import_rows import ImportRow, RowOutcome
from apps.exchange.domain.imports import FINISHED, PREVIEW_ROWS, State, open_import_file
from apps.exchange.domain.lease import ImportLease, acquire_lease
from apps.exchange.domain.parser import parse_file
from apps.exchange.domain.resources import get_importers
from apps.exchange.domain.row_batches import NumberedRow, create_batches, number_rows
from apps.exchange.domain.row_results import RowResults, combine_results, save_results
from apps.exchange.domain.stored_files import remove_file
from apps.exchange.models import Import, ImportedRow
from apps.ground import planner_statistics


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
            for batch in create_batches(number_rows(parse_file(file, import_job.format, import_job.mapping))):
                before, import_job.done = import_job.done, batch[-1].number
                if remaining := _skip_imported(import_job, batch):
                    alive = partial(claim.extend, done_rows=batch[0].number - 1)
                    with _prepare_batch(remaining, allowed_resources, alive) as ready:
                        outcomes = _import_batch(import_job, ready, allowed_resources, claim)
                    yield from combine_results(remaining, outcomes)
                    planner_statistics.refresh_statistics_while_writing(before, import_job.done)
        with transaction.atomic():
            claim.extend(done_rows=import_job.done)
            now = timezone.now()
            Import.objects.filter(pk=import_job.pk).update(state=State.DONE, total=import_job.done, finished_at=now)
            ImportedRow.objects.filter(file=import_job, dry=True).delete()
            record_event(FINISHED, import_job, actor=import_job.actor, at=now)
    remove_file(import_job.path)
    if import_job.done >= planner_statistics.MIN_CHANGED_ROWS:
        planner_statistics.refresh_statistics()


def _skip_imported(import_job: Import, batch: Sequence[NumberedRow]) -> list[NumberedRow]:
    results = ImportedRow.objects.filter(
        file=import_job, dry=False, line__in=[numbered_row.row.line for numbered_row in batch]
    )
    imported_lines = set(results.values_list("line", flat=True))
    return [numbered_row for numbered_row in batch if numbered_row.row.line not in imported_lines]


@contextmanager
def _prepare_batch(
    batch: Sequence[NumberedRow], allowed: frozenset[str], alive: Callable[[], None]
) -> Iterator[Sequence[NumberedRow]]:
    """Fetch the external data of rows outside of any transaction, and yield the rows with this data."""
    importable_rows = [
        numbered_row.row
        for numbered_row in batch
        if numbered_row.row.body is not None and numbered_row.row.kind in allowed
    ]
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
    except IntegrityError:
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
    save_results(
        import_job,
        [_get_result(numbered_row, outcome) for numbered_row, outcome in zip(batch, outcomes, strict=True)],
        is_dry_run=False,
    )
    return outcomes


def _get_result(numbered_row: NumberedRow, outcome: RowOutcome) -> tuple[ImportRow, RowOutcome]:
    """Return the row with the result to save. The changes are only saved for the first rows."""
    return numbered_row.row, outcome if numbered_row.number <= PREVIEW_ROWS else replace(outcome, changes={})
