"""The objects of a file that came in: what each holds, or why it cannot be read."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import IO

from apps.exchange.domain.cells import MAX_ROW, read
from apps.exchange.domain.kinds import Importer, importers, named
from apps.exchange.domain.rows import Cells, RawRow, Unreadable
from apps.exchange.models import Format
from apps.ground.phrases import BLANK
from apps.ground.strict_json import BadJson, parse_json


class UnreadableFile(ValueError):
    """The file as a whole cannot be read."""


def rows_of(file: IO[bytes], form: str) -> Iterator[RawRow]:
    """The objects of a file, one by one.

    Raises:
        UnreadableFile: It is a table, and its header is unusable.
    """
    if form == Format.JSON_LINES:
        return _json_lines(file)
    return _table(io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline=""))


def _json_lines(file: IO[bytes]) -> Iterator[RawRow]:
    kinds = {named(name).singular: name for name in importers()}
    line = 0
    while text := file.readline(MAX_ROW + 1):
        line += 1
        if len(text) > MAX_ROW:
            while text and not text.endswith(b"\n"):
                text = file.readline(MAX_ROW)
            yield RawRow(line, problem=f"is longer than {MAX_ROW} bytes")
        elif text.strip():
            yield _json_row(line, text.strip().removeprefix(b"\xef\xbb\xbf"), kinds)


def _json_row(line: int, text: bytes, kinds: dict[str, str]) -> RawRow:
    """One line; ``kinds`` are the names of kinds by what they are called in it."""
    try:
        value = parse_json(text, limit=MAX_ROW)
    except BadJson as error:
        return RawRow(line, problem=f"is no JSON: {error}")
    if isinstance(value, dict) and len(value) == 1:
        [(key, body)] = value.items()
        if key in kinds and isinstance(body, dict):
            return RawRow(line, kinds[key], body)
    forms = " or ".join(f'{{"{key}": {{…}}}}' for key in sorted(kinds))
    return RawRow(line, problem=f"must be {forms}")


def _table(file: IO[str]) -> Iterator[RawRow]:
    kinds = importers()
    rows = read(file, known={name for kind in kinds.values() for name in (kind.group_by, *kind.columns) if name})
    try:
        first = next(rows, None)
    except ValueError as error:
        raise UnreadableFile(str(error)) from None
    if first is None:
        return
    seen: set[tuple[str, str]] = set()
    group: _Group | None = None
    for line, cells in chain([first], rows):
        if isinstance(cells, str):
            yield RawRow(line, problem=cells)
            continue
        kind, importer = _kind_of(cells, kinds)
        if not importer.group_by:
            yield _object(line, kind, importer, [cells])
            continue
        key = (kind, cells[importer.group_by])
        if group is None or group.key != key:
            if group is not None:
                yield group.whole(seen)
            group = _Group(line, key, importer)
        group.add(cells)
    if group is not None:
        yield group.whole(seen)


def _kind_of(cells: Cells, kinds: dict[str, Importer]) -> tuple[str, Importer]:
    """What a row of a table holds: the kind that is grouped by one of its columns, else the one that is not grouped."""
    for name, importer in kinds.items():
        if importer.group_by and importer.group_by in cells:
            return name, importer
    return next((name, importer) for name, importer in kinds.items() if not importer.group_by)


@dataclass(slots=True)
class _Group:
    """Consecutive rows of one object.

    Attributes:
        line: Where they begin.
        key: The kind's name, and the cell that they have in common.
        importer: The kind's.
        rows: One more than there may be, where there are too many.
    """

    line: int
    key: tuple[str, str]
    importer: Importer
    rows: list[Cells] = field(default_factory=list)

    def add(self, cells: Cells) -> None:
        """Take one more row."""
        if len(self.rows) <= self.importer.most_rows:
            self.rows.append(cells)

    def whole(self, seen: set[tuple[str, str]]) -> RawRow:
        """The object; ``seen`` holds the keys before it, whose objects it may be a part of."""
        kind, cell = self.key
        what, most = f"{named(kind).singular} {cell}", self.importer.most_rows
        if not cell:
            return RawRow(self.line, kind, problem=f"{self.importer.group_by}: {BLANK}")
        if len(self.rows) > most:
            return RawRow(self.line, kind, problem=f"{what} has more than {most} rows")
        if self.key in seen:
            return RawRow(self.line, kind, problem=f"{what} stands in the file before; its rows must be together")
        seen.add(self.key)
        return _object(self.line, kind, self.importer, self.rows)


def _object(line: int, kind: str, importer: Importer, rows: list[Cells]) -> RawRow:
    try:
        return RawRow(line, kind, importer.body(rows))
    except Unreadable as error:
        return RawRow(line, kind, problem=str(error))
