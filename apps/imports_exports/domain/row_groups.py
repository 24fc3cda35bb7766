"""Combine the rows of a CSV file to objects, for files in which an object may have several rows."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from apps.core.i18n.error_messages import BLANK
from apps.core.i18n.messages import COLUMN_ERROR, Message, decode, define_message, join_messages
from apps.imports_exports.domain.column_mapping import ColumnReading
from apps.imports_exports.domain.csv_reader import BadRow, is_valid_text
from apps.imports_exports.domain.duplicate_index import DuplicateIndex, open_private_database
from apps.imports_exports.domain.foreign_tables.formats import ConvertedRow
from apps.imports_exports.domain.resources import Importer, resources
from apps.imports_exports.domain.rows import Body, Cells, ImportRow, NotedBody, UnreadableCell, get_label

_NOT_TOGETHER = define_message(
    "imports.rows_not_together", "{what} also occurs earlier in the file. Move its rows next to each other"
)
_LINE = define_message("imports.line", "line {line} {reason}")
_ADJACENT = define_message("imports.adjacent_line", "{problem}, and this line may be one of its rows")
_LEFT_OUT = define_message("imports.unreadable_row", "{what} can't be imported: {problem}")
_TOO_MANY_ROWS = define_message("imports.too_many_rows", "{what} has more than {limit} rows")
_EXTRA = define_message(
    "imports.extra_values", "Line {line} has values after the last column, which were not imported: {values}"
)
_SHORTENED = define_message(
    "imports.shortened_number",
    "{column}: a spreadsheet shortened the number {value}, which was imported as it is. Correct its digits",
)
_SHORTENED_KEY = define_message(
    "imports.shortened_key",
    "a spreadsheet shortened the number {value}, which may stand for several entries. Enter all its digits",
)
_MAX_QUOTED = 200
# The largest number of unreadable cells that the reason of a row names.
_MAX_ERRORS = 20
# An object with too many rows fails. Only this many of its rows are kept for the file of refused rows.
_MAX_SOURCE_ROWS = 10_000
# A number as a spreadsheet shows it in a narrow column, with a decimal point or comma.
_SCIENTIFIC = re.compile(r"-?[0-9](?:[.,][0-9]+)?E\+[0-9]{1,3}")

# The cells of a row in the order of the columns, a row of a converted table, or a row that can't be read.
Row: TypeAlias = list[str] | ConvertedRow | BadRow
Rows: TypeAlias = Iterator[tuple[int, Row]]


class SeparateRows:
    """The rows of objects that also occur earlier in the file, with other objects in between. The rows are on disk."""

    def __init__(self) -> None:
        self._rows = open_private_database(
            "CREATE TABLE separate (line INTEGER, key TEXT, row TEXT, PRIMARY KEY (line, key))",
            "CREATE INDEX by_key ON separate (key, line)",
        )
        self._count = 0

    def close(self) -> None:
        self._rows.close()

    def collect(self, reading: ColumnReading, rows: Rows) -> None:
        """Store the rows of all objects in a file that occur again after the rows of another object."""
        current, is_separate = "", False
        adjacent: tuple[int, Message] | None = None
        with closing(DuplicateIndex()) as known_cells:
            for line, row in rows:
                key = _get_group_key(reading, row)
                if key is None:
                    assert isinstance(row, BadRow)
                    adjacent = line, _ADJACENT(problem=_LINE(line=line, reason=row.reason))
                    if is_separate:
                        self._add(line, current, {"problem": adjacent[1].to_json()})
                    continue
                if key != current:
                    is_separate = bool(key) and not known_cells.add(reading.kind, key)
                    current = key
                    if is_separate and adjacent is not None:
                        # The bad row itself is not stored if it follows the rows of an object in one piece.
                        self._add(adjacent[0], key, {"problem": adjacent[1].to_json()})
                adjacent = None
                if is_separate:
                    self._add(line, key, _encode_row(line, row))

    def _add(self, line: int, key: str, row: object) -> None:
        self._count += 1
        statement = "INSERT OR IGNORE INTO separate VALUES (?, ?, ?)"
        self._rows.execute(statement, (line, key, orjson.dumps(row).decode()))

    def contains(self, line: int) -> bool:
        query = "SELECT 1 FROM separate WHERE line = ?"
        return bool(self._count) and self._rows.execute(query, (line,)).fetchone() is not None

    def find(self, key: str) -> Iterator[tuple[int, list[str] | BadRow | Message]]:
        """Yield the line and the row of each separate row of an object, or a problem of one of its rows."""
        if not self._count:
            return
        query = "SELECT line, row FROM separate WHERE key = ? ORDER BY line"
        for line, text in self._rows.execute(query, (key,)):
            values = orjson.loads(text)
            if "problem" in values:
                yield line, decode(values["problem"])
            elif "extra" in values:
                yield line, BadRow(decode(values["reason"]), values["cells"], values["extra"])
            else:
                yield line, values["cells"]


def _encode_row(line: int, row: Row) -> dict[str, object]:
    if isinstance(row, ConvertedRow):
        raise TypeError("The rows of a converted table are always together")
    if not isinstance(row, BadRow):
        return {"cells": row}
    if row.extra:
        return {"reason": row.reason.to_json(), "cells": row.cells, "extra": row.extra}
    return {"problem": _LINE(line=line, reason=row.reason).to_json()}


def iterate_groups(
    reading: ColumnReading, rows: Rows, known_cells: DuplicateIndex, separate_rows: SeparateRows
) -> Iterator[ImportRow]:
    """Yield the objects of a CSV file in which an object may have several rows.

    An object with an unreadable row fails, because a partial object must not be imported. If the object of an
    unreadable row is unknown, the objects before and after the row fail.
    """
    group: _Group | None = None
    adjacent_problem: Message | None = None
    follows_separate = False
    for line, row in rows:
        key = _get_group_key(reading, row)
        if key is None:
            assert isinstance(row, BadRow)
            yield create_bad_row(line, reading, row)
            adjacent_problem = _ADJACENT(problem=_LINE(line=line, reason=row.reason))
            if group is not None and not follows_separate:
                group.problem = group.problem or adjacent_problem
            continue
        follows_separate = separate_rows.contains(line)
        if follows_separate:
            adjacent_problem = None
            continue
        if group is None or group.cell != key:
            if group is not None:
                yield group.create_row(known_cells, separate_rows)
            group = _Group(line, reading, key, problem=adjacent_problem)
        adjacent_problem = None
        group.add(line, row)
    if group is not None:
        yield group.create_row(known_cells, separate_rows)


def _get_group_key(reading: ColumnReading, row: Row) -> str | None:
    """Return the cell in the grouping column of a row, or None if the row can't be read up to this cell."""
    if isinstance(row, BadRow):
        if row.extra and not reading.importer.loose_rows:
            return None
        key = reading.get_cells(row.cells).get(reading.importer.group_by, "")
        return key if key and is_valid_text([key]) and "\x00" not in key else None
    if isinstance(row, ConvertedRow):
        return row.cells.get(reading.importer.group_by, "")
    return reading.get_cells(row).get(reading.importer.group_by, "")


@dataclass(slots=True)
class _Group:
    """The CSV rows of one object, the number of the first line, and the cell in the grouping column."""

    line: int
    reading: ColumnReading
    cell: str
    problem: Message | None = None
    rows: list[Cells] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    source: list[Sequence[str]] = field(default_factory=list)

    def add(self, line: int, row: Row) -> None:
        self.source += _get_source(row)[: max(_MAX_SOURCE_ROWS - len(self.source), 0)]
        if isinstance(row, BadRow) and not row.extra:
            self.problem = self.problem or _LINE(line=line, reason=row.reason)
            return
        # One row more than allowed is enough to detect that there are too many.
        if len(self.rows) <= self.reading.importer.max_rows:
            if isinstance(row, BadRow):
                self.notes.append(_EXTRA(line=line, values=", ".join(map(repr, row.extra))[:_MAX_QUOTED]))
            if isinstance(row, ConvertedRow):
                self.notes += row.notes
                self.rows.append(row.cells)
            else:
                self.rows.append(self.reading.get_cells(row.cells if isinstance(row, BadRow) else row))

    def create_row(self, known_cells: DuplicateIndex, separate_rows: SeparateRows) -> ImportRow:
        kind, importer = self.reading.kind, self.reading.importer
        for line, row in separate_rows.find(self.cell):
            if isinstance(row, Message):
                self.problem = self.problem or row
            else:
                self.add(line, row)
        label, problem = f"{resources[kind].singular} {self.cell}", None
        if not self.cell:
            problem = self._refuse_key(BLANK)
        elif _SCIENTIFIC.fullmatch(self.cell.strip()):
            problem = self._refuse_key(_SHORTENED_KEY(value=self.cell.strip()))
        elif not known_cells.add(kind, self.cell):
            problem = _NOT_TOGETHER(what=label)
        elif self.problem:
            problem = _LEFT_OUT(what=label, problem=self.problem)
        elif len(self.rows) > importer.max_rows:
            problem = _TOO_MANY_ROWS(what=label, limit=importer.max_rows)
        if problem:
            return ImportRow(self.line, kind, problem=problem, label=self.cell, source=self.source)
        return create_row(self.line, self.reading, self.rows, self.source, self.notes)

    def _refuse_key(self, error: Message) -> Message:
        column = self.reading.file_columns.get_header(self.reading.importer.group_by)
        return COLUMN_ERROR(column=column, error=error)


def _get_source(row: Row) -> Sequence[Sequence[str]]:
    """Return the cells of the rows in the file."""
    return [row] if isinstance(row, list) else row.source


def create_bad_row(line: int, reading: ColumnReading, row: BadRow) -> ImportRow:
    return ImportRow(line, reading.kind, problem=row.reason, source=row.source)


def create_row(
    line: int,
    reading: ColumnReading,
    rows: Sequence[Cells],
    source: Sequence[Sequence[str]],
    notes: Sequence[Message] = (),
) -> ImportRow:
    """Create the object of some rows, with a note for each number that a spreadsheet shortened."""
    kind, importer, names = reading.kind, reading.importer, reading.file_columns
    shortened = {
        (column, cell): _SHORTENED(column=names.get_header(column), value=cell)
        for cells in rows
        for column, cell in cells.items()
        if "E+" in cell and _SCIENTIFIC.fullmatch(cell.strip())
    }
    try:
        parsed = importer.body(rows)
        body, more_notes = parsed if isinstance(parsed, NotedBody) else (parsed, ())
        all_notes = (*notes, *shortened.values(), *map(names.rename, more_notes))
        return ImportRow(line, kind, body, notes=all_notes, source=source, file_columns=names)
    except UnreadableCell as error:
        messages, readable_body = _find_unreadable_cells(importer, rows, error)
        return ImportRow(
            line,
            kind,
            problem=join_messages(map(names.rename, messages)),
            label=get_label(rows[0]),
            readable_body=readable_body,
            source=source,
            file_columns=names,
        )


def _find_unreadable_cells(
    importer: Importer, rows: Sequence[Cells], first: UnreadableCell
) -> tuple[list[Message], Body | None]:
    """Return the errors of all cells that can't be read, and the object without these cells.

    The rows are read again without the column of each error.
    """
    body: Body | None = None
    error: UnreadableCell | None = first
    messages: list[Message] = []
    while error is not None and error.message not in messages and len(messages) < _MAX_ERRORS:
        messages.append(error.message)
        column, error = error.column, None
        if not any(cells.get(column) for cells in rows):
            break
        rows = [{**cells, column: ""} for cells in rows]
        try:
            parsed = importer.body(rows)
            body = parsed.body if isinstance(parsed, NotedBody) else parsed
        except UnreadableCell as next_error:
            error = next_error
    return messages, body
