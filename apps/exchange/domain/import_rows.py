"""The objects of an import file and their results."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from apps.exchange.models import ImportedRow
from apps.ground.exceptions import DomainError
from apps.ground.types import ReadOnlyAttrs

RowResult = ImportedRow.Fate
# An object from a file, in the format of a REST request body.
Body: TypeAlias = ReadOnlyAttrs
# The cells of a CSV row, keyed by column name.
Cells: TypeAlias = Mapping[str, str]
# The old and the new value, keyed by field name. The old value is None if the field had no value.
Changes: TypeAlias = Mapping[str, tuple[object, object]]


# Fields by which people recognize an object. The first field with a value is used.
_LABEL_FIELDS = ("name", "order", "title", "email", "handle", "phone", "first_name", "last_name")


def get_label(values: ReadOnlyAttrs) -> str:
    """Return a label by which people recognize an object or CSV row, or an empty string if no field has a value."""
    values_by_name = {name.lower(): value for name, value in values.items()}
    texts = (value for name in _LABEL_FIELDS if isinstance(value := values_by_name.get(name), str))
    # Remove unprintable characters, because failed rows may contain characters that the database can't store.
    readable = ("".join(filter(str.isprintable, text)).strip() for text in texts)
    return next(filter(None, readable), "")


class UnreadableCell(ValueError):
    """Raised when a cell can't be parsed."""


class RowRefused(DomainError):
    """Raised when a row contains invalid values."""

    code = "row_refused"


@dataclass(frozen=True, slots=True)
class ImportRow:
    """An object from a file. In a CSV file, an object may have several rows.

    Attributes:
        line: The number of the first line, counting from 1.
        kind: The name of the resource, or an empty string if the resource is unknown.
        body: The object in the format of a REST request body, or None if the object can't be read.
        problem: The reason why there is no body.
        label: A label for people. Only set if there is no body.
        unknown: The unknown members of the object.
        fetched: External data, keyed by URL. None during validation, because validation fetches no data.
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
        """Return a hash that is the same for rows with equal objects."""
        return hashlib.sha256(orjson.dumps(self.body, default=str, option=orjson.OPT_SORT_KEYS)).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The result of a row.

    Attributes:
        result: Created, updated, skipped or failed.
        label: The label by which people and ``Importer.find`` identify the object.
        reason: Why the row was skipped or failed.
        source_key: A key that identifies a new object in later files. Blank if the object may be imported again.
        changes: The old and the new value for the preview, keyed by field name.
    """

    result: RowResult
    label: str = ""
    reason: str = ""
    source_key: str = ""
    changes: Changes = field(default_factory=dict)


def create_failed_outcome(error: DomainError) -> RowOutcome:
    """Return a failed result with the error message as the reason."""
    return RowOutcome(RowResult.FAILED, reason=error.sentence)
