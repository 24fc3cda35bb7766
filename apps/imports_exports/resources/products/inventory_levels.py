"""Set the stock given in product rows, in total or per location. Inventory changes get the reason "count"."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from apps.catalog.models import Variant
from apps.core.i18n.messages import COLUMN_ERROR, define_message, define_text
from apps.core.numbers.exact import parse_whole_number
from apps.core.types import Attrs
from apps.imports_exports.domain.rows import RowRefused
from apps.imports_exports.resources.cells import NOT_A_NUMBER
from apps.imports_exports.resources.products.existing import ReferencedRows
from apps.imports_exports.resources.products.table import LEVELS, QUANTITY
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import MAX_AVAILABLE, StockMovement

OUT_OF_RANGE = define_message("product_imports.quantity_out_of_range", "{value} must be between -{limit} and {limit}")
_SEVERAL_LOCATIONS = define_text(
    "product_imports.several_locations",
    "the item is stocked at several locations. Use the Variant Inventory Levels column",
)
_EXPECTED_LEVELS = define_text("product_imports.expected_levels", "expected a list of locations with quantities")
UNKNOWN_LOCATION = define_message("product_imports.unknown_location", "there is no active location named {name}")
AMBIGUOUS_LOCATION = define_message(
    "product_imports.ambiguous_location", "there are several active locations named {name}"
)

# Available quantities, keyed by location id.
NewLevels: TypeAlias = dict[int, int]


def get_new_levels(row: Attrs, present: Mapping[int, int], referenced_rows: ReferencedRows) -> NewLevels:
    """Return the levels of a variant's row that differ from ``present``.

    Raises:
        RowRefused: If the quantity is invalid, the location is unknown or ambiguous, or a total quantity is given
            although several locations stock the item.
    """
    if row.get("inventory_levels"):
        return _parse_levels(row["inventory_levels"], present, referenced_rows)
    if row.get("inventory_quantity") in (None, ""):
        return {}
    quantity = _parse_quantity(row["inventory_quantity"])
    if quantity == sum(present.values()):
        return {}
    if len(present) > 1:
        raise RowRefused(COLUMN_ERROR(column=QUANTITY, error=_SEVERAL_LOCATIONS))
    return {next(iter(present), referenced_rows.primary): _check_range(quantity)}


def _parse_levels(levels: object, present: Mapping[int, int], referenced_rows: ReferencedRows) -> NewLevels:
    new_levels: NewLevels = {}
    for level in levels if isinstance(levels, list) else [None]:
        name = level.get("location") if isinstance(level, Mapping) else None
        if not isinstance(level, Mapping) or not isinstance(name, str):
            raise RowRefused(COLUMN_ERROR(column="inventory_levels", error=_EXPECTED_LEVELS))
        locations: Sequence[object] = referenced_rows.locations.get(name, ())
        if len(locations) != 1:
            error = (AMBIGUOUS_LOCATION if locations else UNKNOWN_LOCATION)(name=repr(name))
            raise RowRefused(COLUMN_ERROR(column=LEVELS, error=error))
        location_id, quantity = referenced_rows.locations[name][0].pk, _parse_quantity(level.get("available"))
        if present.get(location_id) != quantity:
            new_levels[location_id] = _check_range(quantity)
    return new_levels


def _parse_quantity(value: object) -> int:
    quantity = parse_whole_number(value.strip() if isinstance(value, str) else value)
    if quantity is None:
        raise RowRefused(COLUMN_ERROR(column=QUANTITY, error=NOT_A_NUMBER(value=repr(str(value)[:50]))))
    return quantity


def _check_range(quantity: int) -> int:
    if abs(quantity) > MAX_AVAILABLE:
        raise RowRefused(COLUMN_ERROR(column=QUANTITY, error=OUT_OF_RANGE(value=str(quantity), limit=MAX_AVAILABLE)))
    return quantity


def get_stock_moves(
    variants: Sequence[Variant],
    new_levels: Mapping[tuple[str, ...], NewLevels],
    levels: Mapping[int, Mapping[int, int]],
    referenced_rows: ReferencedRows,
    *,
    actor: str,
    at: datetime,
) -> list[StockChange]:
    """Connect items to new locations, and return the stock changes needed to reach the new levels."""
    moves: list[StockChange] = []
    for variant in variants:
        present = levels.get(variant.inventory_item_id)
        if present is None:
            present = referenced_rows.get_first_level(variant.fulfillment_service)
        for location_id, quantity in new_levels.get(tuple(variant.options), {}).items():
            if location_id not in present:
                location = referenced_rows.locations_by_id[location_id]
                stock.connect_item(variant.inventory_item, location, actor=actor, at=at)
            if change := quantity - present.get(location_id, 0):
                moves.append(StockChange(variant.inventory_item_id, location_id, change, may_oversell=quantity < 0))
    return moves


def apply_counts(moves: Sequence[StockChange], *, actor: str, at: datetime) -> None:
    """Apply the stock changes of several products."""
    if moves:
        movements.apply_stock_changes(moves, reason=StockMovement.Reason.COUNT, actor=actor, at=at, reference="Import")
