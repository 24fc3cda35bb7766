"""Listeners for inventory changes. A listener runs in the transaction of the change.

Listeners must lock rows in primary key order, like all other code, to avoid deadlocks.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from apps.ground.statement_batches import StatementBatch, collect_statements


class StockListener(Protocol):
    """A function that handles changes to the total quantity of items.

    Other transactions wait for the locked levels while the listener runs. The listener should therefore add statements
    to the batch instead of running them.
    """

    def __call__(self, deltas: Mapping[int, int], *, batch: StatementBatch, actor: str, at: datetime) -> None:
        """Handle changes to total quantities, given as ``{item id: delta}``."""


ItemListener = Callable[[Sequence[int]], None]

_stock_listeners: list[StockListener] = []
_item_listeners: list[ItemListener] = []


def register_stock_listener(listener: StockListener) -> None:
    """Register a listener for changes to the total quantity of items."""
    _stock_listeners.append(listener)


def register_item_listener(listener: ItemListener) -> None:
    """Register a listener for changed columns of items, such as the SKU."""
    _item_listeners.append(listener)


def notify_stock_listeners(
    deltas: Mapping[int, int], *, actor: str, at: datetime, batch: StatementBatch | None = None
) -> None:
    """Call the stock listeners if a total quantity changed.

    Args:
        deltas: The change in each item's total quantity, keyed by item id.
        actor: The actor of the change.
        at: The time of the change.
        batch: The batch for the listeners' statements.
    """
    changed = {pk: delta for pk, delta in sorted(deltas.items()) if delta}
    if changed:
        with collect_statements(batch) as current_batch:
            for listener in _stock_listeners:
                listener(changed, batch=current_batch, actor=actor, at=at)


def notify_item_listeners(item_ids: Sequence[int]) -> None:
    """Call the item listeners with the ids of the changed items."""
    for listener in _item_listeners:
        listener(sorted(item_ids))
