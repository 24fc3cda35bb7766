"""The moves of a fulfillment order that need no second party; with their neighbours they alone write its statuses.

Each holds the order, reads what the fulfillment order is now, asks the table of ``states``, and records what happened.
Rule: decisions, Fulfillment.
"""

from collections.abc import Sequence
from copy import copy
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.events.domain.recording import Happening, is_heard, record_aspects, record_event, record_events
from apps.fulfillment.domain import units
from apps.fulfillment.domain.states import Action, Rule, rule_for
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.ground.attrs import Given
from apps.ground.errors import DomainError
from apps.ground.phrases import INVALID
from apps.jobs.domain.queue import enqueue
from apps.orders.domain.loading import lock
from apps.orders.models import Order

HOLD_ADDED, HOLD_RELEASED = "fulfillment_holds/added", "fulfillment_holds/released"
CLOSED = "fulfillment_orders/fulfillment_service_failed_to_complete"
OPEN_TASK = "fulfillment.open"
STATES = ("status", "request_status")


class NotInTheFuture(DomainError):
    """Work is scheduled for moments that are to come."""

    code = "not_in_the_future"
    field = "new_fulfill_at"


class UnknownOrders(DomainError):
    """Some of the ids are no fulfillment orders of the shop."""

    code = "unknown_fulfillment_orders"
    field = "fulfillment_order_ids"


def step(fulfillment_order: FulfillmentOrder, action: Action, to: Status | None = None) -> Rule:
    """Take the step that the table has for an action, in memory; the caller saves ``STATES``.

    Args:
        fulfillment_order: Held, as it is now.
        action: What is done.
        to: Which of the statuses that it may lead to; the first where omitted.

    Raises:
        NotPossible: The table has none in this state.
    """
    state = (fulfillment_order.status, fulfillment_order.request_status)
    rule = rule_for(action, state, units.place(fulfillment_order))
    if rule.to:
        fulfillment_order.status = to or rule.to[0]
    if rule.request is not None:
        fulfillment_order.request_status = rule.request
    return rule


@transaction.atomic
def hold(
    fulfillment_order: FulfillmentOrder,
    *,
    reason: str,
    actor: str,
    at: datetime,
    notes: str = "",
    lines: Sequence[Given] | None = None,
) -> FulfillmentOrder:
    """Let a fulfillment order wait, so that its location does not prepare it; it may wait for several reasons.

    Args:
        fulfillment_order: Read again.
        reason: Of ``FulfillmentHold.Reason``.
        actor: Who.
        at: When.
        notes: In words.
        lines: The units that wait: ``id`` and ``quantity``; the others are split off and do not wait for this. All
            where omitted.

    Raises:
        NotPossible: Work has begun, or is done.
        UnitsRefused: Units are named that are not there.
    """
    row = units.hold(fulfillment_order)
    before = row.status
    step(row, Action.HOLD)
    wanted = units.named(row, lines)
    row.status, after = before, row.status
    split = units.split_off(row, units.rest(row, wanted), at=at)
    row.status = after
    row.save(update_fields=STATES)
    made = FulfillmentHold.objects.create(
        shop_id=row.shop_id, fulfillment_order=row, reason=reason, reason_notes=notes, actor=actor, created_at=at
    )
    if split is not None:
        tell_of_split(row, split, actor=actor, at=at)
    changes = {"hold_reason": ["", reason]}
    record_event("fulfillment_orders/placed_on_hold", row, actor=actor, at=at, changes=changes)
    _tell_of_holds(HOLD_ADDED, row, [made], actor=actor, at=at)
    return row


def tell_of_split(row: FulfillmentOrder, split: FulfillmentOrder, *, actor: str, at: datetime) -> None:
    """Record that units of a fulfillment order went to another one beside it."""
    record_event("fulfillment_orders/split", row, actor=actor, at=at, changes={"split_off": [None, split.pk]})


@transaction.atomic
def release_hold(fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime) -> FulfillmentOrder:
    """Let a fulfillment order wait no longer, for no reason; one that is not due yet is scheduled again.

    Raises:
        NotPossible: It does not wait.
    """
    row = units.hold(fulfillment_order)
    is_due = row.fulfill_at is None or row.fulfill_at <= at
    later = not is_due and row.request_status == RequestStatus.UNSUBMITTED
    step(row, Action.RELEASE_HOLD, Status.SCHEDULED if later else Status.OPEN)
    row.save(update_fields=STATES)
    holds = FulfillmentHold.objects.filter(fulfillment_order=row)
    released = list(holds.order_by("pk")) if is_heard(HOLD_RELEASED) else []
    holds.delete()
    if later:
        schedule(row, actor=actor)
    record_event("fulfillment_orders/hold_released", row, actor=actor, at=at)
    _tell_of_holds(HOLD_RELEASED, row, released, actor=actor, at=at)
    return row


def _tell_of_holds(
    topic: str, row: FulfillmentOrder, holds: Sequence[FulfillmentHold], *, actor: str, at: datetime
) -> None:
    """Tell who listens of each reason alone; what is told is the fulfillment order's, with whose person it goes."""
    told = []
    for each in holds:
        about = copy(row)
        about.told_hold = each
        told.append(Happening(topic, about))
    record_aspects(told, actor=actor, at=at)


@transaction.atomic
def mark_as_open(fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime) -> FulfillmentOrder:
    """Let the work on a scheduled fulfillment order begin at once.

    Raises:
        NotPossible: It is not scheduled.
    """
    row = units.hold(fulfillment_order)
    step(row, Action.MARK_AS_OPEN)
    row.fulfill_at = min(row.fulfill_at or at, at)
    row.save(update_fields=[*STATES, "fulfill_at"])
    record_event("fulfillment_orders/scheduled_fulfillment_order_ready", row, actor=actor, at=at)
    return row


@transaction.atomic
def reschedule(
    fulfillment_order: FulfillmentOrder, *, fulfill_at: datetime, actor: str, at: datetime
) -> FulfillmentOrder:
    """Let a scheduled fulfillment order be due at another moment.

    Raises:
        NotPossible: It is not scheduled.
        NotInTheFuture: The moment has passed.
    """
    row = units.hold(fulfillment_order)
    step(row, Action.RESCHEDULE)
    if fulfill_at <= at:
        raise NotInTheFuture(_("must be in the future"))
    before = row.fulfill_at
    row.fulfill_at = fulfill_at
    row.save(update_fields=["fulfill_at"])
    schedule(row, actor=actor)
    moments = [before.isoformat() if before else None, fulfill_at.isoformat()]
    record_event("fulfillment_orders/rescheduled", row, actor=actor, at=at, changes={"fulfill_at": moments})
    return row


def schedule(fulfillment_order: FulfillmentOrder, *, actor: str = "system") -> None:
    """Have a scheduled fulfillment order opened when it is due."""
    enqueue(OPEN_TASK, actor=actor, due_at=fulfillment_order.fulfill_at, fulfillment_order_id=fulfillment_order.pk)


@transaction.atomic
def open_if_due(fulfillment_order_id: int, *, at: datetime) -> bool:
    """Open a scheduled fulfillment order whose moment has come; returns whether it was that."""
    found = FulfillmentOrder.objects.filter(pk=fulfillment_order_id, status=Status.SCHEDULED).first()
    if found is None:
        return False
    row = units.hold(found)
    if row.status != Status.SCHEDULED or (row.fulfill_at is not None and row.fulfill_at > at):
        return False
    step(row, Action.MARK_AS_OPEN)
    row.save(update_fields=STATES)
    record_event("fulfillment_orders/scheduled_fulfillment_order_ready", row, actor="system", at=at)
    return True


@transaction.atomic
def set_deadlines(
    rows: QuerySet[FulfillmentOrder], pks: Sequence[int], *, fulfill_by: datetime, actor: str, at: datetime
) -> None:
    """Say until when fulfillment orders are to be sent; all or none.

    Args:
        rows: Those that the caller may change.
        pks: Which.
        fulfill_by: The moment.
        actor: Who.
        at: When.

    Raises:
        UnknownOrders: Not all are there.
        NotPossible: One is finished.
    """
    wanted = sorted(set(pks))
    orders = dict(rows.filter(pk__in=wanted).values_list("pk", "order_id"))
    if len(orders) < len(wanted):
        raise UnknownOrders(INVALID)
    changed: list[Happening] = []
    for order_id in sorted(set(orders.values())):
        order = lock(Order(pk=order_id))
        for row in units.read(order, [pk for pk, of in orders.items() if of == order_id]):
            step(row, Action.SET_DEADLINE)
            if row.fulfill_by == fulfill_by:
                continue
            moments = [row.fulfill_by.isoformat() if row.fulfill_by else None, fulfill_by.isoformat()]
            row.fulfill_by = fulfill_by
            row.save(update_fields=["fulfill_by"])
            changed.append(Happening("fulfillment_orders/deadline_set", row, {"fulfill_by": moments}))
    record_events(changed, actor=actor, at=at)


@transaction.atomic
def cancel(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime
) -> tuple[FulfillmentOrder, FulfillmentOrder | None]:
    """Take a fulfillment order back that nobody has begun; its units go to a new one.

    Returns:
        It, closed and without lines, and the one that has its units.

    Raises:
        NotPossible: It is not open, or its request was answered.
    """
    row = units.hold(fulfillment_order)
    step(row, Action.CANCEL)
    replacement = units.hand_on(row, units.remaining(row), at=at)
    row.save(update_fields=STATES)
    record_event("fulfillment_orders/cancelled", row, actor=actor, at=at)
    return row, replacement


@transaction.atomic
def close(fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = "") -> FulfillmentOrder:
    """End work that will not be finished; what was not sent goes to a new fulfillment order.

    Raises:
        NotPossible: No work is going on.
    """
    row = units.hold(fulfillment_order)
    step(row, Action.CLOSE)
    units.hand_on(row, units.remaining(row), at=at)
    row.save(update_fields=STATES)
    changes = {"message": ["", message]} if message else {}
    record_event(CLOSED, row, actor=actor, at=at, changes=changes)
    return row
