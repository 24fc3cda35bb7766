"""Letting units be sent from another location: which could, and the move.

Stock that was taken for the units moves along: it goes back to the location that they leave, and is taken from the one
that they come to, below zero where it has too little, so that the books say who must send what.
Rule: decisions, Fulfillment (locations_for_move).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_noop

from apps.events.domain.recording import record_event
from apps.fulfillment.domain import units
from apps.fulfillment.domain.states import Action
from apps.fulfillment.domain.transitions import STATES, schedule, step
from apps.fulfillment.domain.units import Units
from apps.fulfillment.models import FulfillmentOrder
from apps.fulfillment.models.orders import UNFINISHED, Status
from apps.ground.attrs import Given
from apps.ground.errors import DomainError
from apps.ground.phrases import INVALID
from apps.inventory.domain import movements
from apps.inventory.domain.movements import Move
from apps.inventory.models import InventoryLevel, Location, StockMovement
from apps.orders.models import LineItem, Order

CURRENT = gettext_noop("Current location.")
NOTHING_STOCKED = gettext_noop("No items are stocked at this location.")


class NotMovable(DomainError):
    """The location cannot send the units."""

    code = "not_movable"
    field = "new_location_id"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A location, and whether the units could be moved there; if not, why."""

    location: Location
    movable: bool
    message: str


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of a move: the original, the one at the new location, and what stayed (None for nothing)."""

    original: FulfillmentOrder
    moved: FulfillmentOrder
    remaining: FulfillmentOrder | None


def candidates(fulfillment_order: FulfillmentOrder) -> list[Candidate]:
    """Every active location, by name."""
    stocking, counted = _stocking(fulfillment_order)
    found = []
    for location in Location.objects.filter(active=True).order_by("name", "pk"):
        message = _against(fulfillment_order, location, stocking=stocking, counted=counted)
        found.append(Candidate(location, message is None, message or ""))
    return found


def _against(
    fulfillment_order: FulfillmentOrder, location: Location, *, stocking: set[int], counted: bool
) -> str | None:
    """What speaks against a location."""
    if location.pk == fulfillment_order.assigned_location_id:
        return CURRENT
    return NOTHING_STOCKED if counted and location.pk not in stocking else None


def _stocking(fulfillment_order: FulfillmentOrder) -> tuple[set[int], bool]:
    """The locations that stock any of its items, and whether all its items are counted, so that it matters."""
    rows = fulfillment_order.lines.values_list(
        "line_item__variant__inventory_item_id", "line_item__variant__inventory_item__tracked"
    )
    items = {item for item, tracked in rows if tracked}
    counted = bool(items) and all(tracked for _, tracked in rows)
    levels = InventoryLevel.objects.filter(item_id__in=items)
    return set(levels.order_by().values_list("location_id", flat=True).distinct()), counted


@transaction.atomic
def move(
    fulfillment_order: FulfillmentOrder,
    location_id: int,
    *,
    actor: str,
    at: datetime,
    lines: Sequence[Given] | None = None,
) -> Moved:
    """Let another location send units, by a new fulfillment order there.

    Args:
        fulfillment_order: Read again.
        location_id: The other location.
        actor: Who.
        at: When.
        lines: The units that move: ``id`` and ``quantity``; all where omitted.

    Raises:
        NotPossible: Work has begun, or was asked for.
        NotMovable: The location is none, is the same, or stocks nothing of it.
        UnitsRefused: Units are named that are not there.
    """
    row = units.hold(fulfillment_order)
    step(row, Action.MOVE)
    target = Location.objects.filter(pk=location_id, active=True).first()
    if target is None:
        raise NotMovable(INVALID)
    stocking, counted = _stocking(row)
    if message := _against(row, target, stocking=stocking, counted=counted):
        raise NotMovable(message)
    wanted = units.named(row, lines)
    stays = bool(units.rest(row, wanted))
    before = row.assigned_location
    shift_stock(
        row.order, {line.line_item: count for line, count in wanted.items()}, before, target, actor=actor, at=at
    )
    moved = units.hand_on(row, wanted, at=at, location=target)
    if moved is None:
        raise units.UnitsRefused(INVALID)
    movements.hold_active([target.pk])
    row.status = Status.OPEN if stays else Status.CLOSED
    row.save(update_fields=STATES)
    changes = {"assigned_location_id": [before.pk, target.pk]}
    record_event("fulfillment_orders/moved", moved, actor=actor, at=at, changes=changes)
    return Moved(row, moved, row if stays else None)


@transaction.atomic
def evacuate(source: Location, target: Location, *, actor: str, at: datetime) -> int:
    """Let another location send all that one has not, whatever was agreed: the fulfillment service is no more.

    Returns:
        How many fulfillment orders moved.
    """
    left = FulfillmentOrder.objects.filter(assigned_location=source, status__in=UNFINISHED)
    found = list(left.order_by("order_id", "pk"))
    for each in found:
        row = units.hold(each)
        if not row.is_unfinished:
            continue
        wanted = units.remaining(row)
        items = {line.line_item: count for line, count in wanted.items()}
        shift_stock(row.order, items, source, target, actor=actor, at=at)
        _leave(row, wanted, target, actor=actor, at=at)
    return len(found)


def _leave(row: FulfillmentOrder, wanted: Units, target: Location, *, actor: str, at: datetime) -> None:
    waits = row.status in {Status.SCHEDULED, Status.ON_HOLD}
    moved = units.hand_on(row, wanted, at=at, location=target, status=Status(row.status) if waits else Status.OPEN)
    row.status = Status.CLOSED
    row.save(update_fields=STATES)
    if moved is None:
        return
    if moved.status == Status.SCHEDULED:
        schedule(moved, actor=actor)
    changes = {"assigned_location_id": [row.assigned_location_id, target.pk]}
    record_event("fulfillment_orders/moved", moved, actor=actor, at=at, changes=changes)


def shift_stock(
    order: Order, counts: dict[LineItem, int], source: Location, target: Location, *, actor: str, at: datetime
) -> None:
    """Take units from another location's stock instead of the one that they were taken from.

    What was never taken from stock there is not touched. The order is held.
    """
    shift(order, [(line, source.pk, target.pk, count) for line, count in counts.items()], actor=actor, at=at)


def shift(order: Order, wanted: Sequence[tuple[LineItem, int, int, int]], *, actor: str, at: datetime) -> None:
    """As ``shift_stock``, for lines that each have places of their own: line, from, to, units."""
    ids = {line.pk for line, *_ in wanted}
    rows = LineItem.objects.filter(pk__in=ids).select_related("variant").order_by("pk")
    fresh: dict[int, LineItem] = {row.pk: row for row in rows}
    deltas: dict[tuple[int, int], int] = {}
    for line, source, target, count in wanted:
        row = fresh[line.pk]
        taken = dict(row.taken_from)
        back = min(count, taken.get(str(source), 0))
        if not back or row.variant is None:
            continue
        taken[str(source)] -= back
        taken[str(target)] = taken.get(str(target), 0) + back
        row.taken_from = {where: units for where, units in taken.items() if units}
        item = row.variant.inventory_item_id
        deltas[item, source] = deltas.get((item, source), 0) + back
        deltas[item, target] = deltas.get((item, target), 0) - back
    if not deltas:
        return
    LineItem.objects.bulk_update(fresh.values(), ["taken_from"])
    # A deactivated location's stock stays as it is.
    active = set(Location.objects.filter(active=True).values_list("pk", flat=True))
    moves = [
        Move(item, where, delta, may_oversell=True, connect=True)
        for (item, where), delta in deltas.items()
        if where in active
    ]
    reason = StockMovement.Reason.TRANSFER
    movements.apply(moves, reason=reason, actor=actor, at=at, reference=order.name)
