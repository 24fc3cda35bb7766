"""Describes the tables of another system. ``apps/imports_exports/resources`` declares the formats."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from apps.core.i18n.messages import Message

# The parent of rows that follow the row of their object and do not name it.
PREVIOUS = "\x00previous"


class Unconvertible(ValueError):
    """Raised when an object can't be expressed in our table."""

    def __init__(self, message: Message) -> None:
        self.message = message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row of the file. ``cells`` is keyed by normalized column name (see ``normalize_column_name``)."""

    line: int
    cells: Mapping[str, str]

    def get(self, *columns: str) -> str:
        """Return the first cell of these columns that is not blank, without surrounding whitespace."""
        return next(filter(None, (self.cells.get(column, "").strip() for column in columns)), "")

    def rename(self, translate: Callable[[str], str]) -> "SourceRow":
        """Return the row with the names that ``translate`` returns for its columns."""
        return SourceRow(self.line, {translate(column): cell for column, cell in self.cells.items()})

    def has(self, column: str) -> bool:
        """Return True if the file has the column."""
        return column in self.cells


@dataclass(frozen=True, slots=True)
class RowLinks:
    """Describes how a row is connected with other rows of its object.

    Attributes:
        names: The identifiers by which other rows refer to this row, such as ``id:12``.
        parent: An identifier of the row to which this row belongs, or ``PREVIOUS``. Blank if the row is an object.
        children: The identifiers of rows that belong to this row.
        may_be_alone: True if the row is an object of its own if no other row has the identifier ``parent``.
    """

    names: Sequence[str] = ()
    parent: str = ""
    children: Sequence[str] = ()
    may_be_alone: bool = False


@dataclass(slots=True)
class ConvertedObject:
    """An object in the columns of our table.

    Attributes:
        key: The proposed value of the grouping column.
        suffix: What to append to the key if an earlier object in the file has the same key.
        rows: The cells of each row, keyed by our column name. A missing column leaves the stored value unchanged.
        notes: What could not be converted, although the object can be imported.
    """

    key: str
    suffix: str = ""
    rows: list[dict[str, str]] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ConvertedRow:
    """A row of a converted object, keyed by our column name.

    The first row of an object has its notes, and the cells of all its rows in the file.
    """

    cells: Mapping[str, str]
    notes: Sequence[Message] = ()
    source: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """The table of another system.

    Attributes:
        is_recognized: Returns True if a table with these normalized column names has this format.
        is_read: Returns True if the conversion reads a column, by its normalized name. Staff see the other columns.
        sources: The columns that are converted to each of our columns, for error messages.
        translate: Returns the name in ``sources`` for a normalized column name.
        get_links: Returns the connections of a row.
        convert: Converts the rows of an object, the row of the object itself first, or raises ``Unconvertible``.
    """

    is_recognized: Callable[[Collection[str]], bool]
    is_read: Callable[[str], bool]
    sources: Mapping[str, Sequence[str]]
    get_links: Callable[[SourceRow], RowLinks]
    convert: Callable[[Sequence[SourceRow]], ConvertedObject]
    translate: Callable[[str], str] = str
