"""What became of rows, written down: for the preview with old and new values, for the report with reasons."""

from collections.abc import Generator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.exchange.domain.batches import Numbered
from apps.exchange.domain.rows import Outcome, RawRow, called
from apps.exchange.models import Import, ImportedRow
from apps.ground.money import plain
from apps.ground.retelling import tells
from apps.ground.tenancy import current_shop

# Of each object of a file, and what became of it.
Told: TypeAlias = Generator[tuple[RawRow, Outcome]]
_MORE = tells(gettext_noop("{count} more"))
# Characters of a value in the preview, and values of a row; a product may have thousands of variants.
MAX_TOLD, MAX_CHANGES = 120, 60


def told_of(batch: Sequence[Numbered], outcomes: Sequence[Outcome]) -> Told:
    """The rows of a batch, each with its fate."""
    for each, outcome in zip(batch, outcomes, strict=True):
        yield each.row, outcome


def note(kept: Import, told: Sequence[tuple[RawRow, Outcome]], *, dry: bool) -> None:
    """Write down what became of rows, and what they change; it is written once."""
    ImportedRow.objects.bulk_create([
        ImportedRow(
            shop=kept.shop,
            file=kept,
            dry=dry,
            line=row.line,
            kind=row.kind,
            fate=outcome.fate,
            label=(outcome.label or _called(row, outcome))[:255],
            reason=outcome.reason[:1000],
            source_key=outcome.source_key,
            changes=_told(outcome),
        )
        for row, outcome in told
    ])  # fmt: skip


def _called(row: RawRow, outcome: Outcome) -> str:
    """What a row that failed says of itself, by which people find it in their file."""
    if outcome.fate != ImportedRow.Fate.FAILED:
        return ""
    return row.called if row.body is None else called(row.body)


def _told(outcome: Outcome) -> list[list[str]]:
    """Field, old value and new one, as people read them."""
    told = [[name, *map(_in_words, values)] for name, values in outcome.changes.items()]
    left = len(told) - MAX_CHANGES
    return told if left <= 0 else [*told[:MAX_CHANGES], ["…", "", _MORE.format(count=left)]]


def _in_words(value: object) -> str:
    words = {None: "", "": "", True: "yes", False: "no"}
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return f"{timezone.localtime(value, current_shop().tzinfo):%Y-%m-%d %H:%M}"
    text = words[value] if value is None or isinstance(value, bool) else str(value)
    return text if len(text) <= MAX_TOLD else f"{text[:MAX_TOLD]}…"
