"""The stock grid: items by locations, read as a page and written as a whole.

A cell carries the number that the person saw. Where it has changed meanwhile, nothing is written and the cells are
named, so that a count never overwrites a sale.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from apps.ground.errors import DomainError
from apps.inventory.domain import movements
from apps.inventory.domain import stock as services
from apps.inventory.domain.movements import Move
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, Location, StockMovement

_CELL = re.compile(r"cell-([1-9][0-9]{0,17})-([1-9][0-9]{0,17})-(-?[0-9]{1,10})?", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,10}", re.ASCII)
Key = tuple[int, int]


class CellsRefused(DomainError):
    """Some cells cannot be written; ``cells`` says by item and location why not."""

    code = "cells_refused"

    def __init__(self, cells: Mapping[Key, str]) -> None:
        """Name the cells."""
        super().__init__(_("Nothing is saved: see the marked cells."))
        self.cells = dict(cells)


class FormOutdated(DomainError):
    """A form names its cells in a way that is not, or no longer, ours."""

    code = "form_outdated"


@dataclass(frozen=True, slots=True)
class Cell:
    """A number that somebody typed.

    Attributes:
        seen: What stood there; None where the location did not stock the item.
        wanted: What is to stand there.
    """

    seen: int | None
    wanted: int


class Level(NamedTuple):
    """How many are available, and whether that is few by the shop's number."""

    available: int
    is_low: bool


class Typed(NamedTuple):
    """What a form says of a cell: the number that was seen, None for no level, and the text that stands there now."""

    seen: int | None
    text: str


def name_of(item: InventoryItem, place: Location, seen: int | None) -> str:
    """The name of a cell's field, which carries what the person sees."""
    return f"cell-{item.pk}-{place.pk}-{'' if seen is None else seen}"


def typed_in(data: Mapping[str, str]) -> dict[Key, Typed]:
    """All cells of a form that are not blank, by their names.

    Raises:
        FormOutdated: A name says no cell.
    """
    typed = {}
    for name, given in data.items():
        if name.startswith("cell-") and (text := given.strip()):
            match = _CELL.fullmatch(name)
            if match is None:
                raise FormOutdated(_("This form is no longer valid. Nothing has been done. Open its page again."))
            typed[int(match[1]), int(match[2])] = Typed(int(match[3]) if match[3] else None, text)
    return typed


def read_cells(data: Mapping[str, str]) -> dict[Key, Cell]:
    """The cells of a form that were changed. A cell that is left blank stays as it is.

    Raises:
        CellsRefused: Something typed is no number that a level can have.
        FormOutdated: A name says no cell.
    """
    cells: dict[Key, Cell] = {}
    refused: dict[Key, str] = {}
    for key, (seen, text) in typed_in(data).items():
        if not _NUMBER.fullmatch(text):
            refused[key] = _("This is no whole number.")
            continue
        wanted = int(text)
        if wanted == seen:
            continue
        if not 0 <= wanted <= MAX_AVAILABLE:
            refused[key] = _("Enter a number from 0 to {limit}.").format(limit=MAX_AVAILABLE)
            continue
        cells[key] = Cell(seen, wanted)
    if refused:
        raise CellsRefused(refused)
    return cells


@transaction.atomic
def write_cells(
    cells: Mapping[Key, Cell], *, reason: StockMovement.Reason, actor: str, at: datetime
) -> list[InventoryLevel]:
    """Write changed cells, all or none; an empty one that is given a number is stocked from then on.

    Raises:
        CellsRefused: A cell changed meanwhile, or names nothing of this shop.
        LocationInactive: A location is deactivated.
        NotShared: An item lies at a location that does not share its items.
    """
    items = InventoryItem.objects.in_bulk({item for item, _ in cells})
    # Items before levels, as everybody does who connects.
    services.lock_items({item for (item, _), cell in cells.items() if cell.seen is None and item in items})
    known = _levels(cells)
    places = Location.objects.filter(legacy=False).in_bulk({place for _, place in cells})
    refused: dict[Key, str] = {}
    moves = []
    for (item, place), cell in cells.items():
        level = known.get((item, place))
        now = level.available if level else None
        if item not in items or place not in places:
            refused[item, place] = _("This cannot be changed here.")
        elif now != cell.seen:
            refused[item, place] = _("It changed meanwhile: {now}.").format(
                now=_("not stocked") if now is None else now
            )
        else:
            moves.append(Move(item, place, cell.wanted - (now or 0), may_oversell=True))
    if refused:
        raise CellsRefused(refused)
    for item, place in sorted(cells.keys() - known.keys()):
        services.connect(items[item], places[place], actor=actor, at=at)
    return movements.apply(moves, reason=reason, actor=actor, at=at)


def _levels(cells: Iterable[Key]) -> dict[Key, InventoryLevel]:
    """The levels behind the cells, locked in the order in which everybody locks them."""
    keys = set(cells)
    rows = (
        InventoryLevel.objects.select_for_update()
        .filter(item_id__in={item for item, _ in keys}, location_id__in={place for _, place in keys})
        .order_by("item_id", "location_id")
    )
    return {key: row for row in rows if (key := (row.item_id, row.location_id)) in keys}


def levels_of(items: Sequence[InventoryItem], places: Sequence[Location]) -> dict[Key, Level]:
    """The levels of items at locations, by both ids."""
    rows = InventoryLevel.objects.filter(item__in=items, location__in=places)
    columns = rows.values_list("item_id", "location_id", "available", "is_low", "item__tracked")
    return {
        (item, place): Level(available, is_low and is_tracked) for item, place, available, is_low, is_tracked in columns
    }
