"""Save the results of import rows, with old and new values for the preview and reasons for the report."""

from collections.abc import Generator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.exchange.domain.import_rows import ImportRow, RowOutcome, get_label
from apps.exchange.domain.row_batches import NumberedRow
from apps.exchange.models import Import, ImportedRow
from apps.ground.money import format_plain
from apps.ground.stored_messages import register_message
from apps.ground.tenancy import get_current_shop

# A generator that yields each row of a file with its result.
RowResults: TypeAlias = Generator[tuple[ImportRow, RowOutcome]]
_MORE = register_message(gettext_noop("{count} more"))
# The maximum length of a value and the maximum number of changes in a preview. A product may have thousands of
# variants.
MAX_VALUE_LENGTH, MAX_CHANGES = 120, 60


def combine_results(batch: Sequence[NumberedRow], outcomes: Sequence[RowOutcome]) -> RowResults:
    """Yield the rows of a batch with their results."""
    for numbered_row, outcome in zip(batch, outcomes, strict=True):
        yield numbered_row.row, outcome


def save_results(import_job: Import, results: Sequence[tuple[ImportRow, RowOutcome]], *, is_dry_run: bool) -> None:
    """Save the results of rows."""
    ImportedRow.objects.bulk_create([
        ImportedRow(
            shop=import_job.shop,
            file=import_job,
            dry=is_dry_run,
            line=row.line,
            kind=row.kind,
            fate=outcome.result,
            label=(outcome.label or _get_failed_label(row, outcome))[:255],
            reason=outcome.reason[:1000],
            source_key=outcome.source_key,
            changes=_format_changes(outcome),
        )
        for row, outcome in results
    ])  # fmt: skip


def _get_failed_label(row: ImportRow, outcome: RowOutcome) -> str:
    """Return a label by which staff can find a failed row in the file, or an empty string if the row did not fail."""
    if outcome.result != ImportedRow.Fate.FAILED:
        return ""
    return row.label if row.body is None else get_label(row.body)


def _format_changes(outcome: RowOutcome) -> list[list[str]]:
    """Return the name, the old value and the new value of each changed field, formatted as text."""
    changes = [[name, *map(_format_value, values)] for name, values in outcome.changes.items()]
    hidden_count = len(changes) - MAX_CHANGES
    return changes if hidden_count <= 0 else [*changes[:MAX_CHANGES], ["…", "", _MORE.format(count=hidden_count)]]


def _format_value(value: object) -> str:
    words = {None: "", "": "", True: "yes", False: "no"}
    if isinstance(value, Decimal):
        return format_plain(value)
    if isinstance(value, datetime):
        return f"{timezone.localtime(value, get_current_shop().tzinfo):%Y-%m-%d %H:%M}"
    text = words[value] if value is None or isinstance(value, bool) else str(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"
