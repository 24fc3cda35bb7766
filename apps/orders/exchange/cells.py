"""Cells of CSV files that no spreadsheet takes for a formula, and that come back as they were.

A text that could begin a formula gets an apostrophe in front; reading takes it off. Numbers stay numbers. Upon the rule
of defusedcsv ours also covers tabs, line breaks, blanks in front and the full-width signs.
Rule: reliability U12.
"""

import re
from collections.abc import Iterable, Iterator
from typing import IO, Any

from defusedcsv import csv

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_RISKY = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@|%＝＋－＠｜％])")
# Cells above this are no data of ours; the reader of the standard library refuses 128 KiB by itself.
MAX_CELL = 1024 * 1024


def guarded(value: Any) -> Any:
    """A value as it is written."""
    if value is None:
        return ""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}" if _RISKY.match(value) else value


def unguarded(cell: str) -> str:
    """A cell as it was before it was guarded."""
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell[1:]) else cell


class Writer:
    """Writes rows of named columns."""

    def __init__(self, file: IO[str], columns: Iterable[str]) -> None:
        """Write the header."""
        self._columns = tuple(columns)
        self._writer = csv.writer(file)
        self._writer.writerow(self._columns)

    def write(self, row: dict[str, Any]) -> None:
        """Write a row; columns that it lacks are blank."""
        self._writer.writerow([guarded(row.get(name)) for name in self._columns])


def read(file: IO[str]) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows by the number of their last line: cells by column, or what is wrong with the row.

    Raises:
        ValueError: There is no header, or it names a column twice.
    """
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(file)
    columns = [name.strip().lower() for name in next(reader, [])]
    if not any(columns) or len(set(columns)) < len(columns):
        raise ValueError("The first line must name every column once.")
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield reader.line_num, str(error)
            continue
        if not any(cells):
            continue
        if len(cells) > len(columns):
            yield reader.line_num, f"has {len(cells)} cells, and there are {len(columns)} columns"
        elif any("\x00" in cell for cell in cells):
            yield reader.line_num, "holds a NUL character"
        else:
            yield reader.line_num, {name: unguarded(cell) for name, cell in zip(columns, cells, strict=False)}
