"""What happened to an order's fulfillment orders and parcels, a sentence for each, for the timeline of its page."""

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateformat import format as written

from apps.events.domain.wording import sentence
from apps.events.models import Event
from apps.fulfillment.admin.access import VIEW
from apps.fulfillment.domain.transitions import HOLD_ADDED, HOLD_RELEASED
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentHold, FulfillmentOrder
from apps.ground.lookups import among
from apps.orders.admin.additions import MAX_EVENTS, Told
from apps.orders.models import Order
from apps.panel.access import may

# ``work`` is the fulfillment order, ``place`` the location that it is at, the others are of ``_details``.
WORK = {
    "order_routing_complete": "Units are to be sent from {place}: {work}.",
    "fulfillment_request_submitted": "{place} was asked to send {work}.",
    "fulfillment_request_accepted": "The request to send {work} was accepted: {place} sends it.",
    "fulfillment_request_rejected": "The request to send {work} was rejected: {place} does not send it.",
    "cancellation_request_submitted": "{place} was asked to give back what it has not sent of {work}.",
    "cancellation_request_accepted": "The cancellation of {work} was accepted: {place} sends no more of it.",
    "cancellation_request_rejected": "The cancellation of {work} was rejected: {place} goes on sending it.",
    "fulfillment_service_failed_to_complete": "The work at {place} on {work} was closed unfinished{message}.",
    "cancelled": "The work at {place} on {work} was cancelled.",
    "placed_on_hold": "The work at {place} on {work} was put on hold{reason}.",
    "hold_released": "The hold of {work} was released: {place} may send it.",
    "moved": "Units were moved from {before} to {place}: {work}.",
    "split": "Some units of {work} at {place} were split off{split_off}.",
    "rescheduled": "{place} is to send {work} from {fulfill_at} on.",
    "scheduled_fulfillment_order_ready": "{place} can send {work} now.",
    "deadline_set": "{place} is to send {work} until {fulfill_by}.",
}
# They tell of each hold alone, what ``placed_on_hold`` and ``hold_released`` tell once.
_ALSO = (HOLD_ADDED, HOLD_RELEASED)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A parcel: its name, where it left, and how many units lie in it."""

    name: str
    place: str
    units: int


@dataclass(slots=True)
class _Known:
    """What the sentences name.

    Attributes:
        at: Fulfillment orders, with the ids of their locations.
        places: The locations, by id; those that units left are among them, since their fulfillment orders stay.
        sent: Parcels by id.
    """

    at: dict[int, int] = field(default_factory=dict)
    places: dict[int, str] = field(default_factory=dict)
    sent: dict[int, _Sent] = field(default_factory=dict)

    def place_of(self, work: int) -> str:
        """Where a fulfillment order is."""
        return self.places.get(self.at.get(work, 0), "another location")


def happened(request: HttpRequest, order: Order) -> list[Told]:
    """The newest events of an order's fulfillment, each with its sentence; four queries however many there are."""
    if not may(request, VIEW):
        return []
    known = _Known()
    work = FulfillmentOrder.rows().filter(order=order).order_by()
    for pk, location, name in work.values_list("pk", "assigned_location", "assigned_location__name"):
        known.at[pk], known.places[location] = location, name
    sent = Fulfillment.rows().filter(order=order).order_by()
    for pk, name, place, count in sent.values_list("pk", "name", "location__name").annotate(Sum("lines__quantity")):
        known.sent[pk] = _Sent(name, place, count or 0)
    return [
        *((event, _of_work(event, known)) for event in _events(work)),
        *((event, _of_parcel(event, known)) for event in _events(sent)),
    ]


def _events(rows: QuerySet[FulfillmentOrder] | QuerySet[Fulfillment]) -> list[Event]:
    about = Event.rows().filter(among(rows.values("pk"), "subject_id"), subject_type=rows.model._meta.label_lower)
    return list(about.exclude(topic__in=_ALSO).order_by("-id").defer("payload")[:MAX_EVENTS])


def _of_work(event: Event, known: _Known) -> str:
    said = WORK.get(event.topic.partition("/")[2])
    work = f"fulfillment order no. {event.subject_id}"
    if said is None or event.message:
        return f"{sentence(event)}: {work}"
    return said.format(work=work, place=known.place_of(event.subject_id), **_details(event, known))


def _details(event: Event, known: _Known) -> dict[str, str]:
    """What the changes tell; of an event that has lost them, less is said."""

    def before_and_after(name: str) -> list[object]:
        change = event.changes.get(name)
        return change if isinstance(change, list) and len(change) == 2 else [None, None]

    before, _ = before_and_after("assigned_location_id")
    _, reason = before_and_after("hold_reason")
    _, other = before_and_after("split_off")
    _, message = before_and_after("message")
    return {
        "before": known.places.get(before, "another location") if isinstance(before, int) else "another location",
        "reason": f": {FulfillmentHold.Reason(reason).label}" if reason in FulfillmentHold.Reason.values else "",
        "split_off": f" to fulfillment order no. {other}" if other else "",
        "message": f": “{message}”" if message else "",
        "fulfill_at": _moment(before_and_after("fulfill_at")[1]),
        "fulfill_by": _moment(before_and_after("fulfill_by")[1]),
    }


def _moment(text: object) -> str:
    """A moment of the changes as the shop's clock shows it."""
    if not isinstance(text, str):
        return "another moment"
    return written(timezone.localtime(datetime.fromisoformat(text)), "j M Y, H:i")


def _of_parcel(event: Event, known: _Known) -> str:
    parcel = known.sent.get(event.subject_id, _Sent(event.subject_label, "another location", 0))
    if event.message:
        return f"{event.message}: {parcel.name}"
    if event.topic == "fulfillments/create":
        units = f"{parcel.units} unit{'' if parcel.units == 1 else 's'}"
        return f"{parcel.name} was sent from {parcel.place}: {units}."
    if "status" in event.changes:
        return f"{parcel.name} was cancelled: its units were not sent after all."
    if "shipment_status" in event.changes:
        now = event.changes["shipment_status"][1]
        if now in FulfillmentEvent.Status.values:
            return f"What happened to {parcel.name}: {FulfillmentEvent.Status(now).label.lower()}."
        return f"What had happened to {parcel.name} was taken back."
    return f"The tracking of {parcel.name} was changed."
