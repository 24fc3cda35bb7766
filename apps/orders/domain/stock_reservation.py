"""Deduct stock for orders, and return the stock when items are canceled.

A line stores the locations that its items were taken from (``taken_from``), so that items are returned to the same
locations, and only once.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from apps.catalog.domain.fulfillment_service_choices import get_service_locations
from apps.catalog.domain.sales_counters import lock_sold_products
from apps.catalog.models import Variant
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message
from apps.inventory.domain import movements
from apps.inventory.domain.movements import StockChange
from apps.inventory.domain.stock import get_primary_location
from apps.inventory.models import InventoryLevel, Location, StockMovement
from apps.orders.models import LineItem, Order

_NOT_IN_STOCK = define_message("orders.not_in_stock", "is more than the quantity in stock ({count})")

Behavior = Order.InventoryBehaviour
Reason = StockMovement.Reason
StockKey = tuple[int, int]


class NotEnoughStock(DomainError):
    """Raised when a variant has too little stock and must not be oversold."""

    field = "line_items"


def take_stock(order: Order, lines: Sequence[LineItem], *, actor: str, at: datetime) -> None:
    """Deduct an order's items from stock according to ``inventory_behaviour``, and set ``taken_from`` of the lines.

    Items of a fulfillment service are taken from the service's location, other items from the shop's own locations. If
    a single location has enough stock, the whole line is taken from this location. The primary location is tried first.
    Missing quantities are deducted from the service's or the primary location if the variant or the behavior allows
    overselling.
    """
    moves = _take_moves(order, lines)
    if not moves:
        return
    _lock_products(lines, [line for line in lines if line.taken_from])
    movements.apply_stock_changes(moves, reason=Reason.SALE, actor=actor, at=at, reference=order.name)


def _take_moves(order: Order, lines: Sequence[LineItem], *, other_item_ids: Collection[int] = ()) -> list[StockChange]:
    """Lock the inventory levels, set ``taken_from`` of new lines, and return the inventory changes.

    ``other_item_ids`` are inventory items to lock in addition to the items of the lines.
    """
    tracked = [
        (index, line) for index, line in enumerate(lines) if line.variant and line.variant.inventory_item.tracked
    ]
    if order.inventory_behaviour == Behavior.BYPASS:
        tracked = []
    items = {line.variant.inventory_item_id for _, line in tracked if line.variant}
    if not items and not other_item_ids:
        return []
    shelves = _lock_stock(items | set(other_item_ids))
    primary = get_primary_location().pk
    locations = _get_own_locations(primary)
    services = get_service_locations(line.fulfillment_service for _, line in tracked)
    quantities: dict[StockKey, int] = {}
    oversold: set[StockKey] = set()
    short: dict[str, list[str]] = {}
    for index, line in tracked:
        assert line.variant is not None
        item, service = line.variant.inventory_item_id, services.get(line.fulfillment_service)
        fallback = primary if service is None else service
        usable = locations if service is None else [service]
        picked, missing = _pick_locations(shelves.setdefault(item, {}), usable, line.quantity)
        if missing:
            may_oversell = (
                order.inventory_behaviour == Behavior.IGNORE_POLICY
                or line.variant.inventory_policy == Variant.InventoryPolicy.CONTINUE
            )
            if not may_oversell:
                short[f"line_items.{index}.quantity"] = [_NOT_IN_STOCK(count=line.quantity - missing)]
                continue
            picked[fallback] = picked.get(fallback, 0) + missing
            oversold.add((item, fallback))
        line.taken_from = {str(location): units for location, units in picked.items()}
        for location, units in picked.items():
            quantities[item, location] = quantities.get((item, location), 0) + units
    if short:
        raise NotEnoughStock(short)
    return [
        StockChange(
            item, location, -units, may_oversell=(item, location) in oversold, connect=(item, location) in oversold
        )
        for (item, location), units in quantities.items()
    ]


def exchange_stock(
    order: Order,
    every: Sequence[LineItem],
    *,
    added: Sequence[LineItem],
    removed: Mapping[LineItem, int],
    sources: Mapping[int, Mapping[int, int]],
    actor: str,
    at: datetime,
) -> None:
    """Deduct stock for added lines and return stock of removed items, in a single set of inventory changes.

    The products of ``every`` line, including the new lines, are locked. ``removed`` is the removed quantity of each
    changed line, and ``sources`` are the locations that would have fulfilled these items, as quantities keyed by line
    id and location id. This function updates ``taken_from``. The caller saves the lines.
    """
    returns = _return_moves(removed, sources)
    moves = _take_moves(order, added, other_item_ids={move.item_id for move in returns})
    lock_sold_products(line.product_id for line in every if line.product_id is not None)
    if moves or returns:
        reason = Reason.SALE if moves else Reason.RESTOCK
        movements.apply_stock_changes([*moves, *returns], reason=reason, actor=actor, at=at, reference=order.name)


def _lock_products(lines: Sequence[LineItem], tracked: Sequence[LineItem]) -> None:
    """Lock all products of the order together, unless the inventory changes lock all of them.

    Inventory changes lock only tracked products, but sales are counted later for all products. Locking the products in
    two steps could cause deadlocks.
    """
    products = {line.product_id for line in lines if line.product_id is not None}
    if products - {line.product_id for line in tracked}:
        lock_sold_products(products)


def _lock_stock(items: set[int]) -> dict[int, dict[int, int]]:
    """Lock the inventory levels. Return the available quantity of each item at each location."""
    levels = InventoryLevel.objects.select_for_update(of=("self",)).filter(item_id__in=items)
    shelves: dict[int, dict[int, int]] = {}
    # Lock the rows in a fixed order instead of the picking order, to avoid deadlocks.
    for item, location, available in levels.order_by("item_id", "location_id").values_list(
        "item_id", "location_id", "available"
    ):
        shelves.setdefault(item, {})[location] = available
    return shelves


def _get_own_locations(primary: int) -> list[int]:
    """Return the shop's own active locations in picking order."""
    own = Location.objects.filter(active=True, legacy=False).values_list("pk", "priority")
    return [pk for pk, priority in sorted(own, key=lambda row: (row[0] != primary, row[1], row[0]))]


def _pick_locations(
    available_by_location: dict[int, int], locations: Sequence[int], quantity: int
) -> tuple[dict[int, int], int]:
    """Deduct a quantity from the available stock at some locations, in picking order.

    Return the quantity for each location, and the missing quantity.
    """
    stocked = [location for location in locations if location in available_by_location]
    full_location = next((location for location in stocked if available_by_location[location] >= quantity), None)
    picked: dict[int, int] = {}
    for location in stocked if full_location is None else [full_location]:
        units = min(quantity - sum(picked.values()), max(available_by_location[location], 0))
        if units:
            picked[location] = units
            available_by_location[location] -= units
    return picked, quantity - sum(picked.values())


def return_order_stock(
    order: Order, units: Mapping[LineItem, int], *, actor: str, at: datetime, other_moves: Sequence[StockChange] = ()
) -> None:
    """Return items to the locations they were taken from. Items that were not taken from stock are ignored.

    ``units`` is the quantity to return for each line. This function updates ``taken_from``. The caller saves the lines.
    ``other_moves`` are other inventory changes to apply at the same time, so that all rows are locked in order.
    """
    moves: dict[StockKey, int] = {}
    for move in (*other_moves, *_return_moves(units, {})):
        moves[move.item_id, move.location_id] = moves.get((move.item_id, move.location_id), 0) + move.delta
    if moves:
        movements.apply_stock_changes(
            [StockChange(item, location, quantity, connect=True) for (item, location), quantity in moves.items()],
            reason=Reason.RESTOCK,
            actor=actor,
            at=at,
            reference=order.name,
        )


def _return_moves(units: Mapping[LineItem, int], sources: Mapping[int, Mapping[int, int]]) -> list[StockChange]:
    active = set(Location.objects.filter(active=True).values_list("pk", flat=True))
    moves: dict[StockKey, int] = {}
    for line, count in units.items():
        for location, returned in release_stock(line, count, sources.get(line.pk, {})).items():
            if line.variant is not None:
                location_id = location if location in active else get_primary_location().pk
                key = (line.variant.inventory_item_id, location_id)
                moves[key] = moves.get(key, 0) + returned
    return [StockChange(item, location, returned, connect=True) for (item, location), returned in moves.items()]


def release_stock(line: LineItem, quantity: int, sources: Mapping[int, int]) -> Counter[int]:
    """Reduce ``taken_from`` by at most a quantity, and return the released quantities by location.

    ``sources`` are the quantities to release first, by location. Items that took nothing from stock release nothing.
    """
    taken = {int(location): units for location, units in sorted(line.taken_from.items(), key=lambda row: int(row[0]))}
    released: Counter[int] = Counter()
    for location, limit in (*sources.items(), *taken.items()):
        if count := min(quantity - released.total(), limit, taken.get(location, 0)):
            released[location] += count
            taken[location] -= count
    line.taken_from = {str(location): units for location, units in taken.items() if units}
    return released
