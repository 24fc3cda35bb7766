"""Determine the new available quantity of a level. Backoffice has one quantity: the available units."""

from collections.abc import Mapping

from apps.core.i18n.messages import define_message
from apps.core.numbers.exact import parse_whole_number
from apps.imports_exports.domain.rows import refuse_cell
from apps.imports_exports.resources.cells import NOT_A_NUMBER
from apps.imports_exports.resources.inventory.table import AVAILABLE, NEW, ON_HAND, QUANTITIES
from apps.imports_exports.resources.products.inventory_levels import OUT_OF_RANGE
from apps.inventory.models import MAX_AVAILABLE

_CONTRADICTION = define_message(
    "inventory_imports.contradiction",
    "{on_hand} on hand and {available} available contradict each other, and the current stock is {current}. "
    "Clear one of the two cells",
)
_OUTDATED = define_message(
    "inventory_imports.outdated",
    "the current stock is {current}, not {expected}. Export the file again, or clear the columns of current quantities",
)
# A cell of a location that does not stock the item.
NOT_STOCKED = "not stocked"
_COLUMNS = {name: column for column, name in QUANTITIES.items()}
_MAX_QUOTED = 50


def get_target(level: Mapping[str, object], current: int) -> int | None:
    """Return the available quantity that a row asks for, or None if the row leaves it unchanged.

    A new quantity on hand only counts if the current quantity in the file is still correct. Without one, the available
    quantity or the quantity on hand counts, and if both differ, the one that staff have changed.

    Raises:
        RowRefused: If a quantity is invalid, or the quantities contradict each other.
    """
    numbers = {name: _parse(name, level.get(name)) for name in _COLUMNS}
    available, on_hand, new = numbers["available"], numbers["on_hand"], numbers["new_on_hand"]
    reserved = (numbers["committed"] or 0) + (numbers["unavailable"] or 0)
    if new is not None:
        expected = available if available is not None else None if on_hand is None else on_hand - reserved
        if expected is not None and expected != current:
            raise refuse_cell(NEW, _OUTDATED(current=str(current), expected=str(expected)))
        return _check_range(new - reserved)
    derived = None if on_hand is None else on_hand - reserved
    if available is None or derived is None or derived in {available, current}:
        target = derived if available is None else available
    elif available == current:
        target = derived
    else:
        error = _CONTRADICTION(on_hand=str(on_hand), available=str(available), current=str(current))
        raise refuse_cell(ON_HAND, error)
    return None if target is None else _check_range(target)


def is_not_stocked(level: Mapping[str, object]) -> bool:
    return any(str(level.get(name) or "").strip().lower() == NOT_STOCKED for name in _COLUMNS)


def _parse(name: str, value: object) -> int | None:
    text = value.strip() if isinstance(value, str) else value
    if text is None or text == "" or (isinstance(text, str) and text.lower() == NOT_STOCKED):
        return None
    number = parse_whole_number(text)
    if number is None:
        raise refuse_cell(_COLUMNS[name], NOT_A_NUMBER(value=repr(str(value)[:_MAX_QUOTED])))
    return number


def _check_range(quantity: int) -> int:
    if abs(quantity) > MAX_AVAILABLE:
        raise refuse_cell(AVAILABLE, OUT_OF_RANGE(value=str(quantity), limit=MAX_AVAILABLE))
    return quantity
