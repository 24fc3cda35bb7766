"""Hooks for other apps: listeners for inventory changes, and display names for inventory items.

A listener runs in the transaction of the change. Listeners must lock rows in primary key order, like all other code, to
avoid deadlocks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.db.models import Q

from apps.core.db.statement_batches import StatementBatch, collect_statements
from apps.core.registry import Registry
from apps.inventory.models import InventoryItem


@dataclass(frozen=True, slots=True)
class ItemNames:
    """A source of item names, and of indexed conditions on items.

    ``get_conditions`` finds items by a search term, and ``get_code_conditions`` by an exact code such as a barcode.
    Both take the term and a limit of joined rows.
    """

    get_names: Callable[[Sequence[int]], Mapping[int, str]]
    get_conditions: Callable[[str, int], Sequence[Q]]
    get_code_conditions: Callable[[str, int], Sequence[Q]]


item_names = Registry[str, ItemNames]("item names")


def get_item_names(items: Sequence[InventoryItem]) -> dict[int, str]:
    """Return the name of each item, or the item's SKU or id if no source has a name."""
    result = {item.pk: str(item) for item in items}
    for source in item_names.values():
        result |= source.get_names(list(result))
    return result


def get_search_conditions(term: str, most: int) -> list[Q]:
    """Return conditions on items for a search term. Each condition joins at most ``most`` rows of another table."""
    return [
        Q(sku__istartswith=term),
        *(condition for source in item_names.values() for condition in source.get_conditions(term, most)),
    ]


def get_code_conditions(code: str, most: int) -> list[Q]:
    """Return conditions on items with exactly this SKU or other code."""
    return [
        Q(sku=code),
        *(condition for source in item_names.values() for condition in source.get_code_conditions(code, most)),
    ]


class StockListener(Protocol):
    """A function that handles changes to the total quantity of items.

    Other transactions wait for the locked levels while the listener runs. The listener should therefore add statements
    to the batch instead of running them.
    """

    def __call__(self, deltas: Mapping[int, int], *, batch: StatementBatch, actor: str, at: datetime) -> None:
        """Handle changes to total quantities, given as ``{item id: delta}``."""


class LowStockListener(Protocol):
    """A function that handles items that have just become low in stock at a location.

    Like a ``StockListener``, it should add statements to the batch instead of running them.
    """

    def __call__(self, item_ids: Sequence[int], *, batch: StatementBatch, actor: str, at: datetime) -> None:
        """Handle items that became low, given by their ids in order."""


class ItemListener(Protocol):
    """A function that handles changed columns of items, such as the SKU."""

    def __call__(self, item_ids: Sequence[int], *, actor: str, at: datetime) -> None:
        """Handle changes to items, given by their ids in order."""


stock_listeners = Registry[str, StockListener]("stock listeners")
low_stock_listeners = Registry[str, LowStockListener]("listeners for low stock")
item_listeners = Registry[str, ItemListener]("item listeners")


def notify_stock_listeners(
    deltas: Mapping[int, int], *, actor: str, at: datetime, batch: StatementBatch | None = None
) -> None:
    """Call the stock listeners if a total quantity, keyed by item id, changed."""
    changed = {pk: delta for pk, delta in sorted(deltas.items()) if delta}
    if changed:
        with collect_statements(batch) as current_batch:
            for listener in stock_listeners.values():
                listener(changed, batch=current_batch, actor=actor, at=at)


def notify_item_listeners(item_ids: Sequence[int], *, actor: str, at: datetime) -> None:
    for listener in item_listeners.values():
        listener(sorted(item_ids), actor=actor, at=at)
