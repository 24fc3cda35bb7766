"""The stock that orders take, and give back when they are cancelled.

A line notes from which locations its units came, so units are given back where they were taken, and never twice.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from apps.catalog.domain.sales import hold_products
from apps.ground.errors import DomainError
from apps.inventory.domain import movements
from apps.inventory.domain.movements import Move
from apps.inventory.domain.stock import CONTINUE, primary_location
from apps.inventory.models import InventoryLevel, Location, StockMovement
from apps.orders.models import LineItem, Order

Behaviour = Order.InventoryBehaviour
Reason = StockMovement.Reason
Place = tuple[int, int]


class NotEnoughStock(DomainError):
    """A variant that is not sold beyond its stock has fewer units than were ordered."""

    code = "not_enough_stock"
    field = "line_items"


def take(order: Order, lines: Sequence[LineItem], *, actor: str, at: datetime) -> None:
    """Take an order's units from stock as its ``inventory_behaviour`` says, and note on the lines where from.

    All of a line comes from one location where one has enough, the primary one first; what no location has is taken
    from the primary one where the variant, or the behaviour, lets it be sold all the same.

    Args:
        order: With its name, which the ledger keeps.
        lines: Of the order; not saved yet.
        actor: Who, for the ledger.
        at: When.

    Raises:
        NotEnoughStock: ``line_items.<n>.quantity`` of every line with too few units.
    """
    picked = _moves(order, lines)
    if not picked:
        return
    _hold_others(lines, [line for line in lines if line.taken_from])
    movements.apply(picked, reason=Reason.SALE, actor=actor, at=at, reference=order.name)


def _moves(order: Order, lines: Sequence[LineItem], *, besides: Collection[int] = ()) -> list[Move]:
    """What has to be moved for lines that are taken from stock, and noted on them; the levels are locked.

    Args:
        order: Whose.
        lines: New ones.
        besides: Further items whose levels are moved in the same transaction.
    """
    tracked = [
        (index, line) for index, line in enumerate(lines) if line.variant and line.variant.inventory_item.tracked
    ]
    if order.inventory_behaviour == Behaviour.BYPASS:
        tracked = []
    items = {line.variant.inventory_item_id for _, line in tracked if line.variant}
    if not items and not besides:
        return []
    shelves = _shelves(items | set(besides))
    fallback = primary_location().pk
    taken: dict[Place, int] = {}
    oversold: set[Place] = set()
    short: dict[str, list[str]] = {}
    for index, line in tracked:
        assert line.variant is not None
        item = line.variant.inventory_item_id
        picked, missing = _pick(shelves.setdefault(item, {}), line.quantity)
        if missing:
            may = order.inventory_behaviour == Behaviour.IGNORE_POLICY or line.variant.inventory_policy == CONTINUE
            if not may:
                left = line.quantity - missing
                short[f"line_items.{index}.quantity"] = [_("is more than is in stock ({count})").format(count=left)]
                continue
            picked[fallback] = picked.get(fallback, 0) + missing
            oversold.add((item, fallback))
        line.taken_from = {str(location): units for location, units in picked.items()}
        for location, units in picked.items():
            taken[item, location] = taken.get((item, location), 0) + units
    if short:
        raise NotEnoughStock(short)
    return [
        Move(item, location, -units, may_oversell=(item, location) in oversold, connect=(item, location) in oversold)
        for (item, location), units in taken.items()
    ]


def exchange(
    order: Order,
    every: Sequence[LineItem],
    *,
    added: Sequence[LineItem],
    removed: Mapping[LineItem, int],
    actor: str,
    at: datetime,
) -> None:
    """Take the units of lines that come to an order, and put back those that leave it; all is moved together.

    Args:
        order: Locked.
        every: All its lines with the new ones, whose products are held.
        added: New ones, not saved yet.
        removed: How many of each; ``taken_from`` of the lines is renewed, and saved by the caller.
        actor: Who, for the ledger.
        at: When.

    Raises:
        NotEnoughStock: As ``take``.
    """
    back = _going_back(removed)
    moves = _moves(order, added, besides={move.item_id for move in back})
    hold_products(line.product_id for line in every if line.product_id is not None)
    if moves or back:
        reason = Reason.SALE if moves else Reason.RESTOCK
        movements.apply([*moves, *back], reason=reason, actor=actor, at=at, reference=order.name)


def _hold_others(lines: Sequence[LineItem], tracked: Sequence[LineItem]) -> None:
    """Hold all products of the order together, for the count of what is sold comes after the stock's own.

    Where stock is taken of all of them, taking it does that already.
    """
    products = {line.product_id for line in lines if line.product_id is not None}
    if products - {line.product_id for line in tracked}:
        hold_products(products)


def _shelves(items: set[int]) -> dict[int, dict[int, int]]:
    """What is available of items by location, in the order in which locations are asked; locked until the end."""
    levels = InventoryLevel.objects.select_for_update(of=("self",)).filter(item_id__in=items)
    # Locked in the one order that everybody keeps, whatever the order in which they are asked.
    locked = list(levels.order_by("item_id", "location_id").values_list("item_id", "location_id", "available"))
    primary = primary_location().pk
    active = Location.objects.filter(active=True).values_list("pk", "priority")
    rank = {pk: (pk != primary, priority, pk) for pk, priority in active}
    shelves: dict[int, dict[int, int]] = {}
    for item, location, available in sorted(locked, key=lambda row: rank.get(row[1], ())):
        if location in rank:
            shelves.setdefault(item, {})[location] = available
    return shelves


def _pick(shelf: dict[int, int], wanted: int) -> tuple[dict[int, int], int]:
    """Units by location, taken off the shelf, and how many are missing."""
    whole = next((location for location, available in shelf.items() if available >= wanted), None)
    picked: dict[int, int] = {}
    for location in [whole] if whole is not None else list(shelf):
        units = min(wanted - sum(picked.values()), max(shelf[location], 0))
        if units:
            picked[location] = units
            shelf[location] -= units
    return picked, wanted - sum(picked.values())


def give_back(
    order: Order, units: Mapping[LineItem, int], *, actor: str, at: datetime, besides: Sequence[Move] = ()
) -> None:
    """Put units of lines back where they were taken; what was never taken from stock is not put there.

    Args:
        order: Locked.
        units: How many of each line; ``taken_from`` of the lines is renewed, and saved by the caller.
        actor: Who, for the ledger.
        at: When.
        besides: What else goes back to stock; all is moved together, in the one order of locks.
    """
    moves: dict[Place, int] = {}
    for move in (*besides, *_going_back(units)):
        moves[move.item_id, move.location_id] = moves.get((move.item_id, move.location_id), 0) + move.delta
    if moves:
        movements.apply(
            [Move(item, location, back, connect=True) for (item, location), back in moves.items()],
            reason=Reason.RESTOCK,
            actor=actor,
            at=at,
            reference=order.name,
        )


def _going_back(units: Mapping[LineItem, int]) -> list[Move]:
    """What has to be moved for units that go back where they were taken; ``taken_from`` of the lines is renewed."""
    active = set(Location.objects.filter(active=True).values_list("pk", flat=True))
    moves: dict[Place, int] = {}
    for line, count in units.items():
        left = count
        for location in sorted(line.taken_from, key=int):
            back = min(left, line.taken_from[location])
            if not back:
                continue
            left -= back
            line.taken_from = {**line.taken_from, location: line.taken_from[location] - back}
            if line.variant is not None:
                where = int(location) if int(location) in active else primary_location().pk
                place = (line.variant.inventory_item_id, where)
                moves[place] = moves.get(place, 0) + back
        line.taken_from = {location: taken for location, taken in line.taken_from.items() if taken}
    return [Move(item, location, back, connect=True) for (item, location), back in moves.items()]
