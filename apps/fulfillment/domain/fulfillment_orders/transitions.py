"""Fulfillment order transitions without a request to a service: hold, release, open, reschedule, cancel, close.

Each function locks the order, reloads the fulfillment order, checks the table in ``states``, and records an event.
"""

from collections.abc import Sequence
from copy import copy
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.core.events.recording import EventInput, has_audience, record_event, record_events, record_secondary_events
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID
from apps.core.jobs.queue import enqueue
from apps.core.types import ReadOnlyAttrs
from apps.fulfillment.domain.fulfillment_orders import quantities
from apps.fulfillment.domain.fulfillment_orders.states import Action, TransitionRule, get_rule
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.orders.domain.selectors import lock_order
from apps.orders.models import Order

HOLD_ADDED, HOLD_RELEASED = "fulfillment_holds/added", "fulfillment_holds/released"
CLOSED_TOPIC = "fulfillment_orders/fulfillment_service_failed_to_complete"
OPEN_TASK = "fulfillment.open_fulfillment_order"
STATUS_FIELDS = ("status", "request_status")


class NotInTheFuture(DomainError):
    field = "new_fulfill_at"


class UnknownFulfillmentOrders(DomainError):
    field = "fulfillment_order_ids"


def apply_transition(fulfillment_order: FulfillmentOrder, action: Action, to: Status | None = None) -> TransitionRule:
    """Apply a transition of the state table in memory. The caller must save ``STATUS_FIELDS``.

    ``to`` selects one of the rule's next statuses, by default the first.
    """
    state = (fulfillment_order.status, fulfillment_order.request_status)
    rule = get_rule(action, state, quantities.get_location_manager(fulfillment_order))
    if rule.to:
        fulfillment_order.status = to or rule.to[0]
    if rule.request is not None:
        fulfillment_order.request_status = rule.request
    return rule


@transaction.atomic
def hold_fulfillment_order(
    fulfillment_order: FulfillmentOrder,
    *,
    reason: str,
    actor: str,
    at: datetime,
    notes: str = "",
    lines: Sequence[ReadOnlyAttrs] | None = None,
) -> FulfillmentOrder:
    """Put a fulfillment order on hold. A fulfillment order can have several holds with different reasons.

    With ``lines`` (``id`` and ``quantity``), the other items are split off without this hold.
    """
    row = quantities.lock_fulfillment_order(fulfillment_order)
    before = Status(row.status)
    apply_transition(row, Action.HOLD)
    _held, others = quantities.split_quantities(row, lines)
    request = RequestStatus(row.request_status)
    remaining = quantities.move_to_new_fulfillment_order(row, others, at=at, status=before, request=request)
    row.save(update_fields=STATUS_FIELDS)
    new_hold = FulfillmentHold.objects.create(
        shop_id=row.shop_id, fulfillment_order=row, reason=reason, reason_notes=notes, actor=actor, created_at=at
    )
    if remaining is not None:
        record_split(row, remaining, actor=actor, at=at)
    changes = {"hold_reason": ["", reason]}
    record_event("fulfillment_orders/placed_on_hold", row, actor=actor, at=at, changes=changes)
    _record_hold_events(HOLD_ADDED, row, [new_hold], actor=actor, at=at)
    return row


def record_split(row: FulfillmentOrder, split_off: FulfillmentOrder, *, actor: str, at: datetime) -> None:
    record_event("fulfillment_orders/split", row, actor=actor, at=at, changes={"split_off": [None, split_off.pk]})


@transaction.atomic
def release_hold(fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime) -> FulfillmentOrder:
    """Release all holds. If the start date is in the future, the status changes to "scheduled"."""
    row = quantities.lock_fulfillment_order(fulfillment_order)
    is_due = row.fulfill_at is None or row.fulfill_at <= at
    later = not is_due and row.request_status == RequestStatus.UNSUBMITTED
    apply_transition(row, Action.RELEASE_HOLD, Status.SCHEDULED if later else Status.OPEN)
    row.save(update_fields=STATUS_FIELDS)
    holds = FulfillmentHold.objects.filter(fulfillment_order=row)
    released = list(holds.order_by("pk")) if has_audience(HOLD_RELEASED) else []
    holds.delete()
    if later:
        enqueue_opening(row, actor=actor)
    record_event("fulfillment_orders/hold_released", row, actor=actor, at=at)
    _record_hold_events(HOLD_RELEASED, row, released, actor=actor, at=at)
    return row


def _record_hold_events(
    topic: str, row: FulfillmentOrder, holds: Sequence[FulfillmentHold], *, actor: str, at: datetime
) -> None:
    """Record one event per hold, with the fulfillment order as subject, so that erasing the order erases the event."""
    events = []
    for hold_row in holds:
        subject = copy(row)
        subject.event_hold = hold_row
        events.append(EventInput(topic, subject))
    record_secondary_events(events, actor=actor, at=at)


@transaction.atomic
def mark_as_open(fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime) -> FulfillmentOrder:
    row = quantities.lock_fulfillment_order(fulfillment_order)
    apply_transition(row, Action.MARK_AS_OPEN)
    row.fulfill_at = min(row.fulfill_at or at, at)
    row.save(update_fields=[*STATUS_FIELDS, "fulfill_at"])
    record_event("fulfillment_orders/scheduled_fulfillment_order_ready", row, actor=actor, at=at)
    return row


@transaction.atomic
def reschedule_fulfillment_order(
    fulfillment_order: FulfillmentOrder, *, fulfill_at: datetime, actor: str, at: datetime
) -> FulfillmentOrder:
    row = quantities.lock_fulfillment_order(fulfillment_order)
    apply_transition(row, Action.RESCHEDULE)
    if fulfill_at <= at:
        raise NotInTheFuture(_("must be in the future"))
    before = row.fulfill_at
    row.fulfill_at = fulfill_at
    row.save(update_fields=["fulfill_at"])
    enqueue_opening(row, actor=actor)
    old_and_new = [before.isoformat() if before else None, fulfill_at.isoformat()]
    record_event("fulfillment_orders/rescheduled", row, actor=actor, at=at, changes={"fulfill_at": old_and_new})
    return row


def enqueue_opening(fulfillment_order: FulfillmentOrder, *, actor: str = "system") -> None:
    enqueue(OPEN_TASK, actor=actor, due_at=fulfillment_order.fulfill_at, fulfillment_order_id=fulfillment_order.pk)


@transaction.atomic
def open_if_due(fulfillment_order_id: int, *, at: datetime) -> bool:
    """Open a scheduled fulfillment order if its start date has passed. Return True if it was opened."""
    scheduled = FulfillmentOrder.objects.filter(pk=fulfillment_order_id, status=Status.SCHEDULED).first()
    if scheduled is None:
        return False
    row = quantities.lock_fulfillment_order(scheduled)
    if row.status != Status.SCHEDULED or (row.fulfill_at is not None and row.fulfill_at > at):
        return False
    apply_transition(row, Action.MARK_AS_OPEN)
    row.save(update_fields=STATUS_FIELDS)
    record_event("fulfillment_orders/scheduled_fulfillment_order_ready", row, actor="system", at=at)
    return True


@transaction.atomic
def set_deadlines(
    rows: QuerySet[FulfillmentOrder], pks: Sequence[int], *, fulfill_by: datetime, actor: str, at: datetime
) -> None:
    """Set the deadline of several fulfillment orders. If one can't be changed, none is changed.

    ``rows`` are the fulfillment orders that the caller may change.
    """
    ids = sorted(set(pks))
    if not ids:
        raise UnknownFulfillmentOrders(BLANK)
    orders = dict(rows.filter(pk__in=ids).values_list("pk", "order_id"))
    if len(orders) < len(ids):
        raise UnknownFulfillmentOrders(INVALID)
    changed: list[EventInput] = []
    for order_id in sorted(set(orders.values())):
        order = lock_order(Order(pk=order_id))
        for row in quantities.load_fulfillment_orders(
            order, [pk for pk, parent_id in orders.items() if parent_id == order_id]
        ):
            apply_transition(row, Action.SET_DEADLINE)
            if row.fulfill_by == fulfill_by:
                continue
            old_and_new = [row.fulfill_by.isoformat() if row.fulfill_by else None, fulfill_by.isoformat()]
            row.fulfill_by = fulfill_by
            row.save(update_fields=["fulfill_by"])
            changed.append(EventInput("fulfillment_orders/deadline_set", row, {"fulfill_by": old_and_new}))
    record_events(changed, actor=actor, at=at)


@transaction.atomic
def cancel_fulfillment_order(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime
) -> tuple[FulfillmentOrder, FulfillmentOrder | None]:
    """Cancel a fulfillment order that is not in progress. Return it and the new fulfillment order with its items."""
    row = quantities.lock_fulfillment_order(fulfillment_order)
    apply_transition(row, Action.CANCEL)
    replacement = quantities.move_to_new_fulfillment_order(row, quantities.get_remaining(row), at=at)
    row.save(update_fields=STATUS_FIELDS)
    record_event("fulfillment_orders/cancelled", row, actor=actor, at=at)
    return row, replacement


@transaction.atomic
def close_fulfillment_order(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    """Close a fulfillment order as incomplete, and move its unfulfilled items to a new fulfillment order."""
    row = quantities.lock_fulfillment_order(fulfillment_order)
    apply_transition(row, Action.CLOSE)
    quantities.move_to_new_fulfillment_order(row, quantities.get_remaining(row), at=at)
    row.save(update_fields=STATUS_FIELDS)
    changes = {"message": ["", message]} if message else {}
    record_event(CLOSED_TOPIC, row, actor=actor, at=at, changes=changes)
    return row
