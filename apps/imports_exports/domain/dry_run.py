"""Validate an import file with a dry run, which determines the result of each row without saving objects."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice

from django.db import IntegrityError, transaction

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message, define_text, get_items
from apps.imports_exports.domain.csv_reader import NoColumnKnown
from apps.imports_exports.domain.duplicate_index import DuplicateIndex
from apps.imports_exports.domain.imports import (
    PREVIEW_ROWS,
    REPORT_EVERY,
    State,
    find_ignored_columns,
    open_import_file,
)
from apps.imports_exports.domain.parser import parse_file
from apps.imports_exports.domain.resources import BATCH_SIZE, get_importers
from apps.imports_exports.domain.rows import (
    NumberedRow,
    RowOutcome,
    RowResult,
    RowResults,
    add_notes,
    has_notes,
    keep_name,
    save_results,
)
from apps.imports_exports.domain.runner import (
    ImportLease,
    acquire_lease,
    create_batches,
    get_allowed_resources,
    import_batch,
    number_rows,
)
from apps.imports_exports.models import Import, ImportedRow

_OCCURS_EARLIER = define_text("imports.occurs_earlier", "occurs earlier in the file")
_DIFFERS = define_message("imports.key_used_twice", "{key} is already used by a different entry on line {line}")


def validate_file(import_job: Import) -> RowResults:
    """Validate each row of a file. The results of the first rows and of all failed rows are saved for the preview.

    An interrupted validation continues after its last saved row.

    Raises:
        ImportBusy: If another worker is processing the file.
        ImportLeaseLost: If another worker has taken over.
        UnreadableFile: If the file as a whole can't be read.
    """
    allowed_resources = get_allowed_resources(import_job.actor)
    with acquire_lease(import_job, State.CHECKING) as claim, closing(DuplicateIndex()) as earlier_keys:
        import_job.refresh_from_db(fields=("done", "counts"))
        start = saved_at = import_job.done
        counts = Counter[str](import_job.counts)
        if not start and not _has_known_columns(import_job, claim):
            return
        with open_import_file(import_job) as file:
            rows = number_rows(parse_file(file, import_job))
            _reload_keys(import_job, islice(rows, start), earlier_keys)
            for batch in create_batches(rows):
                results = [
                    (numbered_row, _compare_with_earlier(numbered_row, outcome, earlier_keys))
                    for numbered_row, outcome in zip(
                        batch, _dry_run(batch, allowed_resources, import_job.actor), strict=True
                    )
                ]
                counts.update(outcome.result for _, outcome in results)
                saved_results = [
                    (row, outcome if number <= PREVIEW_ROWS else keep_name(outcome))
                    for (number, row, _), outcome in results
                    if number <= PREVIEW_ROWS or outcome.result == RowResult.FAILED or has_notes(outcome)
                ]
                import_job.done = batch[-1].number
                if saved_results or import_job.done >= saved_at + REPORT_EVERY:
                    saved_at = import_job.done
                    with transaction.atomic():
                        claim.extend(done_rows=saved_at, counts=dict(counts))
                        save_results(import_job, saved_results, is_dry_run=True)
                yield from ((row, outcome) for (_, row, _), outcome in results)
        with transaction.atomic():
            claim.extend(done_rows=import_job.done, counts=dict(counts))
            Import.objects.filter(pk=import_job.pk).update(state=State.CHECKED, total=import_job.done)


def _has_known_columns(import_job: Import, claim: ImportLease) -> bool:
    """Return True if at least one column is known. Otherwise, the user has to map the columns."""
    try:
        find_ignored_columns(import_job)
    except NoColumnKnown as error:
        with transaction.atomic():
            claim.extend(done_rows=0, counts={})
            Import.objects.filter(pk=import_job.pk).update(state=State.CHECKED, problem=str(error))
        return False
    return True


def _reload_keys(import_job: Import, rows: Iterator[NumberedRow], earlier_keys: DuplicateIndex) -> None:
    """Load the keys of rows that were validated before the interruption. Failed rows have no keys."""
    while batch := list(islice(rows, BATCH_SIZE)):
        failed_rows = ImportedRow.objects.filter(file=import_job, dry=True, fate=RowResult.FAILED)
        failures = set(failed_rows.filter(line__in=[row.line for _, row, _ in batch]).values_list("line", flat=True))
        for numbered_row in batch:
            if numbered_row.row.line not in failures:
                _add_keys(numbered_row, earlier_keys)


def _dry_run(batch: Sequence[NumberedRow], allowed: frozenset[str], actor: str) -> list[RowOutcome]:
    """Import the rows, and roll all changes back. Earlier rows of the file do not affect the results."""
    try:
        with transaction.atomic():
            outcomes = import_batch(batch, allowed, actor=actor, dry=True)
            transaction.set_rollback(True)
            return outcomes
    except (DomainError, IntegrityError):
        if len(batch) == 1:
            raise
        return [outcome for numbered_row in batch for outcome in _dry_run([numbered_row], allowed, actor)]


def _compare_with_earlier(numbered_row: NumberedRow, outcome: RowOutcome, earlier_keys: DuplicateIndex) -> RowOutcome:
    """Adjust the result of a row with an object that also occurs earlier in the file."""
    row, keys = numbered_row.row, numbered_row.keys
    if row.body is None or outcome.result == RowResult.FAILED:
        return outcome
    before = [(key, *match) for key in keys if (match := earlier_keys.find(row.kind, key))]
    if outcome.result == RowResult.NEW and before:
        key, first, line = before[0]
        if keys[0] not in {key, first} and first != key:
            return RowOutcome(RowResult.FAILED, reason=_DIFFERS(key=key, line=line))
    _add_keys(numbered_row, earlier_keys)
    if outcome.result == RowResult.NEW and before:
        importer = get_importers()[row.kind]
        result = RowOutcome(importer.duplicate_result, reason=_OCCURS_EARLIER, changes=outcome.changes)
        return add_notes(result, [] if outcome.reason is None else get_items(outcome.reason))
    # Clear the label of a new object. The object was rolled back, so the label identifies no object.
    return replace(outcome, label="" if outcome.result == RowResult.NEW else outcome.label, source_key="")


def _add_keys(numbered_row: NumberedRow, earlier_keys: DuplicateIndex) -> None:
    for key in numbered_row.keys:
        earlier_keys.add(numbered_row.row.kind, key, numbered_row.keys[0], numbered_row.row.line)
