"""Create and cancel fulfillments, for one or several fulfillment orders.

Each function locks the order. If two requests fulfill the same item, the later request therefore sees the reduced
quantity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError, TransitionRefused
from apps.core.i18n.error_messages import BLANK, TAKEN
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.fulfillment.domain import tracking as tracks
from apps.fulfillment.domain.fulfillment_orders import moves, quantities
from apps.fulfillment.domain.fulfillment_orders.quantities import LineQuantities
from apps.fulfillment.domain.fulfillment_orders.states import Action
from apps.fulfillment.domain.fulfillment_orders.transitions import STATUS_FIELDS, apply_transition
from apps.fulfillment.domain.tracking import Tracking
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import Status
from apps.inventory.domain.stock import get_primary_location
from apps.inventory.models import Location
from apps.orders.domain import selectors, statuses
from apps.orders.models import LineItem, Order

PARTS = "line_items_by_fulfillment_order"


class FulfillmentRefused(DomainError):
    field = PARTS


class NotCancellable(TransitionRefused):
    pass


@dataclass(frozen=True, slots=True)
class FulfillmentPart:
    """A fulfillment order with the ``id`` and ``quantity`` of the lines to fulfill, or None for all remaining items."""

    fulfillment_order: FulfillmentOrder
    lines: Sequence[ReadOnlyAttrs] | None = None


@transaction.atomic
def create_fulfillment(
    parts: Sequence[FulfillmentPart],
    *,
    actor: str,
    at: datetime,
    tracking: Tracking | None = None,
    notify: bool = False,
    message: str = "",
    origin_address: Attrs | None = None,
) -> Fulfillment:
    """Fulfill items from one location. The fulfillment orders must belong to the same order, and are reloaded.

    ``message`` is an internal note. ``origin_address`` is the sender's address if it differs from the location's
    address.
    """
    order, fulfillment_orders = _lock_parts(parts)
    remaining = quantities.get_remaining_of_many(list(fulfillment_orders.values()))
    selected: dict[FulfillmentOrder, LineQuantities] = {}
    for index, part in enumerate(parts):
        row = fulfillment_orders[part.fulfillment_order.pk]
        apply_transition(row, Action.CREATE_FULFILLMENT)
        path = f"{PARTS}.{index}.{quantities.LINES}"
        selected[row] = quantities.parse_quantities(remaining[row.pk], part.lines, path=path)
        others = quantities.subtract_quantities(remaining[row.pk], selected[row])
        row.status = Status.IN_PROGRESS if others else Status.CLOSED
    location = next(iter(selected)).assigned_location
    fulfillment = _save_fulfillment(order, location, tracking or Tracking(), message, origin_address, at=at)
    _fulfill(fulfillment, selected, at=at)
    FulfillmentOrder.objects.bulk_update(selected, STATUS_FIELDS)
    counts: dict[int, int] = {}
    for units in selected.values():
        for line, count in units.items():
            counts[line.line_item_id] = counts.get(line.line_item_id, 0) + count
    lines = _count_fulfilled(order, counts)
    record_event("fulfillments/create", fulfillment, actor=actor, at=at)
    tracks.record_line_changes(counts, actor=actor, at=at, excluded_id=fulfillment.pk)
    update_order_status(order, lines, actor=actor, at=at)
    if notify:
        tracks.enqueue_shipping_confirmation(fulfillment, actor=actor)
    return fulfillment


def _lock_parts(parts: Sequence[FulfillmentPart]) -> tuple[Order, dict[int, FulfillmentOrder]]:
    if not parts:
        raise FulfillmentRefused(BLANK)
    pks = [part.fulfillment_order.pk for part in parts]
    if len(set(pks)) < len(pks):
        raise FulfillmentRefused(TAKEN)
    if len({part.fulfillment_order.order_id for part in parts}) > 1:
        raise FulfillmentRefused(_("must all belong to the same order"))
    order = selectors.lock_order(Order(pk=parts[0].fulfillment_order.order_id))
    rows = quantities.load_fulfillment_orders(order, pks)
    if len({row.assigned_location_id for row in rows}) > 1:
        raise FulfillmentRefused(_("must all be at the same location"))
    return order, {row.pk: row for row in rows}


def _save_fulfillment(
    order: Order, location: Location, tracking: Tracking, message: str, origin_address: Attrs | None, *, at: datetime
) -> Fulfillment:
    last = Fulfillment.objects.filter(order=order).aggregate(last=Max("number"))["last"] or 0
    service = getattr(location, "service", None)
    fulfillment = Fulfillment(
        shop_id=order.shop_id,
        order=order,
        location=location,
        number=last + 1,
        name=f"{order.name}.{last + 1}",
        service="manual" if service is None else service.handle,
        message=message,
        origin_address=origin_address,
        created_at=at,
    )
    tracks.set_tracking(fulfillment, tracking)
    fulfillment.save(force_insert=True)
    return fulfillment


def _fulfill(fulfillment: Fulfillment, selected: Mapping[FulfillmentOrder, LineQuantities], *, at: datetime) -> None:
    fulfillment_lines = []
    for row, units in selected.items():
        for line, count in units.items():
            line.fulfilled_quantity += count
            line.fulfillable_quantity -= count
            fulfillment_lines.append(
                FulfillmentLine(
                    shop_id=fulfillment.shop_id,
                    fulfillment=fulfillment,
                    fulfillment_order=row,
                    line_item_id=line.line_item_id,
                    quantity=count,
                    created_at=at,
                )
            )
    quantities.save_lines([line for units in selected.values() for line in units])
    FulfillmentLine.objects.bulk_create(fulfillment_lines)


def _count_fulfilled(order: Order, counts: Mapping[int, int]) -> list[LineItem]:
    """Add fulfilled quantities, keyed by line item id, to the line items. Return all line items of the order."""
    lines = selectors.get_line_items(order)
    changed_lines = [line for line in lines if counts.get(line.pk)]
    for line in changed_lines:
        line.fulfilled_quantity += counts[line.pk]
        line.fulfillable_quantity -= counts[line.pk]
    LineItem.objects.bulk_update(changed_lines, ["fulfilled_quantity", "fulfillable_quantity"])
    return lines


def update_order_status(order: Order, lines: Sequence[LineItem], *, actor: str, at: datetime) -> None:
    before = order.fulfillment_status
    statuses.update_statuses(order, lines, selectors.get_transactions(order))
    order.save(update_fields=[*statuses.STATUS_COLUMNS])
    differs = before != order.fulfillment_status
    changes = {"fulfillment_status": [before, order.fulfillment_status]} if differs else {}
    record_event("orders/updated", order, actor=actor, at=at, changes=changes)
    verb = {
        Order.FulfillmentStatus.FULFILLED: "orders/fulfilled",
        Order.FulfillmentStatus.PARTIAL: "orders/partially_fulfilled",
    }.get(Order.FulfillmentStatus(order.fulfillment_status))
    if differs and verb:
        record_event(verb, order, actor=actor, at=at)


def create_past_fulfillment(order: Order, row: FulfillmentOrder, tracking: Tracking, *, at: datetime) -> Fulfillment:
    """Create the fulfillment of an imported order that was shipped before the import."""
    fulfillment = _save_fulfillment(order, row.assigned_location, tracking, "", None, at=at)
    _fulfill(fulfillment, {row: quantities.get_remaining(row)}, at=at)
    return fulfillment


@transaction.atomic
def cancel_fulfillment(fulfillment: Fulfillment, *, actor: str, at: datetime) -> Fulfillment:
    """Cancel a fulfillment and move its items to a new fulfillment order."""
    row = tracks.lock_fulfillment(fulfillment)
    if row.status in {Fulfillment.Status.CANCELLED, Fulfillment.Status.ERROR, Fulfillment.Status.FAILURE}:
        raise NotCancellable(
            _("The fulfillment can't be canceled. Status: {status}.").format(status=row.get_status_display().lower())
        )
    row.status = Fulfillment.Status.CANCELLED
    row.save(update_fields=["status"])
    order = row.order
    fulfilled = _revert_quantities(row)
    items = selectors.get_line_items(order)
    refulfillable: dict[int, int] = {}
    for item in [item for item in items if item.pk in fulfilled]:
        # Do not ship returned items again. They count as items of other fulfillments as long as there are any.
        count = min(fulfilled[item.pk], item.quantity_at_customer)
        item.fulfilled_quantity -= fulfilled[item.pk]
        if count:
            item.fulfillable_quantity += count
            refulfillable[item.pk] = count
    if replacement := _create_replacement(row, refulfillable, at=at):
        moves.claim_reservations(replacement, [item for item in items if item.pk in refulfillable])
    LineItem.objects.bulk_update(items, ["fulfilled_quantity", "fulfillable_quantity", "taken_from"])
    record_event("fulfillments/update", row, actor=actor, at=at, changes={"status": ["success", row.status]})
    tracks.record_line_changes(fulfilled, actor=actor, at=at, excluded_id=row.pk)
    update_order_status(order, items, actor=actor, at=at)
    return row


def _revert_quantities(row: Fulfillment) -> dict[int, int]:
    """Subtract a fulfillment's quantities from its fulfillment orders. Return the quantities, keyed by line item."""
    fulfillment_lines = list(FulfillmentLine.objects.filter(fulfillment=row).order_by("pk"))
    rows = FulfillmentOrderLine.objects.filter(
        fulfillment_order__in={fulfillment_line.fulfillment_order_id for fulfillment_line in fulfillment_lines}
    )
    lines = {(line.fulfillment_order_id, line.line_item_id): line for line in rows}
    counts: dict[int, int] = {}
    for fulfillment_line in fulfillment_lines:
        line = lines[fulfillment_line.fulfillment_order_id, fulfillment_line.line_item_id]
        line.quantity -= fulfillment_line.quantity
        line.fulfilled_quantity -= fulfillment_line.quantity
        counts[fulfillment_line.line_item_id] = counts.get(fulfillment_line.line_item_id, 0) + fulfillment_line.quantity
    quantities.save_lines(
        [
            lines[fulfillment_line.fulfillment_order_id, fulfillment_line.line_item_id]
            for fulfillment_line in fulfillment_lines
        ]
    )
    return counts


def _create_replacement(row: Fulfillment, counts: dict[int, int], *, at: datetime) -> FulfillmentOrder | None:
    """Create a fulfillment order at the fulfillment's location or, if that is inactive, at the primary location."""
    first = FulfillmentOrder.objects.filter(sent_lines__fulfillment=row).order_by("pk").first()
    if first is None or not counts:
        return None
    location = row.location if row.location.active else get_primary_location()
    fulfillment_order = quantities.create_fulfillment_order_like(first, location, at=at)
    quantities.add_lines([(fulfillment_order, counts)], at=at)
    return fulfillment_order
