"""Listeners for inventory changes, which are called in the transaction of the change.

Listeners lock rows in primary key order, like all other code.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from apps.ground.statement_batches import StatementBatch, collect_statements


class StockListener(Protocol):
    """A function that handles changes of the total quantity of items.

    Other transactions wait for the levels while the listener runs, so the listener should add its statements to the
    batch.
    """

    def __call__(self, deltas: Mapping[int, int], *, batch: StatementBatch, actor: str, at: datetime) -> None:
        """Handle the changes of the total quantities, ``{item id: delta}``."""


ItemListener = Callable[[Sequence[int]], None]

_stock_listeners: list[StockListener] = []
_item_listeners: list[ItemListener] = []


def register_stock_listener(listener: StockListener) -> None:
    """Register a listener for changes of the total quantity of items."""
    _stock_listeners.append(listener)


def register_item_listener(listener: ItemListener) -> None:
    """Register a listener for changed columns of items, such as the SKU."""
    _item_listeners.append(listener)


def notify_stock_listeners(
    deltas: Mapping[int, int], *, actor: str, at: datetime, batch: StatementBatch | None = None
) -> None:
    """Call the stock listeners if a total quantity changed.

    Args:
        deltas: The changes of the total quantity by item id.
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
