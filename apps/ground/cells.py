"""Cells of CSV files that no spreadsheet takes for a formula.

A text that could begin a formula gets an apostrophe in front. Numbers stay numbers, and so do phone numbers: a plus and
digits alone compute nothing. Upon the rule of defusedcsv, whose writer would guard those too, ours also covers tabs,
line breaks, blanks in front and the full-width signs.
Rule: reliability U12.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Protocol

# With a plus it is a phone number.
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?|\+[0-9]+", re.ASCII)
RISKY = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@|%＝＋－＠｜％])")


def guarded(value: object) -> object:
    """A value as it is written."""
    if value is None:
        return ""
    if isinstance(value, Number):
        return value
    text = str(value)
    return f"'{text}" if RISKY.match(text) and not _NUMBER.fullmatch(text) else text


class Sink(Protocol):
    """What rows are written to."""

    def write(self, text: str, /) -> object:
        """Take a text."""


class Writer:
    """Writes rows of named columns."""

    def __init__(self, file: Sink, columns: Iterable[str], *, has_header: bool = False) -> None:
        """Write the header, where the file has none."""
        self._columns = tuple(columns)
        self._writer = csv.writer(file)
        if not has_header:
            self._writer.writerow(self._columns)

    def write(self, row: Mapping[str, object]) -> None:
        """Write a row; columns that it lacks are blank."""
        self._writer.writerow([guarded(row.get(name)) for name in self._columns])
