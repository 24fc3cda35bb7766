"""Tables that come in: read row by row, with cells as they were before they were guarded (``apps.ground.cells``)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO

from defusedcsv import csv
from django.utils.translation import gettext_noop

from apps.ground.cells import RISKY
from apps.ground.retelling import tells

_WRONG_WIDTH = tells(gettext_noop("has {number} cells, and there are {width} columns"))
_TOO_LONG = tells(gettext_noop("is longer than {limit} characters"))

# Characters of a row, bytes of a line of JSON; longer ones are no data of ours.
MAX_ROW = 1024 * 1024
DELIMITERS = ",;\t"
_TRUE = frozenset({"true", "yes", "1"})


def unguarded(cell: str) -> str:
    """A cell as it was before it was guarded."""
    return cell[1:] if cell.startswith("'") and RISKY.match(cell[1:]) else cell


def word(value: bool) -> str:
    """A yes or no as it is written."""
    return "true" if value else "false"


def is_true(cell: str) -> bool:
    """Whether a cell says yes."""
    return cell.strip().lower() in _TRUE


class _Lines:
    """The lines of a file, counted; of a row that is too long no more than the limit is ever held."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.number, self.left = 0, MAX_ROW

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self.left + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > self.left:
            while line and not line.endswith(("\n", "\r")):
                line = self._file.readline(MAX_ROW)
            raise csv.Error(_TOO_LONG.format(limit=MAX_ROW))
        self.left -= len(line)
        return line


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read.

    Attributes:
        reason: What is wrong with it.
        cells: As far as they stand under their columns; none where that cannot be told.
    """

    reason: str
    cells: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is read row by row.

    Attributes:
        columns: The names in the first line, as they are written.
        rows: By the number of their last line: cells, one for each column from the left, or what is wrong.
    """

    columns: Sequence[str]
    rows: Iterator[tuple[int, list[str] | BadRow]]


def open_table(file: IO[str]) -> Table:
    """A table whose cells are separated by what separates its columns: commas, semicolons or tabs.

    Args:
        file: Bytes that are no UTF-8 are surrogates in it (``errors="surrogateescape"``).

    Raises:
        ValueError: There is no header that can be used.
    """
    lines = _Lines(file)
    reader, columns = _headed(lines)
    return Table(columns, _rows(lines, reader, len(columns)))


def _rows(lines: _Lines, reader: Iterator[list[str]], width: int) -> Iterator[tuple[int, list[str] | BadRow]]:
    while True:
        lines.left = MAX_ROW
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield lines.number, BadRow(str(error))
            continue
        if any(cells):
            yield lines.number, _bad(cells, width) or [unguarded(cell) for cell in cells]


def _headed(lines: _Lines) -> tuple[Iterator[list[str]], list[str]]:
    """A reader of the rows, and the columns that the first line names.

    The reader is strict: a quote that is never closed would make one cell of all the rows behind it.
    """
    csv.field_size_limit(MAX_ROW)
    try:
        header = next(lines, "")
        reader = csv.reader(chain([header], lines), delimiter=max(DELIMITERS, key=header.count), strict=True)
        columns = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise ValueError(f"The first line cannot be read: {error}.") from None
    if not is_text(columns):
        raise ValueError(gettext_noop("The first line is not UTF-8."))
    if not any(columns):
        raise ValueError(gettext_noop("The first line must name the columns."))
    return reader, columns


def _bad(cells: list[str], width: int) -> BadRow | None:
    if len(cells) > width:
        return BadRow(_WRONG_WIDTH.format(number=len(cells), width=width))
    if any("\x00" in cell for cell in cells):
        return BadRow(gettext_noop("holds a NUL character"), cells)
    return None if is_text(cells) else BadRow(gettext_noop("is not UTF-8"), cells)


def is_text(cells: Iterable[str]) -> bool:
    """Whether there are no surrogates, which stand for bytes that nobody can read."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True
