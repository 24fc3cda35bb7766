"""An object of an import file, and its result."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from apps.exchange.models import ImportedRow
from apps.ground.exceptions import DomainError
from apps.ground.types import ReadOnlyAttrs

RowResult = ImportedRow.Fate
# An object of a file as a body of the interface.
Body: TypeAlias = ReadOnlyAttrs
# A CSV row by column.
Cells: TypeAlias = Mapping[str, str]
# By field, the old value (None if there was none) and the new value.
Changes: TypeAlias = Mapping[str, tuple[object, object]]


# Fields that identify an object for people, first match wins.
_LABEL_FIELDS = ("name", "order", "title", "email", "handle", "phone", "first_name", "last_name")


def get_label(values: ReadOnlyAttrs) -> str:
    """Return a label that identifies an object or CSV row for people; blank if no field can identify the row."""
    values_by_name = {name.lower(): value for name, value in values.items()}
    texts = (value for name in _LABEL_FIELDS if isinstance(value := values_by_name.get(name), str))
    # Failed rows may contain anything, including characters that the database can't store.
    readable = ("".join(filter(str.isprintable, text)).strip() for text in texts)
    return next(filter(None, readable), "")


class UnreadableCell(ValueError):
    """Raised when a cell can't be understood."""


class RowRefused(DomainError):
    """Raised when values of a row are invalid."""

    code = "row_refused"


@dataclass(frozen=True, slots=True)
class ImportRow:
    """An object of a file; in a CSV file it may have several rows.

    Attributes:
        line: The first line, from 1.
        kind: The resource; blank if unknown.
        body: The object as a body of the interface.
        problem: Why there is no body.
        label: The label of an object without a body, for people.
        unknown: Unknown members.
        fetched: External data by URL; None in a validation, which fetches nothing.
    """

    line: int
    kind: str = ""
    body: Body | None = None
    problem: str = ""
    label: str = ""
    unknown: frozenset[str] = frozenset()
    fetched: ReadOnlyAttrs | None = None

    @property
    def digest(self) -> str:
        """Return a hash that is the same for equal rows."""
        return hashlib.sha256(orjson.dumps(self.body, default=str, option=orjson.OPT_SORT_KEYS)).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The result of a row.

    Attributes:
        result: Created, updated, skipped or failed.
        label: The label by which ``Importer.find`` and people identify the object.
        reason: Why the row was skipped or failed.
        source_key: A key that identifies a new object in later files; blank if the object may be imported again.
        changes: By field, old and new value for the preview.
    """

    result: RowResult
    label: str = ""
    reason: str = ""
    source_key: str = ""
    changes: Changes = field(default_factory=dict)


def create_failed_outcome(error: DomainError) -> RowOutcome:
    """Return the result of a row with invalid values."""
    return RowOutcome(RowResult.FAILED, reason=error.sentence)
