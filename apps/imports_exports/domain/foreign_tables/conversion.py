"""Convert the rows of a foreign table. They are stored on disk first, because an object's rows may be far apart."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from apps.core.i18n.messages import Message, decode, define_message, define_text
from apps.imports_exports.domain.csv_reader import BadRow, Table, is_valid_text
from apps.imports_exports.domain.duplicate_index import DuplicateIndex, open_private_database
from apps.imports_exports.domain.foreign_tables.formats import (
    PREVIOUS,
    ConvertedObject,
    ConvertedRow,
    RowLinks,
    SourceRow,
    TableFormat,
    Unconvertible,
)

_NO_PARENT = define_message(
    "foreign_tables.no_parent",
    "belongs to {parent}, which is not in the file. Export it together with the rows that belong to it",
)
_EXTRA = define_text("foreign_tables.extra", "has values after the last column")
_STATEMENTS = (
    "CREATE TABLE source (line INTEGER PRIMARY KEY, object INTEGER, row TEXT)",
    "CREATE TABLE name (name TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID",
    "CREATE TABLE parent (line INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TABLE child (name TEXT PRIMARY KEY, object INTEGER) WITHOUT ROWID",
)
# A row that names its object belongs to this object, also if another object lists the row among its children.
_CONNECT_CHILDREN = """
UPDATE source SET object = child.object FROM child JOIN name USING (name)
WHERE name.line = source.line AND child.object != source.line
"""
_CONNECT_PARENTS = """
UPDATE source SET object = name.line FROM parent JOIN name USING (name) WHERE parent.line = source.line
"""
# A row may belong to a row that itself belongs to an object, such as the translation of a variant.
_CONNECT_INDIRECTLY = """
UPDATE source SET object = owner.object FROM source AS owner
WHERE owner.line = source.object AND owner.object != owner.line
"""
_MARK_ORPHANS = """
UPDATE source SET row = json_set(row, '$.orphan', parent.name) FROM parent
WHERE parent.line = source.line AND source.object = source.line AND json_extract(row, '$.alone') = 0
"""
_CREATE_INDEX = "CREATE INDEX by_object ON source (object, line)"
_CONNECT = (_CONNECT_CHILDREN, _CONNECT_PARENTS, _CONNECT_INDIRECTLY, _MARK_ORPHANS, _CREATE_INDEX)
Converted = tuple[int, "ConvertedRow | BadRow"]


def find_format(columns: Collection[str], formats: Sequence[TableFormat]) -> TableFormat | None:
    """Return the format of a table with these normalized column names, or None if no format recognizes it."""
    return next((table_format for table_format in formats if table_format.is_recognized(columns)), None)


def convert_table(table: Table, names: Sequence[str], table_format: TableFormat, group_by: str) -> Iterator[Converted]:
    """Yield the rows of the converted objects, each with the line of its object.

    ``names`` are the normalized names of the table's columns. Of columns with the same name, the first counts.
    """
    with closing(_RowStore(names, table_format)) as store, closing(DuplicateIndex()) as keys:
        for line, row in table.rows:
            store.add(line, row)
        for stored_rows in store.iterate_objects():
            yield from _convert_object(stored_rows, table_format, group_by, keys)


class _StoredRow(NamedTuple):
    source: SourceRow
    problem: Message | None
    orphan: str
    extra: Sequence[str]
    cells: Sequence[str]


class _RowStore:
    """The rows of a foreign table on disk, connected with their objects."""

    def __init__(self, names: Sequence[str], table_format: TableFormat) -> None:
        self._names, self._format = names, table_format
        self._database = open_private_database(*_STATEMENTS)
        self._previous = 0

    def close(self) -> None:
        self._database.close()

    def add(self, line: int, row: list[str] | BadRow) -> None:
        cells = list(row.cells) if isinstance(row, BadRow) else row
        if isinstance(row, BadRow):
            # The readable cells tell to which object the row belongs.
            cells = [cell if is_valid_text([cell]) and "\x00" not in cell else "" for cell in cells]
        values: dict[str, Any] = {"cells": cells}
        if isinstance(row, BadRow):
            values |= {"extra": list(row.extra)} if row.extra else {"reason": row.reason.to_json()}
        links = self._format.get_links(self._read(line, cells)) if any(cells) else RowLinks()
        parent_line = line
        if links.parent == PREVIOUS:
            parent_line = self._previous or line
        elif not links.parent:
            self._previous = line
        values["alone"] = links.may_be_alone
        execute = self._database.execute
        execute("INSERT INTO source VALUES (?, ?, ?)", (line, parent_line, orjson.dumps(values).decode()))
        for name in links.names:
            execute("INSERT OR IGNORE INTO name VALUES (?, ?)", (name, line))
        for name in links.children:
            execute("INSERT OR IGNORE INTO child VALUES (?, ?)", (name, line))
        if links.parent and links.parent != PREVIOUS:
            execute("INSERT INTO parent VALUES (?, ?)", (line, links.parent))

    def iterate_objects(self) -> Iterator[list[_StoredRow]]:
        """Yield the rows of each object, sorted by line. The row of the object itself comes first."""
        for statement in _CONNECT:
            self._database.execute(statement)
        query = "SELECT object, line, row FROM source ORDER BY object, line != object, line"
        for _, rows in groupby(self._database.execute(query), key=itemgetter(0)):
            yield [self._load(line, orjson.loads(text)) for _, line, text in rows]

    def _load(self, line: int, values: dict[str, Any]) -> _StoredRow:
        problem = decode(values["reason"]) if "reason" in values else None
        orphan = values.get("orphan", "")
        return _StoredRow(self._read(line, values["cells"]), problem, orphan, values.get("extra", ()), values["cells"])

    def _read(self, line: int, cells: Sequence[str]) -> SourceRow:
        values: dict[str, str] = {}
        for name, cell in zip(self._names, [*cells, *[""] * (len(self._names) - len(cells))], strict=False):
            values.setdefault(name, cell)
        return SourceRow(line, values)


def _convert_object(
    stored_rows: Sequence[_StoredRow], table_format: TableFormat, group_by: str, keys: DuplicateIndex
) -> Iterator[Converted]:
    first, original_rows = stored_rows[0].source, [[*row.cells, *row.extra] for row in stored_rows]
    problem = next(((row.source.line, row.problem) for row in stored_rows if row.problem), None)
    if problem is None and stored_rows[0].orphan:
        problem = first.line, _NO_PARENT(parent=stored_rows[0].orphan)
    try:
        converted = table_format.convert([row.source for row in stored_rows])
    except Unconvertible as error:
        converted = ConvertedObject(f"line {first.line}")
        problem = problem or (first.line, error.message)
    if problem is not None:
        line, reason = problem
        label = _reserve_key(converted, first.line, keys) if any(first.cells.values()) else ""
        yield line, BadRow(reason, [label] if label else (), original_rows=original_rows)
        return
    key = _reserve_key(converted, first.line, keys)
    notes: Sequence[Message] = tuple(dict.fromkeys(converted.notes))
    for cells in converted.rows:
        yield first.line, ConvertedRow({**cells, group_by: key}, notes, original_rows)
        notes, original_rows = (), []
    for row in stored_rows:
        if row.extra:
            yield row.source.line, BadRow(_EXTRA, [key], row.extra, original_rows=())


def _reserve_key(converted: ConvertedObject, line: int, keys: DuplicateIndex) -> str:
    """Return the value of the grouping column that no other object in the file has."""
    candidates = (converted.key, f"{converted.key}-{converted.suffix}" if converted.suffix else "")
    for candidate in (*candidates, f"{converted.key}-{line}"):
        if candidate and keys.add("", candidate):
            return candidate
    return f"{converted.key}-{line}"
