"""The objects of a file that came in: what each holds, or why it cannot be read."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, NamedTuple

from django.utils.translation import gettext_noop

from apps.exchange.domain.cells import MAX_ROW, BadRow, Table, is_text, open_table
from apps.exchange.domain.columns import ColumnsUnknown, Mapped, Reading, mapped, reading_of
from apps.exchange.domain.kinds import Importer, importers, named
from apps.exchange.domain.rows import Cells, RawRow, Unreadable, called
from apps.exchange.domain.seen import Seen
from apps.exchange.models import Format
from apps.ground.phrases import BLANK
from apps.ground.retelling import tells
from apps.ground.strict_json import BadJson, parse_json

_APART = tells(gettext_noop("{what} stands in the file before; its rows must be together"))
_LEFT_OUT = tells(gettext_noop("{what} is left out as a whole: {problem}"))
_TOO_MANY_ROWS = tells(gettext_noop("{what} has more than {limit} rows"))
_NO_JSON = tells(gettext_noop("is no JSON: {error}"))
_NO_OBJECT = tells(gettext_noop("the line must be {forms}"))
_TOO_LONG = tells(gettext_noop("is longer than {limit} bytes"))

# Values of a column that show what it holds, characters of each, and the rows that they are looked for in.
_SAMPLES, _MOST_OF_SAMPLE, _SAMPLED = 3, 40, 50
# Nobody reads more of them.
MAX_UNKNOWN = 100


class UnreadableFile(ValueError):
    """The file as a whole cannot be read."""


class NothingKnown(UnreadableFile):
    """It is a table, and nobody knows one of its columns."""


def rows_of(file: IO[bytes], form: str, mapping: Mapped | None = None) -> Iterator[RawRow]:
    """The objects of a file, one by one.

    Args:
        file: The file.
        form: Of ``Format``.
        mapping: What people said its columns mean; None for what their names say.

    Raises:
        UnreadableFile: It is a table, and its header is unusable.
    """
    if form == Format.JSON_LINES:
        yield from _json_lines(file)
        return
    reading, rows = _table(file, mapping)
    if reading.importer.group_by:
        yield from _grouped(reading, rows)
        return
    for line, row in rows:
        if isinstance(row, BadRow):
            yield RawRow(line, reading.kind, problem=row.reason)
        else:
            yield _object(line, reading.kind, reading.importer, [reading.cells(row)])


class LeftOut(NamedTuple):
    """The columns of a table, or the members of objects, that nobody knows, and those that have no place here."""

    unknown: list[str]
    passed_over: list[str]


def left_out_in(file: IO[bytes], form: str, mapping: Mapped | None = None) -> LeftOut:
    """What of a file would be left out.

    Raises:
        UnreadableFile: It is a table, and its header is unusable.
    """
    if form != Format.JSON_LINES:
        reading = _table(file, mapping)[0]
        return LeftOut(list(reading.unknown)[:MAX_UNKNOWN], list(reading.passed_over))
    found: dict[str, None] = {}
    for row in _json_lines(file):
        found |= dict.fromkeys(sorted(row.unknown))
        if len(found) > MAX_UNKNOWN:
            break
    return LeftOut(list(found)[:MAX_UNKNOWN], [])


# --- lines of JSON ---------------------------------------------------------------------------------------------------


def _json_lines(file: IO[bytes]) -> Iterator[RawRow]:
    kinds = {named(name).singular: name for name in importers()}
    line = 0
    while text := file.readline(MAX_ROW + 1):
        line += 1
        if len(text) > MAX_ROW:
            while text and not text.endswith(b"\n"):
                text = file.readline(MAX_ROW)
            yield RawRow(line, problem=_TOO_LONG.format(limit=MAX_ROW))
        elif text.strip():
            yield _json_row(line, text.strip().removeprefix(b"\xef\xbb\xbf"), kinds)


def _json_row(line: int, text: bytes, kinds: dict[str, str]) -> RawRow:
    """One line; ``kinds`` are the names of kinds by what they are called in it."""
    try:
        value = parse_json(text, limit=MAX_ROW)
    except BadJson as error:
        return RawRow(line, problem=_NO_JSON.format(error=error))
    if isinstance(value, dict) and len(value) == 1:
        [(key, body)] = value.items()
        if key in kinds and isinstance(body, dict):
            kind = kinds[key]
            return RawRow(line, kind, body, unknown=frozenset(body) - importers()[kind].members)
    forms = " or ".join(f'{{"{key}": {{…}}}}' for key in sorted(kinds))
    return RawRow(line, problem=_NO_OBJECT.format(forms=forms))


# --- tables ----------------------------------------------------------------------------------------------------------

Rows = Iterator[tuple[int, list[str] | BadRow]]


def columns_in(file: IO[bytes]) -> dict[str, list[str]]:
    """The columns of a table, as it names them, each with the first different values in it.

    Raises:
        UnreadableFile: The header is unusable.
    """
    table = _opened_table(file)
    found: list[dict[str, None]] = [{} for _ in table.columns]
    for _, row in islice(table.rows, _SAMPLED):
        cells = [] if isinstance(row, BadRow) else row
        for values, cell in zip(found, cells, strict=False):
            if cell.strip() and len(values) < _SAMPLES:
                values[cell.strip()[:_MOST_OF_SAMPLE]] = None
    return {column: list(values) for column, values in zip(table.columns, found, strict=True)}


def _table(file: IO[bytes], mapping: Mapped | None) -> tuple[Reading, Rows]:
    table = _opened_table(file)
    try:
        reading = reading_of(table.columns, importers()) if mapping is None else mapped(table.columns, mapping)
    except ColumnsUnknown as error:
        raise NothingKnown(str(error)) from None
    except ValueError as error:
        raise UnreadableFile(str(error)) from None
    return reading, table.rows


def _opened_table(file: IO[bytes]) -> Table:
    try:
        return open_table(io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline=""))
    except ValueError as error:
        raise UnreadableFile(str(error)) from None


def _grouped(reading: Reading, rows: Rows) -> Iterator[RawRow]:
    """The objects of a table in which one takes several rows.

    A row that cannot be read takes its object with it: half of an object is none. Where it cannot be told whose row it
    was, that is the object before it and the one behind.
    """
    with Seen() as seen:
        yield from _groups(reading, rows, seen)


def _groups(reading: Reading, rows: Rows, seen: Seen) -> Iterator[RawRow]:
    group: _Group | None = None
    doubt = ""
    for line, row in rows:
        problem, key = "", _key(reading, row)
        if isinstance(row, BadRow):
            problem = f"line {line} {row.reason}"
            if key is None:
                yield RawRow(line, reading.kind, problem=row.reason)
                doubt = f"{problem}, and may be a part of it"
                if group is not None:
                    group.problem = group.problem or doubt
                continue
        assert key is not None
        if group is None or group.cell != key:
            if group is not None:
                yield group.whole(seen)
            group = _Group(line, reading, key, problem=doubt)
        doubt = ""
        group.problem = group.problem or problem
        if not isinstance(row, BadRow):
            group.add(reading.cells(row))
    if group is not None:
        yield group.whole(seen)


def _key(reading: Reading, row: list[str] | BadRow) -> str | None:
    """The cell by which rows are grouped; None where the row cannot be read that far."""
    if isinstance(row, BadRow):
        key = reading.cells(row.cells).get(reading.importer.group_by, "")
        return key if key and is_text([key]) and "\x00" not in key else None
    return reading.cells(row).get(reading.importer.group_by, "")


@dataclass(slots=True)
class _Group:
    """Consecutive rows of one object.

    Attributes:
        line: Where they begin.
        reading: How they are read.
        cell: What they have in common.
        problem: Why the object cannot be had of them.
        rows: One more than there may be, where there are too many.
    """

    line: int
    reading: Reading
    cell: str
    problem: str = ""
    rows: list[Cells] = field(default_factory=list)

    def add(self, cells: Cells) -> None:
        """Take one more row."""
        if len(self.rows) <= self.reading.importer.most_rows:
            self.rows.append(cells)

    def whole(self, seen: Seen) -> RawRow:
        """The object; ``seen`` holds the cells before it, of whose objects it may be a part."""
        kind, importer = self.reading.kind, self.reading.importer
        what, most = f"{named(kind).singular} {self.cell}", importer.most_rows
        if not self.cell:
            return RawRow(self.line, kind, problem=f"{importer.group_by}: {BLANK}")
        if not seen.add(kind, self.cell):
            return self._refused(_APART.format(what=what))
        if self.problem:
            return self._refused(_LEFT_OUT.format(what=what, problem=self.problem))
        if len(self.rows) > most:
            return self._refused(_TOO_MANY_ROWS.format(what=what, limit=most))
        return _object(self.line, kind, importer, self.rows)

    def _refused(self, problem: str) -> RawRow:
        return RawRow(self.line, self.reading.kind, problem=problem, called=self.cell)


def _object(line: int, kind: str, importer: Importer, rows: list[Cells]) -> RawRow:
    try:
        return RawRow(line, kind, importer.body(rows))
    except Unreadable as error:
        return RawRow(line, kind, problem=str(error), called=called(rows[0]))
