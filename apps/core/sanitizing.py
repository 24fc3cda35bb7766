"""Sanitize HTML from users, and values of CSV files that a spreadsheet would run as formulas.

The size of HTML is limited, because the sanitizer's run time grows with the square of the number of nested tags.

A CSV string that a spreadsheet could interpret as a formula gets a leading apostrophe. A string that begins with an
apostrophe gets another one, because importers remove the first. Numbers are not escaped. Phone numbers are not escaped
either, because a plus sign followed only by digits is harmless. The package defusedcsv would escape phone numbers, and
would miss tabs, line breaks, leading blanks and full-width signs.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from numbers import Number
from typing import TYPE_CHECKING

import nh3

from apps.core.i18n.error_messages import too_long, too_many

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

MAX_BYTES = 512 * 1024
MAX_TAGS = 10_000


def find_html_error(html: str) -> str | None:
    """Return the error message for HTML that is too large, or None."""
    if len(html) > MAX_BYTES or len(html.encode(errors="replace")) > MAX_BYTES:
        return too_long(MAX_BYTES // 1024, "KB")
    if html.count("<") > MAX_TAGS:
        return too_many("tags", MAX_TAGS)
    return None


def sanitize_html(html: str) -> str:
    """Remove scripts and other active content from HTML for a preview."""
    return nh3.clean(html)


# Digits with a leading plus sign are a phone number, which is not escaped.
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?|\+[0-9]+", re.ASCII)
RISKY_START = re.compile(r"'|[\t\r\n]|\s*[=+\-@|%＝＋－＠｜％]")


def escape_formula(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, Number):
        return value
    text = str(value)
    if text[:1].isalnum():
        return text
    return f"'{text}" if RISKY_START.match(text) and not _NUMBER.fullmatch(text) else text


class SafeCsvWriter:
    """A CSV writer for rows with named columns."""

    def __init__(self, file: "SupportsWrite[str]", columns: Iterable[str], *, has_header: bool = False) -> None:
        self._columns = tuple(columns)
        self._writer = csv.writer(file)
        if not has_header:
            self._writer.writerow(self._columns)

    def write(self, row: Mapping[str, object]) -> None:
        """Write a row. Missing columns are blank."""
        self.write_cells(map(row.get, self._columns))

    def write_cells(self, cells: Iterable[object]) -> None:
        self._writer.writerow(map(escape_formula, cells))
