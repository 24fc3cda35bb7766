"""Parse an import file into objects. An object that can't be read has an error message instead of a body."""

import io
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, NamedTuple

from apps.core.i18n.error_messages import BLANK
from apps.core.i18n.messages import COLUMN_ERROR, Message, as_message, define_message
from apps.core.strict_json import InvalidJson, parse_json
from apps.imports_exports.domain.column_mapping import ColumnMapping, ColumnReading, apply_mapping, detect_columns
from apps.imports_exports.domain.csv_reader import BadRow, Table, is_valid_text, open_table
from apps.imports_exports.domain.resources import Importer, get_importers, resources
from apps.imports_exports.domain.rows import Cells, ImportRow, UnreadableCell, get_label
from apps.imports_exports.models import Format

_NOT_TOGETHER = define_message(
    "imports.rows_not_together", "{what} also occurs earlier in the file. Move its rows next to each other"
)
_LINE = define_message("imports.line", "line {line} {reason}")
_ADJACENT = define_message("imports.adjacent_line", "{problem}, and this line may be one of its rows")
_LEFT_OUT = define_message("imports.unreadable_row", "{what} can't be imported: {problem}")
_TOO_MANY_ROWS = define_message("imports.too_many_rows", "{what} has more than {limit} rows")
_NO_JSON = define_message("imports.not_json", "is not valid JSON: {error}")
_NO_OBJECT = define_message("imports.wrong_line", "the line must be {forms}")
_TOO_LONG = define_message("imports.line_too_long", "is longer than {limit} bytes")

# The number of sample values per column, the maximum length of a sample value, and the number of rows to read.
_SAMPLE_COUNT, _MAX_SAMPLE_LENGTH, _SAMPLED_ROWS = 3, 40, 50
# Maximum length of a JSON line in bytes. An order with 500 line items can have several mebibytes.
MAX_JSON_LINE = 16 * 1024 * 1024
# Maximum number of unknown columns that staff see.
MAX_UNKNOWN = 100


class DuplicateIndex:
    """An index of the objects in a file, with lookup by key. Each entry has the object's first key and line.

    The index is a private SQLite database in an unnamed temporary file, which is deleted on close.
    """

    def __init__(self) -> None:
        self._keys = sqlite3.connect("", isolation_level=None)
        for statement in (
            "PRAGMA cache_size = -8192",  # KiB
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "CREATE TABLE seen (kind TEXT, key TEXT, first TEXT, line INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID",
            "BEGIN",
        ):
            self._keys.execute(statement)

    def close(self) -> None:
        self._keys.close()

    def add(self, kind: str, key: str, first: str = "", line: int = 0) -> bool:
        """Add a key and return True if it is new."""
        row = (kind, key, first, line)
        return self._keys.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", row).rowcount > 0

    def find(self, kind: str, key: str) -> tuple[str, int] | None:
        """Return the first key and the line of the object with a key, or None if the key is unknown."""
        query = "SELECT first, line FROM seen WHERE kind = ? AND key = ?"
        return self._keys.execute(query, (kind, key)).fetchone()


def parse_file(file: IO[bytes], file_format: str, mapping: ColumnMapping | None = None) -> Iterator[ImportRow]:
    """Yield the objects of a file. Without ``mapping``, detect the columns.

    Raises:
        UnreadableFile: If the header of a CSV file is unusable.
    """
    if file_format == Format.JSON_LINES:
        yield from _parse_json_lines(file)
        return
    reading, rows = _read_table(file, mapping)
    if reading.importer.group_by:
        with closing(DuplicateIndex()) as known_cells:
            yield from _iterate_groups(reading, rows, known_cells)
        return
    for line, row in rows:
        if isinstance(row, BadRow):
            yield ImportRow(line, reading.kind, problem=row.reason)
        else:
            yield _create_row(line, reading.kind, reading.importer, [reading.get_cells(row)])


class IgnoredColumns(NamedTuple):
    """Columns of a CSV file, or members of JSON objects, that an import would ignore (see ``ColumnReading``)."""

    unknown: list[str]
    unsupported: list[str]


def find_ignored_in_file(file: IO[bytes], file_format: str, mapping: ColumnMapping | None = None) -> IgnoredColumns:
    """Find the columns or members of a file that would be ignored.

    Raises:
        UnreadableFile: If the header of a CSV file is unusable.
    """
    if file_format != Format.JSON_LINES:
        reading = _read_table(file, mapping)[0]
        return IgnoredColumns(list(reading.unknown)[:MAX_UNKNOWN], list(reading.unsupported))
    unknown: dict[str, None] = {}
    for row in _parse_json_lines(file):
        unknown |= dict.fromkeys(sorted(row.unknown))
        if len(unknown) > MAX_UNKNOWN:
            break
    return IgnoredColumns(list(unknown)[:MAX_UNKNOWN], [])


def _parse_json_lines(file: IO[bytes]) -> Iterator[ImportRow]:
    kinds = {resources[name].singular: name for name in get_importers()}
    line = 0
    while text := file.readline(MAX_JSON_LINE + 1):
        line += 1
        if len(text) > MAX_JSON_LINE:
            while text and not text.endswith(b"\n"):
                text = file.readline(MAX_JSON_LINE)
            yield ImportRow(line, problem=_TOO_LONG(limit=MAX_JSON_LINE))
        elif text.strip():
            yield _parse_json_row(line, text.strip().removeprefix(b"\xef\xbb\xbf"), kinds)


def _parse_json_row(line: int, text: bytes, kinds: dict[str, str]) -> ImportRow:
    """Parse a line. ``kinds`` are resource names, keyed by the keys that a line may have, such as ``order``."""
    try:
        value = parse_json(text, limit=MAX_JSON_LINE)
    except InvalidJson as error:
        return ImportRow(line, problem=_NO_JSON(error=as_message(str(error))))
    if isinstance(value, dict) and len(value) == 1:
        [(key, body)] = value.items()
        if key in kinds and isinstance(body, dict):
            kind = kinds[key]
            return ImportRow(line, kind, body, unknown=frozenset(body) - get_importers()[kind].members)
    forms = " or ".join(f'{{"{key}": {{…}}}}' for key in sorted(kinds))
    return ImportRow(line, problem=_NO_OBJECT(forms=forms))


Rows = Iterator[tuple[int, list[str] | BadRow]]


def read_columns(file: IO[bytes]) -> dict[str, list[str]]:
    """Return the column names of a CSV file, each with a few sample values.

    Raises:
        UnreadableFile: If the header is unusable.
    """
    table = _open_table(file)
    samples: list[dict[str, None]] = [{} for _ in table.columns]
    for _, row in islice(table.rows, _SAMPLED_ROWS):
        cells = [] if isinstance(row, BadRow) else row
        for values, cell in zip(samples, cells, strict=False):
            if cell.strip() and len(values) < _SAMPLE_COUNT:
                values[cell.strip()[:_MAX_SAMPLE_LENGTH]] = None
    return {column: list(values) for column, values in zip(table.columns, samples, strict=True)}


def _read_table(file: IO[bytes], mapping: ColumnMapping | None) -> tuple[ColumnReading, Rows]:
    table = _open_table(file)
    reading = (
        detect_columns(table.columns, get_importers()) if mapping is None else apply_mapping(table.columns, mapping)
    )
    return reading, table.rows


def _open_table(file: IO[bytes]) -> Table:
    return open_table(io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline=""))


def _iterate_groups(reading: ColumnReading, rows: Rows, known_cells: DuplicateIndex) -> Iterator[ImportRow]:
    """Yield the objects of a CSV file in which an object may have several rows.

    An object with an unreadable row fails, because a partial object must not be imported. If the object of an
    unreadable row is unknown, the objects before and after the row fail.
    """
    group: _Group | None = None
    adjacent_problem: Message | None = None
    for line, row in rows:
        problem: Message | None = None
        key = _get_group_key(reading, row)
        if isinstance(row, BadRow):
            problem = _LINE(line=line, reason=row.reason)
            if key is None:
                yield ImportRow(line, reading.kind, problem=row.reason)
                adjacent_problem = _ADJACENT(problem=problem)
                if group is not None:
                    group.problem = group.problem or adjacent_problem
                continue
        assert key is not None
        if group is None or group.cell != key:
            if group is not None:
                yield group.create_row(known_cells)
            group = _Group(line, reading, key, problem=adjacent_problem)
        adjacent_problem = None
        group.problem = group.problem or problem
        if not isinstance(row, BadRow):
            group.add(reading.get_cells(row))
    if group is not None:
        yield group.create_row(known_cells)


def _get_group_key(reading: ColumnReading, row: list[str] | BadRow) -> str | None:
    """Return the cell in the grouping column of a row, or None if the row can't be read up to this cell."""
    if isinstance(row, BadRow):
        key = reading.get_cells(row.cells).get(reading.importer.group_by, "")
        return key if key and is_valid_text([key]) and "\x00" not in key else None
    return reading.get_cells(row).get(reading.importer.group_by, "")


@dataclass(slots=True)
class _Group:
    """Consecutive CSV rows of one object, the number of the first line, and the cell in the grouping column."""

    line: int
    reading: ColumnReading
    cell: str
    problem: Message | None = None
    rows: list[Cells] = field(default_factory=list)

    def add(self, cells: Cells) -> None:
        # One row more than allowed is enough to detect that there are too many.
        if len(self.rows) <= self.reading.importer.max_rows:
            self.rows.append(cells)

    def create_row(self, known_cells: DuplicateIndex) -> ImportRow:
        kind, importer = self.reading.kind, self.reading.importer
        label, problem = f"{resources[kind].singular} {self.cell}", None
        if not self.cell:
            problem = COLUMN_ERROR(column=importer.group_by, error=BLANK)
        elif not known_cells.add(kind, self.cell):
            problem = _NOT_TOGETHER(what=label)
        elif self.problem:
            problem = _LEFT_OUT(what=label, problem=self.problem)
        elif len(self.rows) > importer.max_rows:
            problem = _TOO_MANY_ROWS(what=label, limit=importer.max_rows)
        if problem:
            return ImportRow(self.line, kind, problem=problem, label=self.cell)
        return _create_row(self.line, kind, importer, self.rows)


def _create_row(line: int, kind: str, importer: Importer, rows: list[Cells]) -> ImportRow:
    try:
        return ImportRow(line, kind, importer.body(rows))
    except UnreadableCell as error:
        return ImportRow(line, kind, problem=error.message, label=get_label(rows[0]))
