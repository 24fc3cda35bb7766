"""The objects of a file that came in: what each holds, or why it cannot be read."""

import io
from collections.abc import Iterator
from itertools import chain
from typing import IO

from apps.exchange.domain.cells import read
from apps.exchange.domain.kinds import Importer, importers, named
from apps.exchange.domain.rows import Cells, RawRow, Unreadable
from apps.exchange.models import Format
from apps.ground.phrases import BLANK
from apps.ground.strict_json import BadJson, parse_json

MAX_ROW = 1024 * 1024
MAX_ROWS_OF_OBJECT = 500


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
    group: list[Cells] = []
    begins, together = 0, ("", "")
    for line, cells in chain([first], rows):
        if isinstance(cells, str):
            yield RawRow(line, problem=cells)
            continue
        name, importer = _kind_of(cells, kinds)
        if not importer.group_by:
            yield _table_row(line, name, importer, [cells])
        elif group and (name, cells[importer.group_by]) == together:
            # One more than there may be shows that there are too many.
            if len(group) <= MAX_ROWS_OF_OBJECT:
                group.append(cells)
        else:
            if group:
                yield _grouped(begins, together, group, seen)
            group, begins, together = [cells], line, (name, cells[importer.group_by])
    if group:
        yield _grouped(begins, together, group, seen)


def _kind_of(cells: Cells, kinds: dict[str, Importer]) -> tuple[str, Importer]:
    """What a row of a table holds: the kind that is grouped by one of its columns, else the one that is not grouped."""
    for name, importer in kinds.items():
        if importer.group_by and importer.group_by in cells:
            return name, importer
    return next((name, importer) for name, importer in kinds.items() if not importer.group_by)


def _grouped(line: int, together: tuple[str, str], group: list[Cells], seen: set[tuple[str, str]]) -> RawRow:
    """The rows of one object; ``seen`` holds the objects before it, which may be parts of the same."""
    name, cell = together
    kind, importer = named(name), importers()[name]
    if not cell:
        return RawRow(line, name, problem=f"{importer.group_by}: {BLANK}")
    if len(group) > MAX_ROWS_OF_OBJECT:
        return RawRow(line, name, problem=f"{kind.singular} {cell} has more than {MAX_ROWS_OF_OBJECT} rows")
    if together in seen:
        problem = f"{kind.singular} {cell} stands in the file before; its rows must be together"
        return RawRow(line, name, problem=problem)
    seen.add(together)
    return _table_row(line, name, importer, group)


def _table_row(line: int, name: str, importer: Importer, rows: list[Cells]) -> RawRow:
    try:
        return RawRow(line, name, importer.body(rows))
    except Unreadable as error:
        return RawRow(line, name, problem=str(error))
