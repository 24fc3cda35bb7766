"""What fulfillment adds to an order's life: it is routed when placed, and its work ends when it is cancelled.

Rule: decisions, Fulfillment; ``docs/fulfillment.md`` has a sentence for each case.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.events.domain.forgetting import forget
from apps.events.domain.guarding import redacting
from apps.events.domain.recording import Happening, record_event, record_events
from apps.events.models import Event
from apps.fulfillment.domain import fulfilling, routing, tracking, units
from apps.fulfillment.domain.removal import TAKEN_ON, TakenOn, remove_units, take_off
from apps.fulfillment.domain.transitions import CLOSED
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentOrder,
    MerchantRequest,
)
from apps.fulfillment.models.orders import UNFINISHED, Status
from apps.ground.attrs import Given
from apps.ground.dates import NotADate, parse_moment
from apps.ground.errors import DomainError
from apps.ground.phrases import INVALID
from apps.ground.tenancy import current_shop
from apps.inventory.domain.stock import primary_location
from apps.inventory.models import Location
from apps.jobs.domain.queue import enqueue, enqueue_many
from apps.orders.domain.loading import lines_of
from apps.orders.models import LineItem, Order


class PartsRefused(DomainError):
    """What a new order says of its fulfillment cannot be."""

    code = "fulfillments_refused"
    field = "fulfillments"


def created(orders: Sequence[tuple[Order, Given]], *, actor: str, at: datetime) -> None:
    """Have new orders routed; one that comes with a fulfillment was sent already.

    Raises:
        PartsRefused: ``fulfillments`` or ``fulfill_at`` of a body cannot be.
    """
    waiting: list[Given] = []
    for order, parts in orders:
        given = parts.get("fulfillments")
        if given:
            _sent_elsewhere(order, given, actor=actor, at=at, notify=parts.get("send_fulfillment_receipt") is True)
            continue
        fulfill_at = _moment(parts.get("fulfill_at"))
        waiting.append({"order_id": order.pk, "fulfill_at": fulfill_at and fulfill_at.isoformat()})
    enqueue_many(routing.ROUTE_TASK, waiting, actor=actor)


def _moment(text: object) -> datetime | None:
    if text is None or text == "":
        return None
    try:
        return parse_moment(str(text), current_shop().tzinfo)
    except NotADate:
        raise PartsRefused(INVALID, field="fulfill_at") from None


def _sent_elsewhere(order: Order, given: object, *, actor: str, at: datetime, notify: bool) -> None:
    """Note what was sent before the order came here: of all lines what they say was sent, else all."""
    attrs = given[0] if isinstance(given, list) and len(given) == 1 else None
    if not isinstance(attrs, dict):
        raise PartsRefused("is invalid: one fulfillment, as an object in a list, is taken")
    location = _location(attrs.get("location_id"))
    lines = lines_of(order)
    if not any(line.fulfilled_quantity for line in lines):
        for line in lines:
            line.fulfilled_quantity, line.fulfillable_quantity = line.quantity, 0
        LineItem.objects.bulk_update(lines, ["fulfilled_quantity", "fulfillable_quantity"])
    counts = {line.pk: line.fulfilled_quantity for line in lines if line.fulfilled_quantity}
    row = FulfillmentOrder.objects.create(
        shop_id=order.shop_id, order=order, assigned_location=location, status=Status.CLOSED, created_at=at
    )
    units.add_lines(row, counts, at=at)
    fulfillment = fulfilling.note_sent(order, row, tracking.completed(_tracking(attrs)), at=at)
    order.fulfillment_status = fulfilling.status_of(order, lines)
    order.save(update_fields=["fulfillment_status"])
    record_event("fulfillments/create", fulfillment, actor=actor, at=at)
    if notify:
        tracking.tell_buyer(fulfillment, actor=actor)
    if any(line.fulfillable_quantity for line in lines):
        enqueue(routing.ROUTE_TASK, actor=actor, order_id=order.pk)


def _location(pk: object) -> Location:
    if pk is None:
        return primary_location()
    found = Location.objects.filter(pk=pk).first() if isinstance(pk, int) and 0 < pk < 2**63 else None
    if found is None:
        raise PartsRefused({"fulfillments.0.location_id": [INVALID]})
    return found


def _tracking(attrs: Mapping[str, object]) -> Given:
    """The members of an order's body that say how its parcels are followed."""
    names = {
        "number": "tracking_number",
        "numbers": "tracking_numbers",
        "url": "tracking_url",
        "urls": "tracking_urls",
        "company": "tracking_company",
    }
    found: dict[str, object] = {}
    for name, sent in names.items():
        value = attrs.get(sent)
        many = name in {"numbers", "urls"}
        texts = value if isinstance(value, list) and many else [] if value is None else [value]
        if any(not isinstance(text, str) or len(text) > tracking.LONGEST for text in texts):
            raise PartsRefused({f"fulfillments.0.{sent}": [INVALID]})
        found[name] = texts if many else next(iter(texts), None)
    return found


def cancelled(order: Order, *, actor: str, at: datetime) -> None:
    """End the work on an order that is being cancelled: what was only asked for, waits or is scheduled.

    Raises:
        TakenOn: A fulfillment service has taken units on; it must give them back first.
    """
    rows = list(
        FulfillmentOrder.objects.filter(order=order, status__in=UNFINISHED)
        .select_related("assigned_location")
        .order_by("pk")
    )
    taken = [row for row in rows if row.request_status in TAKEN_ON]
    if taken:
        names = ", ".join(f"{row} at {row.assigned_location.name}" for row in taken)
        raise TakenOn(_("Fulfillment services have taken on {names}; ask them to cancel first").format(names=names))
    for row in rows:
        lines = units.remaining(row)
        take_off(lines)
        row.status = Status.CLOSED
        row.save(update_fields=["status"])
    FulfillmentHold.objects.filter(fulfillment_order__in=rows).delete()
    record_events([Happening("fulfillment_orders/cancelled", row) for row in rows], actor=actor, at=at)


def edited(order: Order, fewer: Mapping[int, int], *, more: bool, actor: str, at: datetime) -> None:
    """Let units that leave an order leave its fulfillment orders, and have those that come to it routed.

    Raises:
        TakenOn: A fulfillment service has taken on units that are to leave.
    """
    if fewer:
        remove_units(order, fewer, actor=actor, at=at)
    if more:
        enqueue(routing.ROUTE_TASK, actor=actor, order_id=order.pk)


def erase(ids: Sequence[int], *, at: datetime) -> None:
    """Forget what the fulfillment of orders tells of the person: numbers and ways of parcels, and what was noted."""
    holds = FulfillmentHold.objects.filter(fulfillment_order__order__in=ids)
    requests = MerchantRequest.objects.filter(fulfillment_order__order__in=ids)
    sent = Fulfillment.objects.filter(order__in=ids)
    events = FulfillmentEvent.objects.filter(fulfillment__order__in=ids)
    rows: tuple[QuerySet[Any], ...] = (FulfillmentOrder.objects.filter(order__in=ids), holds, requests, sent, events)
    for each in rows:
        forget(each.model, list(each.order_by("pk").values_list("pk", flat=True)))
    # What was said when work was closed stands nowhere but in the event of it.
    closed = Event.objects.filter(topic=CLOSED, subject_id__in=list(rows[0].values_list("pk", flat=True)))
    with redacting():
        closed.filter(subject_type=FulfillmentOrder._meta.label_lower).exclude(changes={}).update(changes={})
    holds.update(reason_notes="")
    requests.update(message="", answer_message="", answer_reason="", line_messages=[])
    sent.update(tracking_numbers=[], tracking_urls=[], message="", origin_address=None)
    events.update(
        message=None, address1=None, city=None, province=None, country=None, zip=None, latitude=None, longitude=None
    )


PLACES = {
    "fulfillment.FulfillmentHold": ("reason_notes",),
    "fulfillment.MerchantRequest": ("message", "answer_message", "answer_reason", "line_messages"),
    "fulfillment.Fulfillment": ("tracking_numbers", "tracking_urls", "message", "origin_address"),
    "fulfillment.FulfillmentEvent": ("message", "address1", "city", "province", "country", "zip"),
}


def objections(location: Location) -> Iterator[str]:
    """What of fulfillment stands in the way of deactivating a location."""
    left = FulfillmentOrder.objects.filter(assigned_location=location, status__in=UNFINISHED).count()
    if left:
        told = ngettext(
            "{number} fulfillment order is to be sent from it.",
            "{number} fulfillment orders are to be sent from it.",
            left,
        )
        yield told.format(number=left)
