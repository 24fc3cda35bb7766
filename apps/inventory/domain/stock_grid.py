"""The stock grid, which shows item quantities per location. Either all changes are saved or none.

Each cell of the form contains the quantity that the page showed. If any of these quantities has changed since then,
nothing is saved, and the page lists the changed cells. A counted quantity therefore never overwrites a sale. A
text such as ``+12`` adds units to the current quantity instead.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.inventory.domain import movements
from apps.inventory.domain import stock as services
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, Location, StockMovement

_CELL = re.compile(r"cell-([1-9][0-9]{0,17})-([1-9][0-9]{0,17})-(-?[0-9]{1,10})?", re.ASCII)
_NUMBER = re.compile(r"[-+]?[0-9]{1,10}", re.ASCII)
CellKey = tuple[int, int]


class CellsRefused(DomainError):
    """Raised when cells cannot be saved. ``cells`` has the reasons."""

    def __init__(self, cells: Mapping[CellKey, str]) -> None:
        super().__init__(_("Nothing was saved. Correct the marked cells."))
        self.cells = dict(cells)


@dataclass(frozen=True, slots=True)
class Cell:
    """A submitted quantity. ``expected`` is the quantity that the page showed, or None if the item was not stocked.

    ``added`` is the number of units to add, or None if ``quantity`` was counted.
    """

    expected: int | None
    quantity: int
    added: int | None = None

    def is_current(self, available: int | None) -> bool:
        """Return True if the cell still applies to the quantity. Units are also added to a changed quantity."""
        return available == self.expected or (self.added is not None and available is not None)

    def get_delta(self, available: int | None) -> int:
        return self.quantity - (available or 0) if self.added is None else self.added


def get_cell_name(item: InventoryItem, location: Location, expected: int | None) -> str:
    """Return the form field name of a cell. The name contains the quantity that the page shows."""
    return f"cell-{item.pk}-{location.pk}-{'' if expected is None else expected}"


def get_submitted_cells(data: Mapping[str, str]) -> dict[CellKey, tuple[int | None, str]]:
    """Return the expected quantity and the text of all cells of a submitted form that are not blank."""
    cells = {}
    for name, value in data.items():
        if name.startswith("cell-") and (text := value.strip()):
            match = _CELL.fullmatch(name)
            if match is None:
                raise DomainError(_("This form is no longer valid. Nothing has been changed. Reload the page."))
            cells[int(match[1]), int(match[2])] = (int(match[3]) if match[3] else None, text)
    return cells


def parse_cells(data: Mapping[str, str]) -> dict[CellKey, Cell]:
    """Return the cells of a submitted form in which the user changed the quantity. Blank cells are ignored."""
    cells: dict[CellKey, Cell] = {}
    errors: dict[CellKey, str] = {}
    for key, (expected, text) in get_submitted_cells(data).items():
        if not _NUMBER.fullmatch(text):
            errors[key] = _("Enter a whole number.")
            continue
        added = int(text) if text.startswith("+") else None
        quantity = int(text) if added is None else (expected or 0) + added
        if quantity == expected:
            continue
        if -MAX_AVAILABLE <= quantity <= MAX_AVAILABLE and (quantity >= 0 or added):
            cells[key] = Cell(expected, quantity, added)
        else:
            errors[key] = _("Enter a number from 0 to {limit}.").format(limit=MAX_AVAILABLE)
    if errors:
        raise CellsRefused(errors)
    return cells


@transaction.atomic
def save_cells(
    cells: Mapping[CellKey, Cell], *, reason: StockMovement.Reason, actor: str, at: datetime
) -> list[InventoryLevel]:
    """Save either all changed cells or none. Filling in an empty cell connects the item to the location."""
    items = InventoryItem.objects.in_bulk({item for item, _ in cells})
    # Lock items before their levels, and levels in order, like all other code.
    services.lock_items({item for (item, _), cell in cells.items() if cell.expected is None and item in items})
    rows = InventoryLevel.objects.select_for_update().filter(item_id__in=items, location_id__in={pk for _, pk in cells})
    levels = {(row.item_id, row.location_id): row for row in rows.order_by("item_id", "location_id")}
    locations = Location.objects.filter(legacy=False).in_bulk({location for _, location in cells})
    errors: dict[CellKey, str] = {}
    moves = []
    for (item, location), cell in cells.items():
        level = levels.get((item, location))
        current = level.available if level else None
        if item not in items or location not in locations:
            errors[item, location] = _("This quantity can no longer be changed. Reload the page.")
        elif not cell.is_current(current):
            errors[item, location] = _(
                "This quantity was changed to “{now}” while you were editing. Check your number, then save again."
            ).format(now=_("not stocked") if current is None else current)
        else:
            moves.append(StockChange(item, location, cell.get_delta(current), may_oversell=True))
    if errors:
        raise CellsRefused(errors)
    for item, location in sorted(cells.keys() - levels.keys()):
        services.connect_item(items[item], locations[location], actor=actor, at=at)
    return movements.apply_stock_changes(moves, reason=reason, actor=actor, at=at)
