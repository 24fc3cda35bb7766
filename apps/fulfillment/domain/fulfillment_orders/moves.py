"""Find the locations that a fulfillment order can move to, and move items to another location.

Stock reservations move with the items: the available quantity increases at the old location and decreases at the new
location, even below zero. Inventory levels therefore always show which location has to ship the items.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_noop

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID
from apps.core.types import ReadOnlyAttrs
from apps.fulfillment.domain.fulfillment_orders import quantities
from apps.fulfillment.domain.fulfillment_orders.quantities import LineQuantities
from apps.fulfillment.domain.fulfillment_orders.states import Action
from apps.fulfillment.domain.fulfillment_orders.transitions import STATUS_FIELDS, apply_transition, enqueue_opening
from apps.fulfillment.models import FulfillmentOrder
from apps.fulfillment.models.orders import UNFINISHED, Status
from apps.inventory.domain import movements
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import InventoryLevel, Location, StockMovement
from apps.orders.models import LineItem, Order

CURRENT_LOCATION = gettext_noop("Current location.")
NOTHING_STOCKED = gettext_noop("No items are stocked at this location.")


class NotMovable(DomainError):
    field = "new_location_id"


def get_move_candidates(fulfillment_order: FulfillmentOrder) -> list[tuple[Location, str]]:
    """List all active locations, sorted by name, with the reason why the items can't move there, or a blank text."""
    stocking, counted = _get_stocking_locations(fulfillment_order)
    locations = Location.objects.filter(active=True).order_by("name", "pk")
    return [(row, _get_objection(fulfillment_order, row, stocking=stocking, counted=counted)) for row in locations]


def _get_objection(
    fulfillment_order: FulfillmentOrder, location: Location, *, stocking: set[int], counted: bool
) -> str:
    if location.pk == fulfillment_order.assigned_location_id:
        return CURRENT_LOCATION
    return NOTHING_STOCKED if counted and location.pk not in stocking else ""


def _get_stocking_locations(fulfillment_order: FulfillmentOrder) -> tuple[set[int], bool]:
    """Return the locations that stock any of the items, and whether all items are tracked."""
    rows = fulfillment_order.lines.values_list(
        "line_item__variant__inventory_item_id", "line_item__variant__inventory_item__tracked"
    )
    items = {item for item, tracked in rows if tracked}
    counted = bool(items) and all(tracked for _, tracked in rows)
    levels = InventoryLevel.objects.filter(item_id__in=items)
    return set(levels.order_by().values_list("location_id", flat=True).distinct()), counted


@transaction.atomic
def move_to_location(
    fulfillment_order: FulfillmentOrder,
    location_id: int,
    *,
    actor: str,
    at: datetime,
    lines: Sequence[ReadOnlyAttrs] | None = None,
) -> tuple[FulfillmentOrder, FulfillmentOrder, FulfillmentOrder | None]:
    """Move items to another location, into a new fulfillment order there.

    ``lines`` selects items by ``id`` and ``quantity``. Return the original, the new fulfillment order, and the original
    again, or None if all items were moved.
    """
    row = quantities.lock_fulfillment_order(fulfillment_order)
    apply_transition(row, Action.MOVE)
    target = Location.objects.filter(pk=location_id, active=True).first()
    if target is None:
        raise NotMovable(INVALID)
    stocking, counted = _get_stocking_locations(row)
    if message := _get_objection(row, target, stocking=stocking, counted=counted):
        raise NotMovable(message)
    selected, others = quantities.split_quantities(row, lines)
    old_location = row.assigned_location
    _shift_stock(row, selected, target, actor=actor, at=at)
    moved = quantities.move_to_new_fulfillment_order(row, selected, at=at, location=target)
    if moved is None:
        raise quantities.QuantitiesRefused(INVALID)
    movements.lock_active_locations([target.pk])
    row.status = Status.OPEN if others else Status.CLOSED
    row.save(update_fields=STATUS_FIELDS)
    changes = {"assigned_location_id": [old_location.pk, target.pk]}
    record_event("fulfillment_orders/moved", moved, actor=actor, at=at, changes=changes)
    return row, moved, row if others else None


@transaction.atomic
def move_all_work(source: Location, target: Location, *, actor: str, at: datetime) -> int:
    """Move all unfinished fulfillment orders of a service that is being deleted, and return their number."""
    unfinished = FulfillmentOrder.objects.filter(assigned_location=source, status__in=UNFINISHED)
    fulfillment_orders = list(unfinished.order_by("order_id", "pk"))
    for fulfillment_order in fulfillment_orders:
        row = quantities.lock_fulfillment_order(fulfillment_order)
        if not row.is_unfinished:
            continue
        remaining = quantities.get_remaining(row)
        _shift_stock(row, remaining, target, actor=actor, at=at)
        status = Status(row.status) if row.status in {Status.SCHEDULED, Status.ON_HOLD} else Status.OPEN
        moved = quantities.move_to_new_fulfillment_order(row, remaining, at=at, location=target, status=status)
        row.status = Status.CLOSED
        row.save(update_fields=STATUS_FIELDS)
        if moved is None:
            continue
        if moved.status == Status.SCHEDULED:
            enqueue_opening(moved, actor=actor)
        changes = {"assigned_location_id": [row.assigned_location_id, target.pk]}
        record_event("fulfillment_orders/moved", moved, actor=actor, at=at, changes=changes)
    return len(fulfillment_orders)


def _shift_stock(
    row: FulfillmentOrder, selected: LineQuantities, target: Location, *, actor: str, at: datetime
) -> None:
    source = row.assigned_location_id
    shifts = [(line.line_item, source, target.pk, count) for line, count in selected.items()]
    shift_stock(row.order, shifts, actor=actor, at=at)


def shift_stock(order: Order, shifts: Sequence[tuple[LineItem, int, int, int]], *, actor: str, at: datetime) -> None:
    """Transfer several stock reservations, each given as ``(line item, from, to, quantity)``.

    The quantities become available at the old location and are subtracted at the new location. Quantities that were
    never subtracted at the old location are ignored. The order must be locked.
    """
    ids = {line.pk for line, *_ in shifts}
    rows = LineItem.objects.filter(pk__in=ids).select_related("variant").order_by("pk")
    line_items: dict[int, LineItem] = {row.pk: row for row in rows}
    deltas: dict[tuple[int, int], int] = {}
    for line, source, target, count in shifts:
        row = line_items[line.pk]
        taken_from = dict(row.taken_from)
        moved = min(count, taken_from.get(str(source), 0))
        if not moved or row.variant is None:
            continue
        taken_from[str(source)] -= moved
        taken_from[str(target)] = taken_from.get(str(target), 0) + moved
        row.taken_from = {location: units for location, units in taken_from.items() if units}
        item = row.variant.inventory_item_id
        deltas[item, source] = deltas.get((item, source), 0) + moved
        deltas[item, target] = deltas.get((item, target), 0) - moved
    if not deltas:
        return
    LineItem.objects.bulk_update(line_items.values(), ["taken_from"])
    # Skip inactive locations, because their inventory levels must not change.
    active = set(Location.objects.filter(active=True).values_list("pk", flat=True))
    moves = [
        StockChange(item, location, delta, may_oversell=True, connect=True)
        for (item, location), delta in deltas.items()
        if location in active
    ]
    reason = StockMovement.Reason.TRANSFER
    movements.apply_stock_changes(moves, reason=reason, actor=actor, at=at, reference=order.name)


def claim_reservations(fulfillment_order: FulfillmentOrder, lines: Sequence[LineItem]) -> None:
    """Assign the stock of items that have to be fulfilled again to their new fulfillment order's location.

    The items came back from the carrier to this location, so no inventory level changes. The caller saves the lines.
    """
    target = str(fulfillment_order.assigned_location_id)
    elsewhere = [line for line in lines if line.taken_from.keys() - {target}]
    waiting = quantities.get_waiting_quantities(fulfillment_order.order) if elsewhere else {}
    for line in elsewhere:
        needed = {str(location): count for location, count in waiting.get(line.pk, {}).items()}
        taken_from = dict(line.taken_from)
        for location in sorted(taken_from.keys() - {target}, key=int):
            missing = needed.get(target, 0) - taken_from.get(target, 0)
            moved = min(missing, taken_from[location] - needed.get(location, 0))
            if moved > 0:
                taken_from[location] -= moved
                taken_from[target] = taken_from.get(target, 0) + moved
        line.taken_from = {location: units for location, units in taken_from.items() if units}
