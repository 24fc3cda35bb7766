"""Who is told that stock or items changed, in the transaction of the change.

A listener locks rows in the order of their primary keys, as everybody does.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from apps.ground.batches import Batch, together


class StockListener(Protocol):
    """What is called with the changes of totals, ``{item id: delta}``, and with who moved the stock when.

    Others wait for the levels meanwhile: what it writes joins the batch.
    """

    def __call__(self, deltas: Mapping[int, int], *, batch: Batch, actor: str, at: datetime) -> None:
        """Follow the stock."""


ItemListener = Callable[[Sequence[int]], None]

_of_stock: list[StockListener] = []
_of_items: list[ItemListener] = []


def on_stock_change(listener: StockListener) -> None:
    """Register who must know by how much the totals of items change: ``{item id: delta}``."""
    _of_stock.append(listener)


def on_item_change(listener: ItemListener) -> None:
    """Register who must know that items' own data changed, such as the SKU."""
    _of_items.append(listener)


def tell_stock(deltas: Mapping[int, int], *, actor: str, at: datetime, batch: Batch | None = None) -> None:
    """Tell who listens to stock, unless nothing changed.

    Args:
        deltas: By item.
        actor: Who moved it.
        at: When.
        batch: What the listeners' statements are run with.
    """
    changed = {pk: delta for pk, delta in sorted(deltas.items()) if delta}
    if changed:
        with together(batch) as said:
            for listener in _of_stock:
                listener(changed, batch=said, actor=actor, at=at)


def tell_items(item_ids: Sequence[int]) -> None:
    """Tell who listens to items."""
    for listener in _of_items:
        listener(sorted(item_ids))
