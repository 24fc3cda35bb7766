"""Sending units: fulfillments for one or many fulfillment orders, and taking them back.

The order is held, so of two that send the same unit the later finds that fewer remain.
Rule: decisions, Fulfillment (fulfillments).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from apps.events.domain.recording import record_event
from apps.fulfillment.domain import tracking as tracks
from apps.fulfillment.domain import units
from apps.fulfillment.domain.states import Action
from apps.fulfillment.domain.tracking import Tracking
from apps.fulfillment.domain.transitions import STATES, step
from apps.fulfillment.domain.units import Units
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import Status
from apps.ground.attrs import Attrs, Given
from apps.ground.errors import DomainError, TransitionRefused
from apps.ground.phrases import BLANK, TAKEN
from apps.inventory.domain.stock import primary_location
from apps.inventory.models import Location
from apps.orders.domain import loading, statuses
from apps.orders.models import LineItem, Order

PARTS = "line_items_by_fulfillment_order"


class FulfillmentRefused(DomainError):
    """The fulfillment orders cannot be sent together."""

    code = "fulfillment_refused"
    field = PARTS


class NotCancellable(TransitionRefused):
    """The fulfillment was cancelled already, or never came about."""

    code = "fulfillment_not_cancellable"


@dataclass(frozen=True, slots=True)
class Part:
    """What of a fulfillment order is sent: ``id`` and ``quantity`` of lines; None for all that remains."""

    fulfillment_order: FulfillmentOrder
    lines: Sequence[Given] | None = None


@transaction.atomic
def create_fulfillment(
    parts: Sequence[Part],
    *,
    actor: str,
    at: datetime,
    tracking: Tracking | None = None,
    notify: bool = False,
    message: str = "",
    origin_address: Attrs | None = None,
) -> Fulfillment:
    """Send units of fulfillment orders of one order from one location.

    Args:
        parts: What is sent; read again.
        actor: Who.
        at: When.
        tracking: How the parcels are followed.
        notify: Whether the buyer gets a mail.
        message: For those who deal with it later.
        origin_address: Where the parcels start, if that is not the location.

    Raises:
        FulfillmentRefused: There are none, one twice, or of different orders or locations.
        NotPossible: The state of one does not allow it.
        UnitsRefused: More units than remain are named.
    """
    order, found = _together(parts)
    left = units.remaining_of(list(found.values()))
    sent: list[_Sent] = []
    for index, part in enumerate(parts):
        row = found[part.fulfillment_order.pk]
        step(row, Action.CREATE_FULFILLMENT)
        wanted = units.named_of(left[row.pk], part.lines, path=f"{PARTS}.{index}.{units.LINES}")
        sent.append(_Sent(row, wanted, stays=bool(units.without(left[row.pk], wanted))))
    location = sent[0].row.assigned_location
    fulfillment = _made(order, location, tracking or Tracking(), message, origin_address, at=at)
    _send(fulfillment, sent, at=at)
    counts: dict[int, int] = {}
    for each in sent:
        for line, count in each.units.items():
            counts[line.line_item_id] = counts.get(line.line_item_id, 0) + count
    record_event("fulfillments/create", fulfillment, actor=actor, at=at)
    follow(order, counts, actor=actor, at=at)
    if notify:
        tracks.tell_buyer(fulfillment, actor=actor)
    return fulfillment


def _together(parts: Sequence[Part]) -> tuple[Order, dict[int, FulfillmentOrder]]:
    """The order, held, and the fulfillment orders as they are now."""
    if not parts:
        raise FulfillmentRefused(BLANK)
    pks = [part.fulfillment_order.pk for part in parts]
    if len(set(pks)) < len(pks):
        raise FulfillmentRefused(TAKEN)
    if len({part.fulfillment_order.order_id for part in parts}) > 1:
        raise FulfillmentRefused(_("must all be of one order"))
    order = loading.lock(Order(pk=parts[0].fulfillment_order.order_id))
    rows = units.read(order, pks)
    if len({row.assigned_location_id for row in rows}) > 1:
        raise FulfillmentRefused(_("must all be at one location"))
    return order, {row.pk: row for row in rows}


def _made(
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
    tracks.apply(fulfillment, tracking)
    fulfillment.save(force_insert=True)
    return fulfillment


class _Sent(NamedTuple):
    """Units of a fulfillment order that are sent, and whether others stay."""

    row: FulfillmentOrder
    units: Units
    stays: bool


def _send(fulfillment: Fulfillment, sent: Sequence[_Sent], *, at: datetime) -> None:
    """Note units as sent; a fulfillment order of which none is left is done."""
    made = []
    for row, wanted, stays in sent:
        row.status = Status.IN_PROGRESS if stays else Status.CLOSED
        for line, count in wanted.items():
            line.fulfilled_quantity += count
            line.fulfillable_quantity -= count
            made.append(
                FulfillmentLine(
                    shop_id=fulfillment.shop_id,
                    fulfillment=fulfillment,
                    fulfillment_order=row,
                    line_item_id=line.line_item_id,
                    quantity=count,
                    created_at=at,
                )
            )
    units.save_lines([line for each in sent for line in each.units])
    FulfillmentLine.objects.bulk_create(made)
    FulfillmentOrder.objects.bulk_update([each.row for each in sent], STATES)


def follow(order: Order, counts: dict[int, int], *, actor: str, at: datetime) -> None:
    """Let an order's lines and status follow what was sent of them."""
    lines = loading.lines_of(order)
    changed = [line for line in lines if counts.get(line.pk)]
    for line in changed:
        line.fulfilled_quantity += counts[line.pk]
        line.fulfillable_quantity -= counts[line.pk]
    LineItem.objects.bulk_update(changed, ["fulfilled_quantity", "fulfillable_quantity"])
    settle(order, lines, actor=actor, at=at)


def settle(order: Order, lines: Sequence[LineItem], *, actor: str, at: datetime) -> None:
    """Let an order's status follow its lines, and record it."""
    before = order.fulfillment_status
    statuses.follow(order, lines, loading.transactions_of(order))
    order.save(update_fields=[*statuses.COLUMNS])
    differs = before != order.fulfillment_status
    changes = {"fulfillment_status": [before, order.fulfillment_status]} if differs else {}
    record_event("orders/updated", order, actor=actor, at=at, changes=changes)
    verb = {
        Order.FulfillmentStatus.FULFILLED: "orders/fulfilled",
        Order.FulfillmentStatus.PARTIAL: "orders/partially_fulfilled",
    }.get(Order.FulfillmentStatus(order.fulfillment_status))
    if differs and verb:
        record_event(verb, order, actor=actor, at=at)


def note_sent(order: Order, row: FulfillmentOrder, tracking: Tracking, *, at: datetime) -> Fulfillment:
    """The fulfillment of a fulfillment order that was sent before the order came here."""
    fulfillment = _made(order, row.assigned_location, tracking, "", None, at=at)
    _send(fulfillment, [_Sent(row, units.remaining(row), stays=False)], at=at)
    return fulfillment


def status_of(order: Order, lines: Sequence[LineItem]) -> str:
    """How far an order is sent."""
    return statuses.fulfillment_status_of(order, lines).value


@transaction.atomic
def cancel_fulfillment(fulfillment: Fulfillment, *, actor: str, at: datetime) -> Fulfillment:
    """Take a fulfillment back: its units are to be sent again, by a new fulfillment order.

    Raises:
        NotCancellable: It was cancelled already.
    """
    row = tracks.hold(fulfillment)
    if row.status in {Fulfillment.Status.CANCELLED, Fulfillment.Status.ERROR, Fulfillment.Status.FAILURE}:
        raise NotCancellable(_("The fulfillment is {status}").format(status=row.get_status_display().lower()))
    row.status = Fulfillment.Status.CANCELLED
    row.save(update_fields=["status"])
    order = row.order
    back = _unsend(row)
    items = loading.lines_of(order)
    again: dict[int, int] = {}
    for item in [item for item in items if item.pk in back]:
        item.fulfilled_quantity -= back[item.pk]
        # What was returned after it was sent is not to be sent once more.
        open_units = item.current_quantity - item.fulfilled_quantity - item.fulfillable_quantity
        if count := min(back[item.pk], max(open_units, 0)):
            item.fulfillable_quantity += count
            again[item.pk] = count
    LineItem.objects.bulk_update(items, ["fulfilled_quantity", "fulfillable_quantity"])
    _again(row, again, at=at)
    record_event("fulfillments/update", row, actor=actor, at=at, changes={"status": ["success", row.status]})
    settle(order, items, actor=actor, at=at)
    return row


def _unsend(row: Fulfillment) -> dict[int, int]:
    """Take a fulfillment's units off the fulfillment orders that they were sent for; returns them by line item."""
    sent = list(FulfillmentLine.objects.filter(fulfillment=row).order_by("pk"))
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order__in={each.fulfillment_order_id for each in sent})
    lines = {(line.fulfillment_order_id, line.line_item_id): line for line in rows}
    back: dict[int, int] = {}
    for each in sent:
        line = lines[each.fulfillment_order_id, each.line_item_id]
        line.quantity -= each.quantity
        line.fulfilled_quantity -= each.quantity
        back[each.line_item_id] = back.get(each.line_item_id, 0) + each.quantity
    units.save_lines([lines[each.fulfillment_order_id, each.line_item_id] for each in sent])
    return back


def _again(row: Fulfillment, counts: dict[int, int], *, at: datetime) -> FulfillmentOrder | None:
    """The new fulfillment order of units that were taken back, at the same location while that is active."""
    first = FulfillmentOrder.objects.filter(sent_lines__fulfillment=row).order_by("pk").first()
    if first is None or not counts:
        return None
    location = row.location if row.location.active else primary_location()
    made = units.beside(first, location, at=at)
    units.add_lines(made, counts, at=at)
    return made
