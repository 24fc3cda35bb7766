"""Import objects as rows of an import file, so that the same rules apply."""

from collections.abc import Sequence

from django.db import IntegrityError, transaction

from apps.core.exceptions import DomainError
from apps.imports_exports.domain.rows import ImportRow, NumberedRow, RowOutcome, RowResult
from apps.imports_exports.domain.runner import create_batches, import_batch, number_rows
from apps.store_imports.domain.streams import ACTOR, Outcome

OUTCOMES = {
    RowResult.NEW: Outcome.NEW,
    RowResult.CHANGED: Outcome.CHANGED,
    RowResult.SKIPPED: Outcome.UNCHANGED,
    RowResult.FAILED: Outcome.FAILED,
}


def import_file_rows(kind: str, rows: Sequence[ImportRow]) -> dict[int, RowOutcome]:
    """Import rows of one resource in batches, or one by one if a batch is refused. Return the outcomes by line."""
    outcomes: dict[int, RowOutcome] = {}

    def import_together(batch: Sequence[NumberedRow]) -> None:
        with transaction.atomic():
            results = import_batch(batch, frozenset({kind}), actor=ACTOR)
        outcomes.update(zip((row.line for _, row, _ in batch), results, strict=True))

    for batch in create_batches(number_rows(iter(rows))):
        try:
            import_together(batch)
        except (DomainError, IntegrityError):
            for numbered_row in batch:
                import_together([numbered_row])
    return outcomes
