"""Listeners for inventory changes, called in the transaction of the change.

Listeners lock rows in primary key order, like all other code.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from apps.ground.statement_batches import StatementBatch, collect_statements


class StockListener(Protocol):
    """A listener for changed totals, ``{item id: delta}``.

    Other transactions wait for the levels during the call, so the listener's statements should join the batch.
    """

    def __call__(self, deltas: Mapping[int, int], *, batch: StatementBatch, actor: str, at: datetime) -> None:
        """Handle changed totals."""


ItemListener = Callable[[Sequence[int]], None]

_stock_listeners: list[StockListener] = []
_item_listeners: list[ItemListener] = []


def register_stock_listener(listener: StockListener) -> None:
    """Register a listener for changed totals: ``{item id: delta}``."""
    _stock_listeners.append(listener)


def register_item_listener(listener: ItemListener) -> None:
    """Register a listener for changed columns of items, such as the SKU."""
    _item_listeners.append(listener)


def notify_stock_listeners(
    deltas: Mapping[int, int], *, actor: str, at: datetime, batch: StatementBatch | None = None
) -> None:
    """Call the stock listeners unless nothing changed.

    Args:
        deltas: The changes by item id.
        actor: The actor of the change.
        at: The time of the change.
        batch: The batch for the statements of the listeners.
    """
    changed = {pk: delta for pk, delta in sorted(deltas.items()) if delta}
    if changed:
        with collect_statements(batch) as current_batch:
            for listener in _stock_listeners:
                listener(changed, batch=current_batch, actor=actor, at=at)


def notify_item_listeners(item_ids: Sequence[int]) -> None:
    """Call the item listeners."""
    for listener in _item_listeners:
        listener(sorted(item_ids))
