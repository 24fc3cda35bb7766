"""Read CSV files row by row, clean the rows of tables, and remove the apostrophe that marks a cell as text.

Our exports put the apostrophe before formulas and before other apostrophes (``apps.core.sanitizing``). Spreadsheets and
other systems also put it before codes and numbers, so that these keep their zeros.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO

from defusedcsv import csv

from apps.core.i18n.messages import Message, as_message, define_message, define_text
from apps.core.sanitizing import RISKY_START
from apps.imports_exports.models import ENCODING_NAMES, Encoding

_WRONG_WIDTH = define_message("imports.wrong_width", "has {number} cells, but the file has {width} columns")
_TOO_LONG = define_message("imports.row_too_long", "is longer than {limit} characters")
_HAS_NUL = define_text("imports.has_nul", "contains a NUL character")
_NOT_UTF8 = define_text("imports.not_utf8", "is not UTF-8")
_NOT_IN_ENCODING = define_message("imports.not_in_encoding", "has characters that are not {encoding}")
_HEADER_UNREADABLE = define_message("imports.header_unreadable", "The first line can't be read: {error}.")
_HEADER_NOT_UTF8 = define_text(
    "imports.header_not_utf8", "The first line is not UTF-8. Save the file as CSV UTF-8 and upload it again."
)
_READ_AS = define_message("imports.read_as", "The file is read as {encoding}.")
_NO_HEADER = define_text("imports.no_header", "The first line must contain the column names.")

# Maximum length of a CSV row in characters.
MAX_ROW = 1024 * 1024
DELIMITERS = ",;\t|"
# A first line that sets the delimiter, such as ``sep=;``.
_DELIMITER_LINE = re.compile(r'"?sep=([^"\r\n])"?[,;\t]*\r?\n?', re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
_NO_NAME = re.compile(r"column [0-9]+, which has no name")


class UnreadableFile(ValueError):
    """Raised when the file as a whole can't be read."""


class NoColumnKnown(UnreadableFile):
    """Raised when no column of a CSV file is known."""


def remove_guard(cell: str) -> str:
    """Remove the apostrophe that marks a cell as text.

    An apostrophe before a word without digits (such as ``'s-Hertogenbosch``) or before several words is part of the
    text. Exports double it.
    """
    if not cell.startswith("'"):
        return cell
    text = cell[1:]
    is_word = sum(map(str.isalpha, text)) > 1 and not any(map(str.isdigit, text)) and not text.startswith("'")
    has_several_words = len(text.split(maxsplit=1)) > 1 and any(map(str.isalpha, text))
    return cell if (is_word or has_several_words) and not RISKY_START.match(text) else text


def name_column(number: int) -> str:
    """Return the name of a column that has no name in the file."""
    return f"column {number}, which has no name"


def has_name(column: str) -> bool:
    """Return True if a column has a name in the file."""
    return _NO_NAME.fullmatch(column) is None


def format_bool(value: bool) -> str:
    return "true" if value else "false"


class _Lines:
    """Iterates over the lines of a file and counts them. The end of a line that is too long is skipped."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.number, self.remaining = 0, MAX_ROW

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self.remaining + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > self.remaining:
            while line and not line.endswith(("\n", "\r")):
                line = self._file.readline(MAX_ROW)
            raise csv.Error(_TOO_LONG(limit=MAX_ROW))
        self.remaining -= len(line)
        return line


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that can't be read, with its cells if they are known.

    Attributes:
        extra: The values after the last column, if this is the only problem of the row.
        original_rows: The rows in the file, if the row is part of a converted table.
    """

    reason: Message
    cells: Sequence[str] = ()
    extra: Sequence[str] = ()
    original_rows: Sequence[Sequence[str]] | None = None

    @property
    def source(self) -> Sequence[Sequence[str]]:
        """Return the cells of the rows in the file."""
        return [[*self.cells, *self.extra]] if self.original_rows is None else self.original_rows


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is read row by row.

    Attributes:
        rows: For each row, the number of its last line, and its cells or a ``BadRow``. A row can have fewer cells than
            there are columns.
        note: What staff should know about how the file is read.
    """

    columns: Sequence[str]
    rows: Iterator[tuple[int, list[str] | BadRow]]
    note: Message | None = None


def open_table(file: IO[str], encoding: str = Encoding.UTF8) -> Table:
    """Open a CSV file. The header determines the delimiter: a comma, a semicolon, a tab or a vertical bar.

    Args:
        file: A file opened with ``errors="surrogateescape"``, so that bytes that are not in the encoding become
            surrogates.
        encoding: The encoding, for messages.

    Raises:
        UnreadableFile: If the header is unusable.
    """
    lines = _Lines(file)
    reader, columns = _read_header(lines)
    note = _READ_AS(encoding=ENCODING_NAMES[encoding]) if encoding != Encoding.UTF8 else None
    return Table(columns, _iterate_rows(lines, reader, columns, encoding), note)


def _iterate_rows(
    lines: _Lines, reader: Iterator[list[str]], columns: Sequence[str], encoding: str
) -> Iterator[tuple[int, list[str] | BadRow]]:
    while True:
        lines.remaining = MAX_ROW
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield lines.number, BadRow(as_message(str(error)))
            continue
        if any(cells):
            yield lines.number, clean_cells(cells, columns, encoding)


def clean_cells(cells: list[str], columns: Sequence[str], encoding: str = Encoding.UTF8) -> list[str] | BadRow:
    """Return the cells of a row without blank cells after the last column, and without apostrophes of spreadsheets."""
    while len(cells) > len(columns) and not cells[-1].strip():
        cells.pop()
    problem = _find_problem(cells, len(columns), encoding)
    return problem or [remove_guard(cell) if cell[:1] == "'" else cell for cell in cells]


def _read_header(lines: _Lines) -> tuple[Iterator[list[str]], list[str]]:
    """Return an iterator over the rows, and the column names in the first line.

    The reader is strict, because an unclosed quote would otherwise swallow all following rows.
    """
    csv.field_size_limit(MAX_ROW)
    try:
        header = next(lines, "")
        delimiter = max(DELIMITERS, key=_QUOTED.sub("", header).count)
        if match := _DELIMITER_LINE.fullmatch(header):
            delimiter, header = match[1], next(lines, "")
        reader = csv.reader(chain([header], lines), delimiter=delimiter, strict=True)
        return reader, name_columns(next(reader, []))
    except csv.Error as error:
        raise UnreadableFile(_HEADER_UNREADABLE(error=as_message(str(error)))) from None


def name_columns(header: Sequence[str]) -> list[str]:
    """Return the names of the columns in the first row, with a name for each column that has none.

    Raises:
        UnreadableFile: If the row has no names, or is not valid text.
    """
    columns = [name.strip() for name in header]
    if not is_valid_text(columns) or any("\x00" in name for name in columns):
        raise UnreadableFile(_HEADER_NOT_UTF8)
    if not any(columns):
        raise UnreadableFile(_NO_HEADER)
    return [column or name_column(number) for number, column in enumerate(columns, 1)]


def _find_problem(cells: list[str], width: int, encoding: str) -> BadRow | None:
    if sum(map(len, cells)) > MAX_ROW:
        return BadRow(_TOO_LONG(limit=MAX_ROW))
    if len(cells) > width and is_valid_text(cells) and not any("\x00" in cell for cell in cells):
        row = [remove_guard(cell) for cell in cells]
        extra = [cell for cell in row[width:] if cell.strip()]
        return BadRow(_WRONG_WIDTH(number=len(cells), width=width), row[:width], extra)
    if any("\x00" in cell for cell in cells):
        return BadRow(_HAS_NUL, [remove_guard(cell) for cell in cells])
    if is_valid_text(cells):
        return None
    reason = _NOT_UTF8 if encoding == Encoding.UTF8 else _NOT_IN_ENCODING(encoding=ENCODING_NAMES[encoding])
    return BadRow(reason, [remove_guard(cell) for cell in cells])


def is_valid_text(cells: Iterable[str]) -> bool:
    """Return True if no cell has surrogates, which represent bytes that are not UTF-8."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True
