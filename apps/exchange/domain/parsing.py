"""The rows of a file that came in: what each holds, or why it cannot be read."""

import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import orjson

from apps.exchange.domain.cells import read
from apps.exchange.kinds.tables import CUSTOMER_COLUMNS, Unreadable, customer_body, order_body
from apps.exchange.models import Format, Kind
from apps.ground.strict_json import BadJson, parse_json

MAX_ROW = 1024 * 1024
MAX_ROWS_OF_ORDER = 500
_KINDS = {"customer": Kind.CUSTOMERS, "order": Kind.ORDERS}


class UnreadableFile(ValueError):
    """The file as a whole cannot be read."""


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row of a file.

    Attributes:
        line: Where it begins, from 1.
        kind: What it holds.
        body: As the interface would take it.
        problem: Why there is no body.
    """

    line: int
    kind: str = ""
    body: Mapping[str, Any] | None = None
    problem: str = ""

    @property
    def digest(self) -> str:
        """What equal rows have in common."""
        return hashlib.sha256(orjson.dumps(self.body, default=str, option=orjson.OPT_SORT_KEYS)).hexdigest()[:40]


def rows_of(file: IO[bytes], form: str) -> Iterator[RawRow]:
    """The rows of a file, one by one.

    Raises:
        UnreadableFile: It is a table, and its header is unusable.
    """
    if form == Format.JSON_LINES:
        return _json_lines(file)
    return _table(io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline=""))


def _json_lines(file: IO[bytes]) -> Iterator[RawRow]:
    line = 0
    while text := file.readline(MAX_ROW + 1):
        line += 1
        if len(text) > MAX_ROW:
            while text and not text.endswith(b"\n"):
                text = file.readline(MAX_ROW)
            yield RawRow(line, problem=f"is longer than {MAX_ROW} bytes")
        elif text.strip():
            yield _json_row(line, text.strip().removeprefix(b"\xef\xbb\xbf"))


def _json_row(line: int, text: bytes) -> RawRow:
    try:
        value = parse_json(text, limit=MAX_ROW)
    except BadJson as error:
        return RawRow(line, problem=f"is no JSON: {error}")
    names = [name for name in _KINDS if isinstance(value, dict) and isinstance(value.get(name), dict)]
    if len(names) != 1 or len(value) != 1:
        return RawRow(line, problem='must be {"customer": {…}} or {"order": {…}}')
    return RawRow(line, _KINDS[names[0]], value[names[0]])


def _table(file: IO[str]) -> Iterator[RawRow]:
    rows = read(file, known=("order", *CUSTOMER_COLUMNS))
    try:
        first = next(rows, None)
    except ValueError as error:
        raise UnreadableFile(str(error)) from None
    if first is None:
        return
    seen: set[str] = set()
    group: list[Mapping[str, str]] = []
    begins, name = 0, ""
    for line, cells in _chained(first, rows):
        if isinstance(cells, str):
            yield RawRow(line, problem=cells)
        elif "order" not in cells:
            yield RawRow(line, Kind.CUSTOMERS, customer_body(cells))
        elif group and cells["order"] == name:
            # One more than there may be shows that there are too many.
            if len(group) <= MAX_ROWS_OF_ORDER:
                group.append(cells)
        else:
            if group:
                yield _order_row(begins, group, seen)
            group, begins, name = [cells], line, cells["order"]
    if group:
        yield _order_row(begins, group, seen)


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _order_row(line: int, group: list[Mapping[str, str]], seen: set[str]) -> RawRow:
    """The rows of one order; ``seen`` holds the orders before it, which may be parts of the same."""
    name = group[0]["order"]
    if not name:
        return RawRow(line, Kind.ORDERS, problem="order: can't be blank")
    if len(group) > MAX_ROWS_OF_ORDER:
        return RawRow(line, Kind.ORDERS, problem=f"order {name} has more than {MAX_ROWS_OF_ORDER} rows")
    if name in seen:
        return RawRow(line, Kind.ORDERS, problem=f"order {name} stands in the file before; its rows must be together")
    seen.add(name)
    try:
        return RawRow(line, Kind.ORDERS, order_body(group))
    except Unreadable as error:
        return RawRow(line, Kind.ORDERS, problem=str(error))
