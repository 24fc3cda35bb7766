"""Record the stock that the items of restored orders hold, without changing inventory levels.

The levels of a store that is moved here already exclude the items of its orders. Here, ``LineItem.taken_from`` and the
inventory ledger show these items. The ledger therefore gets two rows for each location: a sale for the order, and a
correction that balances the sale.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from apps.core.db.statement_batches import collect_statements
from apps.inventory.domain.movements import StockChange, insert_movements
from apps.inventory.models import InventoryLevel, StockMovement
from apps.orders.domain.create.drafts import OrderDraft
from apps.orders.models import LineItem, Order

Reason = StockMovement.Reason
Behavior = Order.InventoryBehaviour
# The quantities that line items took from each location, keyed by line item.
TakenStock = Mapping[int, Mapping[str, int]]


class RestoredStock(NamedTuple):
    """The saved lines of a restored order, and the stock that they took before an update, keyed by line item id."""

    order: Order
    lines: Sequence[LineItem]
    before: TakenStock


def record_restored_stock(restored: Iterable[RestoredStock], *, actor: str, at: datetime) -> None:
    """Add the changes of ``taken_from`` to the ledger, and let later edits of the orders change inventory.

    ``at`` must not be before the lines were created.
    """
    changes = [(row.order, _count_changes(row)) for row in restored]
    changes = [(order, units) for order, units in changes if units]
    levels = _get_levels(item for _, units in changes for item, _ in units)
    with collect_statements() as batch:
        for order, units in changes:
            for reason, sign in ((Reason.SALE, 1), (Reason.RESTOCK, -1)):
                counts = {key: sign * count for key, count in units.items() if sign * count > 0}
                moves = [StockChange(item, location, -sign * count) for (item, location), count in counts.items()]
                balance = [StockChange(move.item_id, move.location_id, -move.delta) for move in moves]
                after = [levels.get(move.key, 0) for move in moves]
                between = [levels.get(move.key, 0) + move.delta for move in balance]
                for rows, quantities, kind in ((balance, between, Reason.CORRECTION), (moves, after, reason)):
                    if rows:
                        insert_movements(
                            rows, quantities, batch=batch, reason=kind, actor=actor, at=at, reference=order.name
                        )
    behaviors: defaultdict[str, list[int]] = defaultdict(list)
    for order, units in changes:
        if order.inventory_behaviour == Behavior.BYPASS:
            # The policy of a variant did not prevent a negative quantity in the store.
            is_oversold = any(levels.get(key, 0) < 0 for key in units)
            behaviors[Behavior.IGNORE_POLICY if is_oversold else Behavior.OBEY_POLICY].append(order.pk)
    for behavior, pks in behaviors.items():
        Order.objects.filter(pk__in=pks).update(inventory_behaviour=behavior)


def get_new_stock(draft: OrderDraft) -> RestoredStock:
    """Return the stock of an order that has just been created."""
    return RestoredStock(draft.order, draft.lines, {})


def _count_changes(restored: RestoredStock) -> dict[tuple[int, int], int]:
    """Return how many more units the order takes than before, by item and location."""
    units: Counter[tuple[int, int]] = Counter()
    for line in restored.lines:
        if line.variant is not None:
            item_id = line.variant.inventory_item_id
            for location, count in line.taken_from.items():
                units[item_id, int(location)] += count
            for location, count in restored.before.get(line.pk, {}).items():
                units[item_id, int(location)] -= count
    return {key: count for key, count in sorted(units.items()) if count}


def _get_levels(item_ids: Iterable[int]) -> dict[tuple[int, int], int]:
    """Return the available quantities by item and location."""
    rows = InventoryLevel.objects.filter(item_id__in=set(item_ids)).order_by()
    return {
        (item, location): count for item, location, count in rows.values_list("item_id", "location_id", "available")
    }
