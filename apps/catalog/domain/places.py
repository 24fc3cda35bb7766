"""The places that a body asks for in a list: among variants, images, and the products of a collection."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from apps.catalog.models import Collect, ProductImage, Variant

R = TypeVar("R")
Placed = TypeVar("Placed", Collect, ProductImage, Variant)
Place = int | None


def arranged(rows: Sequence[R], asked: Iterable[tuple[R, Place, Place]]) -> list[R]:
    """All rows in their order: some at the places that are asked for, the others in the gaps, as they come.

    Where two ask for one place, the one that moves there comes before the one that stands there, or behind it if it
    moves towards the end; so a whole list that is sent back with one changed position is understood as that one move.

    Args:
        rows: All rows, in the order of those for which no place is asked.
        asked: ``(row, place, present place)`` of rows for which one may be; places count from 1, None is none.
    """
    named = {id(row): (place, _sign(place, now)) for row, place, now in asked if place is not None}
    placed = sorted((row for row in rows if id(row) in named), key=lambda row: named[id(row)])
    others = [row for row in rows if id(row) not in named]
    ordered: list[R] = []
    for row in placed:
        gap = max(named[id(row)][0] - 1 - len(ordered), 0)
        ordered += [*others[:gap], row]
        del others[:gap]
    return ordered + others


def renumber(rows: Sequence[Placed]) -> list[Placed]:
    """Give rows their places from 1 on; returns the stored ones that had another, which are to be saved."""
    moved = [row for place, row in enumerate(rows, start=1) if row.pk and row.position != place]
    for place, row in enumerate(rows, start=1):
        row.position = place
    return moved


def _sign(place: int, now: Place) -> int:
    """-1 for a row that is new or moves to the front, 0 for one that stays, 1 for one that moves to the end."""
    return -1 if now is None or place < now else int(place > now)
