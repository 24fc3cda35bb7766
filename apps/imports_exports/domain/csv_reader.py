"""Read CSV files row by row, and remove the apostrophe that marks a cell as text.

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

_WRONG_WIDTH = define_message("imports.wrong_width", "has {number} cells, but the file has {width} columns")
_TOO_LONG = define_message("imports.row_too_long", "is longer than {limit} characters")
_HAS_NUL = define_text("imports.has_nul", "contains a NUL character")
_NOT_UTF8 = define_text("imports.not_utf8", "is not UTF-8")
_HEADER_UNREADABLE = define_message("imports.header_unreadable", "The first line can't be read: {error}.")
_HEADER_NOT_UTF8 = define_text(
    "imports.header_not_utf8", "The first line is not UTF-8. Save the file as CSV UTF-8 and upload it again."
)
_NO_HEADER = define_text("imports.no_header", "The first line must contain the column names.")

# Maximum length of a CSV row in characters.
MAX_ROW = 1024 * 1024
DELIMITERS = ",;\t"
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
    """

    reason: Message
    cells: Sequence[str] = ()
    extra: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file that is read row by row.

    Attributes:
        rows: For each row, the number of its last line, and its cells or a ``BadRow``. A row can have fewer cells than
            there are columns.
    """

    columns: Sequence[str]
    rows: Iterator[tuple[int, list[str] | BadRow]]


def open_table(file: IO[str]) -> Table:
    """Open a CSV file. The header determines whether the separator is a comma, a semicolon or a tab.

    Args:
        file: A file opened with ``errors="surrogateescape"``, so that bytes that are not UTF-8 become surrogates.

    Raises:
        UnreadableFile: If the header is unusable.
    """
    lines = _Lines(file)
    reader, columns = _read_header(lines)
    return Table(columns, _iterate_rows(lines, reader, len(columns)))


def _iterate_rows(lines: _Lines, reader: Iterator[list[str]], width: int) -> Iterator[tuple[int, list[str] | BadRow]]:
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
            while len(cells) > width and not cells[-1].strip():
                cells.pop()
            yield (
                lines.number,
                _find_problem(cells, width) or [remove_guard(cell) if cell[:1] == "'" else cell for cell in cells],
            )


def _read_header(lines: _Lines) -> tuple[Iterator[list[str]], list[str]]:
    """Return an iterator over the rows, and the column names in the first line.

    The reader is strict, because an unclosed quote would otherwise swallow all following rows.
    """
    csv.field_size_limit(MAX_ROW)
    try:
        header = next(lines, "")
        reader = csv.reader(chain([header], lines), delimiter=max(DELIMITERS, key=header.count), strict=True)
        columns = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise UnreadableFile(_HEADER_UNREADABLE(error=as_message(str(error)))) from None
    if not is_valid_text(columns):
        raise UnreadableFile(_HEADER_NOT_UTF8)
    if not any(columns):
        raise UnreadableFile(_NO_HEADER)
    return reader, [column or name_column(number) for number, column in enumerate(columns, 1)]


def _find_problem(cells: list[str], width: int) -> BadRow | None:
    if len(cells) > width and is_valid_text(cells) and not any("\x00" in cell for cell in cells):
        row = [remove_guard(cell) for cell in cells]
        extra = [cell for cell in row[width:] if cell.strip()]
        return BadRow(_WRONG_WIDTH(number=len(cells), width=width), row[:width], extra)
    if any("\x00" in cell for cell in cells):
        return BadRow(_HAS_NUL, [remove_guard(cell) for cell in cells])
    return None if is_valid_text(cells) else BadRow(_NOT_UTF8, [remove_guard(cell) for cell in cells])


def is_valid_text(cells: Iterable[str]) -> bool:
    """Return True if no cell has surrogates, which represent bytes that are not UTF-8."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True
