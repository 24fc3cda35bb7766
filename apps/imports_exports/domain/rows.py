"""The objects of an import file and their results, with changes for the preview and reasons for the report."""

import hashlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, TypeAlias

import orjson
from django.db.models import Q
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import COLUMN_ERROR, Message, define_message, define_text, get_items, join_messages
from apps.core.money import format_plain
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.imports_exports.domain.formats.file_columns import FileColumns
from apps.imports_exports.models import Import, ImportedRow

UNCHANGED = define_text("imports.unchanged", "already exists and is unchanged")
RowResult = ImportedRow.Fate
# An object from a file, in the format of a REST request body.
Body: TypeAlias = ReadOnlyAttrs
# The cells of a CSV row, keyed by column name.
Cells: TypeAlias = Mapping[str, str]


class NotedBody(NamedTuple):
    """A body, and what its reader left out or could not be sure of."""

    body: Body
    notes: Sequence[Message]


# The old and the new value, keyed by field name. The old value is None if the field had no value.
Changes: TypeAlias = Mapping[str, tuple[object, object]]


# Fields by which people recognize an object. The first field with a value is used.
_LABEL_FIELDS = ("name", "order", "title", "email", "handle", "phone", "first_name", "last_name", "sku")


def get_label(values: ReadOnlyAttrs) -> str:
    """Return a label by which people recognize an object or CSV row, or an empty string if no field has a value."""
    values_by_name = {name.lower(): value for name, value in values.items()}
    texts = (value for name in _LABEL_FIELDS if isinstance(value := values_by_name.get(name), str))
    # Remove unprintable characters, because failed rows may contain characters that the database can't store.
    readable = ("".join(filter(str.isprintable, text)).strip() for text in texts)
    return next(filter(None, readable), "")


class UnreadableCell(ValueError):
    """Raised when a cell can't be parsed. ``message`` contains the name of the column."""

    def __init__(self, column: str, error: Message) -> None:
        self.column = column
        self.message = COLUMN_ERROR(column=column, error=error)
        super().__init__(self.message)


class RowRefused(DomainError):
    pass


def refuse_cell(column: str, error: str) -> RowRefused:
    return RowRefused(COLUMN_ERROR(column=column, error=error))


def get_text(body: Body, name: str) -> str:
    """Return a member of a body without surrounding whitespace, or an empty string if it is no text."""
    value = body.get(name)
    return value.strip() if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """An object from a file. In a CSV file, an object may have several rows.

    Attributes:
        line: The number of the first line, counting from 1.
        kind: The name of the resource, or an empty string if the resource is unknown.
        body: The object, or None if the object can't be read, for which ``problem`` is the reason.
        label: A label for people. Only set if there is no body.
        readable_body: The object without the cells that can't be read, to validate its other cells.
        unknown: The unknown members of the object.
        fetched: External data, keyed by URL. None during validation, because validation fetches no data.
        notes: What the reader of the file left out or could not be sure of, although the object can be imported.
        source: The cells of all rows of the object as they are in the table, or its JSON line.
        file_columns: The names of columns in the file, for messages about the row.
    """

    line: int
    kind: str = ""
    body: Body | None = None
    problem: Message | None = None
    label: str = ""
    readable_body: Body | None = None
    unknown: frozenset[str] = frozenset()
    fetched: ReadOnlyAttrs | None = None
    notes: tuple[Message, ...] = ()
    source: Sequence[Sequence[str]] | bytes = ()
    file_columns: FileColumns | None = None

    @property
    def digest(self) -> str:
        """Return a hash that is the same for rows with equal objects."""
        return hashlib.sha256(orjson.dumps(self.body, default=str, option=orjson.OPT_SORT_KEYS)).hexdigest()[:40]


class NumberedRow(NamedTuple):
    """A row of a file, with its number (counting from 1) and the keys that identify its object within the file."""

    number: int
    row: ImportRow
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The result of a row.

    Attributes:
        label: The label by which people and ``Importer.find`` identify the object.
        source_key: A key that identifies a new object in later files. Blank if the object may be imported again.
        changes: The changes for the preview.
    """

    result: RowResult
    label: str = ""
    reason: Message | None = None
    source_key: str = ""
    changes: Changes = field(default_factory=dict)


def add_notes(outcome: RowOutcome, notes: Sequence[Message]) -> RowOutcome:
    """Add notes about the file to the result of a row. A failed row only has the reason of its failure."""
    if not notes or outcome.result == RowResult.FAILED:
        return outcome
    reasons = [] if outcome.reason is None else get_items(outcome.reason)
    return replace(outcome, reason=join_messages([*reasons, *notes]))


def has_notes(outcome: RowOutcome) -> bool:
    """Return True if the row did not fail, but staff should read a note about it.

    The usual reasons to skip a row have no parameters and are no notes.
    """
    if outcome.reason is None or outcome.result == RowResult.FAILED:
        return False
    return outcome.result != RowResult.SKIPPED or bool(outcome.reason.params)


# The stored results for which ``has_notes`` is true. A stored message has "params" only if it has parameters.
WITH_NOTES = ~Q(reason="") & (
    Q(fate__in=(RowResult.NEW, RowResult.CHANGED)) | Q(fate=RowResult.SKIPPED, reason__contains='"params"')
)


def keep_name(outcome: RowOutcome) -> RowOutcome:
    """Return the result of a row without its changes, except for the name of a new object."""
    names = {name: values for name, values in outcome.changes.items() if name in _LABEL_FIELDS}
    return replace(outcome, changes=names)


def create_failed_outcome(error: DomainError) -> RowOutcome:
    return RowOutcome(RowResult.FAILED, reason=error.sentence)


# A generator that yields each row of a file with its result.
RowResults: TypeAlias = Generator[tuple[ImportRow, RowOutcome]]
_YES, _NO = define_text("imports.yes", "yes"), define_text("imports.no", "no")
_MORE = define_message("imports.more", "{count} more")
# The maximum length of a value and the maximum number of changes in a preview. A product may have thousands of
# variants.
MAX_VALUE_LENGTH, MAX_CHANGES = 120, 60


def save_results(import_job: Import, results: Sequence[tuple[ImportRow, RowOutcome]], *, is_dry_run: bool) -> None:
    ImportedRow.objects.bulk_create([
        ImportedRow(
            shop=import_job.shop,
            file=import_job,
            dry=is_dry_run,
            line=row.line,
            kind=row.kind,
            fate=outcome.result,
            label=(outcome.label or _get_failed_label(row, outcome))[:255],
            reason=outcome.reason or "",
            source_key=outcome.source_key,
            changes=_encode_changes(outcome),
        )
        for row, outcome in results
    ])  # fmt: skip


def _get_failed_label(row: ImportRow, outcome: RowOutcome) -> str:
    """Return a label by which staff can find a failed row in the file, or an empty string if the row did not fail."""
    if outcome.result != ImportedRow.Fate.FAILED:
        return ""
    return row.label if row.body is None else get_label(row.body)


def _encode_changes(outcome: RowOutcome) -> list[list[object]]:
    """Return the name, the old value and the new value of each changed field as JSON: text or messages."""
    changes = [[_encode(name), *map(_encode, values)] for name, values in outcome.changes.items()]
    hidden_count = len(changes) - MAX_CHANGES
    return changes if hidden_count <= 0 else [*changes[:MAX_CHANGES], ["…", "", _MORE(count=hidden_count).to_json()]]


def _encode(value: object) -> object:
    if isinstance(value, bool):
        value = _YES if value else _NO
    if isinstance(value, Message):
        return value.to_json()
    if isinstance(value, Decimal):
        return format_plain(value)
    if isinstance(value, datetime):
        return f"{timezone.localtime(value, get_current_shop().tzinfo):%Y-%m-%d %H:%M}"
    text = "" if value is None else str(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"
