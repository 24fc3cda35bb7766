"""Find out which items of an order in a table were fulfilled, removed or are still open."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.core.i18n.messages import Message, define_message, define_text
from apps.imports_exports.domain.rows import Cells
from apps.imports_exports.resources.foreign_orders.cells import read_quantity
from apps.imports_exports.resources.order_statuses import normalize_status

_PARTIAL_ITEM = define_message(
    "order_imports.partial_item",
    "the file doesn't contain the fulfilled quantity of {item}: one unit was imported as fulfilled",
)
_PARTIAL_ORDER = define_text(
    "order_imports.partial_order",
    "the file doesn't contain which items were fulfilled: all items were imported as unfulfilled",
)
_UNKNOWN_STATUS = define_message(
    "order_imports.unknown_fulfillment_status",
    "the fulfillment status {status} is unknown: the items were imported as unfulfilled",
)
_FULFILLED, _PARTIAL, _RESTOCKED = "fulfilled", "partial", "restocked"
_STATUSES = {
    **dict.fromkeys(("", "unfulfilled", "pending", "null", "open", "not_fulfilled", "scheduled", "on_hold"), ""),
    **dict.fromkeys((_FULFILLED, "shipped", "completed", "complete"), _FULFILLED),
    **dict.fromkeys((_PARTIAL, "partially_fulfilled", "partially_shipped"), _PARTIAL),
    _RESTOCKED: _RESTOCKED,
}


@dataclass(slots=True)
class LineQuantities:
    """The quantities of an item: ordered, fulfilled, and whether the rest was removed from the order."""

    quantity: int
    fulfilled: int = 0
    is_removed: bool = False

    @property
    def current(self) -> int:
        return 0 if self.is_removed else self.quantity


@dataclass(frozen=True, slots=True)
class Quantities:
    lines: Sequence[LineQuantities]
    notes: list[Message] = field(default_factory=list)


def read_quantities(first: Cells, rows: Sequence[Cells]) -> Quantities:
    """Read the quantities of the items in ``rows`` from their own status or, if there is none, from the order's."""
    notes: list[Message] = []
    order_status = _get_status(first, "fulfillment_status", notes)
    has_status = order_status or any(row.get("line_fulfillment_status", "").strip() for row in rows)
    if not has_status and (normalize_status(first, "financial_status") == "completed" or first.get("fulfilled_at")):
        # These tables have one status for payment and fulfillment.
        order_status = _FULFILLED
    lines: list[LineQuantities] = []
    for row in rows:
        line = LineQuantities(max(read_quantity(row, "line_quantity", 1), 0))
        status = _get_status(row, "line_fulfillment_status", notes)
        if row.get("line_fulfilled", "").strip():
            line.fulfilled = read_quantity(row, "line_fulfilled", 0)
        elif _RESTOCKED in {status, order_status}:
            line.is_removed = True
        elif _FULFILLED in {status, order_status} or (status == _PARTIAL and line.quantity == 1):
            line.fulfilled = line.quantity
        elif status == _PARTIAL:
            line.fulfilled = 1
            notes.append(_PARTIAL_ITEM(item=row.get("line_title") or row.get("line_sku", "")))
        lines.append(line)
    if order_status == _PARTIAL and not any(line.fulfilled for line in lines):
        notes.append(_PARTIAL_ORDER)
    return Quantities(lines, notes)


def _get_status(cells: Cells, column: str, notes: list[Message]) -> str:
    word = normalize_status(cells, column)
    status = _STATUSES.get(word)
    if status is None:
        notes.append(_UNKNOWN_STATUS(status=repr(word[:50])))
    return status or ""
