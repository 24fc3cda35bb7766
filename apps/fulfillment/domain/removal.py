"""Letting units no longer be sent, because they leave the order; of what a service has taken on, none does."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.domain.recording import record_event
from apps.fulfillment.domain import units
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrderLine
from apps.fulfillment.models.orders import UNFINISHED, RequestStatus, Status
from apps.ground.errors import TransitionRefused
from apps.orders.models import Order

# What a service has taken on is its own to give back.
TAKEN_ON = (
    RequestStatus.ACCEPTED,
    RequestStatus.CANCELLATION_REQUESTED,
    RequestStatus.CANCELLATION_REJECTED,
)


class TakenOn(TransitionRefused):
    """A fulfillment service works on units of the order."""

    code = "fulfillment_taken_on"


def take_off(lines: units.Units) -> None:
    """Let units that were not sent leave their fulfillment orders for good."""
    for line, count in lines.items():
        line.quantity -= count
        line.fulfillable_quantity -= count
    units.save_lines(lines)


@transaction.atomic
def remove_units(order: Order, counts: Mapping[int, int], *, actor: str, at: datetime) -> None:
    """Let units of lines no longer be sent, because they leave the order; call it before the lines change.

    Those that nobody has begun with go first. What a service has taken on stays with it.

    Args:
        order: Held.
        counts: How many of each line item.
        actor: Who.
        at: When.

    Raises:
        TakenOn: More are to go than nobody works on.
    """
    rows = (
        FulfillmentOrderLine.objects.filter(fulfillment_order__order=order, fulfillable_quantity__gt=0)
        .filter(line_item_id__in=counts)
        .select_related("fulfillment_order", "line_item")
        .order_by("pk")
    )
    lines = [row for row in rows if row.fulfillment_order.status in UNFINISHED]
    unrouted = {row.line_item_id: row.line_item.fulfillable_quantity for row in lines}
    for row in lines:
        unrouted[row.line_item_id] -= row.fulfillable_quantity
    left = {pk: max(count - max(unrouted.get(pk, count), 0), 0) for pk, count in counts.items()}
    chosen: units.Units = {}
    for row in sorted(lines, key=lambda row: (_ORDER.index(row.fulfillment_order.request_status), row.pk)):
        if row.fulfillment_order.request_status in TAKEN_ON:
            continue
        if count := min(left[row.line_item_id], row.fulfillable_quantity):
            chosen[row] = count
            left[row.line_item_id] -= count
    if any(left.values()):
        raise TakenOn(_("Fulfillment services have taken on some of the units; ask them to cancel first"))
    take_off(chosen)
    for changed in {row.fulfillment_order for row in chosen}:
        if not units.remaining(changed):
            changed.status = Status.CLOSED
            changed.save(update_fields=["status"])
            FulfillmentHold.objects.filter(fulfillment_order=changed).delete()
            record_event("fulfillment_orders/cancelled", changed, actor=actor, at=at)


_ORDER = list(RequestStatus.values)
