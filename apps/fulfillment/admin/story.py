"""What happened to an order's fulfillment orders and parcels, a sentence for each, for the timeline of its page."""

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateformat import format as written
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from apps.events.domain.wording import sentence
from apps.events.models import Event
from apps.fulfillment.admin.access import VIEW
from apps.fulfillment.domain.transitions import HOLD_ADDED, HOLD_RELEASED
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentHold, FulfillmentOrder
from apps.ground.languages import lowered
from apps.ground.lookups import among
from apps.orders.admin.additions import MAX_EVENTS, Told
from apps.orders.models import Order
from apps.panel.access import may

# ``work`` is the fulfillment order, ``place`` the location that it is at, the others are of ``_details``.
WORK = {
    "order_routing_complete": gettext_noop("Units are to be sent from {place}: {work}."),
    "fulfillment_request_submitted": gettext_noop("{place} was asked to send {work}."),
    "fulfillment_request_accepted": gettext_noop("The request to send {work} was accepted: {place} sends it."),
    "fulfillment_request_rejected": gettext_noop("The request to send {work} was rejected: {place} does not send it."),
    "cancellation_request_submitted": gettext_noop("{place} was asked to give back what it has not sent of {work}."),
    "cancellation_request_accepted": gettext_noop(
        "The cancellation of {work} was accepted: {place} sends no more of it."
    ),
    "cancellation_request_rejected": gettext_noop(
        "The cancellation of {work} was rejected: {place} goes on sending it."
    ),
    "fulfillment_service_failed_to_complete": gettext_noop(
        "The work at {place} on {work} was closed unfinished{message}."
    ),
    "cancelled": gettext_noop("The work at {place} on {work} was cancelled."),
    "placed_on_hold": gettext_noop("The work at {place} on {work} was put on hold{reason}."),
    "hold_released": gettext_noop("The hold of {work} was released: {place} may send it."),
    "moved": gettext_noop("Units were moved from {before} to {place}: {work}."),
    "split": gettext_noop("Some units of {work} at {place} were split off{split_off}."),
    "rescheduled": gettext_noop("{place} is to send {work} from {fulfill_at} on."),
    "scheduled_fulfillment_order_ready": gettext_noop("{place} can send {work} now."),
    "deadline_set": gettext_noop("{place} is to send {work} until {fulfill_by}."),
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
        return self.places.get(self.at.get(work, 0), _("another location"))


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
    work = _("fulfillment order no. {number}").format(number=event.subject_id)
    if said is None or event.message:
        return f"{sentence(event)}: {work}"
    return _(said).format(work=work, place=known.place_of(event.subject_id), **_details(event, known))


def _details(event: Event, known: _Known) -> dict[str, str]:
    """What the changes tell; of an event that has lost them, less is said."""

    def before_and_after(name: str) -> list[object]:
        change = event.changes.get(name)
        return change if isinstance(change, list) and len(change) == 2 else [None, None]

    before, _after = before_and_after("assigned_location_id")
    _before, reason = before_and_after("hold_reason")
    _before, other = before_and_after("split_off")
    _before, message = before_and_after("message")
    return {
        "before": known.places.get(before, _("another location")) if isinstance(before, int) else _("another location"),
        "reason": f": {FulfillmentHold.Reason(reason).label}" if reason in FulfillmentHold.Reason.values else "",
        "split_off": _(" to fulfillment order no. {number}").format(number=other) if other else "",
        "message": f": “{message}”" if message else "",
        "fulfill_at": _moment(before_and_after("fulfill_at")[1]),
        "fulfill_by": _moment(before_and_after("fulfill_by")[1]),
    }


def _moment(text: object) -> str:
    """A moment of the changes as the shop's clock shows it."""
    if not isinstance(text, str):
        return _("another moment")
    return written(timezone.localtime(datetime.fromisoformat(text)), "j M Y, H:i")


def _of_parcel(event: Event, known: _Known) -> str:
    parcel = known.sent.get(event.subject_id, _Sent(event.subject_label, _("another location"), 0))
    if event.message:
        return f"{event.message}: {parcel.name}"
    if event.topic == "fulfillments/create":
        said = ngettext(
            "{parcel} was sent from {place}: {count} unit.",
            "{parcel} was sent from {place}: {count} units.",
            parcel.units,
        )
        return said.format(parcel=parcel.name, place=parcel.place, count=parcel.units)
    if "status" in event.changes:
        return _("{parcel} was cancelled: its units were not sent after all.").format(parcel=parcel.name)
    if "shipment_status" in event.changes:
        now = event.changes["shipment_status"][1]
        if now in FulfillmentEvent.Status.values:
            said = _("What happened to {parcel}: {status}.")
            return said.format(parcel=parcel.name, status=lowered(str(FulfillmentEvent.Status(now).label)))
        return _("What had happened to {parcel} was taken back.").format(parcel=parcel.name)
    return _("The tracking of {parcel} was changed.").format(parcel=parcel.name)
