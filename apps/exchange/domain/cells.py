"""Cells of CSV files that no spreadsheet takes for a formula, and that come back as they were.

A text that could begin a formula gets an apostrophe in front; reading takes it off. Numbers stay numbers. Upon the rule
of defusedcsv ours also covers tabs, line breaks, blanks in front and the full-width signs.
Rule: reliability U12.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import IO, Protocol

from defusedcsv import csv

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_RISKY = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@|%＝＋－＠｜％])")
# Characters of a row, bytes of a line of JSON; longer ones are no data of ours.
MAX_ROW = 1024 * 1024
DELIMITERS = ",;\t"
_TRUE = frozenset({"true", "yes", "1"})


def guarded(value: object) -> object:
    """A value as it is written."""
    if value is None:
        return ""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}" if _RISKY.match(value) else value


def unguarded(cell: str) -> str:
    """A cell as it was before it was guarded."""
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell[1:]) else cell


def word(value: bool) -> str:
    """A yes or no as it is written."""
    return "true" if value else "false"


def is_true(cell: str) -> bool:
    """Whether a cell says yes."""
    return cell.strip().lower() in _TRUE


class Sink(Protocol):
    """What rows are written to."""

    def write(self, text: str, /) -> object:
        """Take a text."""


class Writer:
    """Writes rows of named columns."""

    def __init__(self, file: Sink, columns: Iterable[str]) -> None:
        """Write the header."""
        self._columns = tuple(columns)
        self._writer = csv.writer(file)
        self._writer.writerow(self._columns)

    def write(self, row: Mapping[str, object]) -> None:
        """Write a row; columns that it lacks are blank."""
        self._writer.writerow([guarded(row.get(name)) for name in self._columns])


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
            raise csv.Error(f"is longer than {MAX_ROW} characters")
        self.left -= len(line)
        return line


def read(file: IO[str], known: Collection[str] = ()) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows by the number of their last line: cells by column, or what is wrong with the row.

    Cells are separated by what separates the columns of the header: commas, semicolons or tabs.

    Args:
        file: Bytes that are no UTF-8 are surrogates in it (``errors="surrogateescape"``).
        known: Columns, of which the header must name one; any will do where there are none.

    Raises:
        ValueError: There is no header that can be used.
    """
    lines = _Lines(file)
    reader, columns = _headed(lines)
    if known and not set(known) & set(columns):
        raise ValueError("The first line names no column that is known.")
    while True:
        lines.left = MAX_ROW
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield lines.number, str(error)
            continue
        if any(cells):
            row = dict(zip(columns, map(unguarded, cells), strict=False))
            yield lines.number, _wrong_with(cells, columns) or row


def _headed(lines: _Lines) -> tuple[Iterator[list[str]], list[str]]:
    """A reader of the rows, and the columns that the first line names."""
    csv.field_size_limit(MAX_ROW)
    try:
        header = next(lines, "")
        reader = csv.reader(chain([header], lines), delimiter=max(DELIMITERS, key=header.count))
        columns = [name.strip().lower() for name in next(reader, [])]
    except csv.Error as error:
        raise ValueError(f"The first line cannot be read: {error}.") from None
    if not _is_text(columns):
        raise ValueError("The first line is not UTF-8.")
    if not any(columns) or len(set(columns)) < len(columns):
        raise ValueError("The first line must name every column once.")
    return reader, columns


def _wrong_with(cells: list[str], columns: list[str]) -> str:
    if len(cells) > len(columns):
        return f"has {len(cells)} cells, and there are {len(columns)} columns"
    if any("\x00" in cell for cell in cells):
        return "holds a NUL character"
    return "" if _is_text(cells) else "is not UTF-8"


def _is_text(cells: Iterable[str]) -> bool:
    """Whether there are no surrogates, which stand for bytes that nobody can read."""
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True
