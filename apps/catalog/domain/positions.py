"""Apply requested positions to lists of variants, images or collection products."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from apps.catalog.models import Collect, ProductImage, Variant

R = TypeVar("R")
PositionedRow = TypeVar("PositionedRow", Collect, ProductImage, Variant)
Position = int | None


def arrange_rows(rows: Sequence[R], requests: Iterable[tuple[R, Position, Position]]) -> list[R]:
    """Return all rows in order. Rows with a requested position get that position, and other rows fill the gaps.

    A client can send back the full list with one changed position, so that two rows request the same position. The row
    that changes its position then comes before the other row if it moves toward the front, and after the other row if
    it moves toward the end.

    A request is ``(row, requested position, current position)``. Positions count from 1, and None means no position.
    """
    requested = {
        id(row): (position, _move_direction(position, current))
        for row, position, current in requests
        if position is not None
    }
    positioned = sorted((row for row in rows if id(row) in requested), key=lambda row: requested[id(row)])
    remaining = [row for row in rows if id(row) not in requested]
    ordered: list[R] = []
    for row in positioned:
        gap = max(requested[id(row)][0] - 1 - len(ordered), 0)
        ordered += [*remaining[:gap], row]
        del remaining[:gap]
    return ordered + remaining


def renumber_rows(rows: Sequence[PositionedRow]) -> list[PositionedRow]:
    """Number all rows from 1. Return the existing rows that got a new position, which the caller must save."""
    moved = [row for position, row in enumerate(rows, start=1) if row.pk and row.position != position]
    for position, row in enumerate(rows, start=1):
        row.position = position
    return moved


def _move_direction(position: int, current: Position) -> int:
    """Return -1 if a row is new or moves toward the front, 1 if it moves toward the end, and otherwise 0."""
    return -1 if current is None or position < current else int(position > current)
