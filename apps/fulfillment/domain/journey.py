"""What the buyer of an order is told of its sending, in plain words: each parcel's way, and what is still to come.

The page is read by whoever holds its link, so it has what was sent, when, and the town that a parcel was seen in; never
a street, nor what carriers or staff wrote, which may name people. Notes of holds are for staff; a buyer reads what to
do or to wait for. Rule: decisions, Fulfillment (order status page).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentLine,
    FulfillmentOrder,
    FulfillmentOrderLine,
)
from apps.fulfillment.models.orders import UNFINISHED, Status
from apps.ground import languages
from apps.orders.models import LineItem, Order

# Of one order; nobody reads more of them.
MAX_PARCELS = 100
MAX_EVENTS = 500
_E = FulfillmentEvent.Status
HAPPENED: Mapping[str, str] = {
    _E.LABEL_PURCHASED: gettext_noop("The parcel is being made ready"),
    _E.LABEL_PRINTED: gettext_noop("The parcel is being made ready"),
    _E.READY_FOR_PICKUP: gettext_noop("Ready to be picked up"),
    _E.CONFIRMED: gettext_noop("The carrier expects the parcel"),
    _E.CARRIER_PICKED_UP: gettext_noop("Handed to the carrier"),
    _E.IN_TRANSIT: gettext_noop("On its way"),
    _E.OUT_FOR_DELIVERY: gettext_noop("Out for delivery"),
    _E.DELAYED: gettext_noop("Delayed"),
    _E.ATTEMPTED_DELIVERY: gettext_noop("The carrier came and could not hand it over"),
    _E.DELIVERED: gettext_noop("Delivered"),
    _E.PICKED_UP: gettext_noop("Picked up"),
    _E.FAILURE: gettext_noop("It could not be delivered"),
}
ARRIVED = frozenset({_E.DELIVERED, _E.PICKED_UP, _E.FAILURE})
_H = FulfillmentHold.Reason
WAITS: Mapping[str, str] = {
    _H.AWAITING_PAYMENT: gettext_noop("It is sent once the payment has arrived"),
    # Not everybody who is looked at is guilty of something.
    _H.HIGH_RISK_OF_FRAUD: gettext_noop("The shop looks at the order before it is sent"),
    _H.INCORRECT_ADDRESS: gettext_noop("The shop has a question about the address: please get in touch"),
    _H.INVENTORY_OUT_OF_STOCK: gettext_noop("Out of stock at the moment"),
    _H.UNKNOWN_DELIVERY_DATE: gettext_noop("It is not yet known when it can be sent"),
    _H.AWAITING_RETURN_ITEMS: gettext_noop("It is sent once what you send back has arrived"),
    _H.OTHER: gettext_noop("The shop is holding it back for now"),
}
NOT_YET = gettext_noop("Not packed yet")
PACKING = gettext_noop("Being packed")
NO_PARCEL = gettext_noop("Comes without a parcel")
SENT = Q(status__in=(Fulfillment.Status.SUCCESS, Fulfillment.Status.OPEN, Fulfillment.Status.PENDING))


@dataclass(frozen=True, slots=True)
class Step:
    """A moment of a parcel's way; ``where`` is a town, blank where none is known."""

    text: str
    at: datetime
    where: str = ""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What was sent together.

    Attributes:
        now: Where it is, in words.
        lines: Units and name of what is in it.
        company: Who carries it; blank where nobody said.
        numbers: By which it is followed, each with the address for that, blank where there is none.
        expected: When it arrives, where that is known and lies ahead of it.
        steps: The latest first.
    """

    now: str
    lines: Sequence[tuple[int, str]]
    company: str
    numbers: Sequence[tuple[str, str]]
    expected: datetime | None
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Units that are still to come, and why they are not on their way."""

    why: str
    lines: Sequence[tuple[int, str]]


def parcels_of(order: Order) -> list[Parcel]:
    """What was sent of an order and not taken back, in the order of sending."""
    sent = list(Fulfillment.objects.filter(SENT, order=order).order_by("pk")[:MAX_PARCELS])
    lines: dict[int, list[tuple[int, str]]] = {}
    for row in FulfillmentLine.objects.filter(fulfillment__in=sent).select_related("line_item").order_by("pk"):
        lines.setdefault(row.fulfillment_id, []).append((row.quantity, row.line_item.name))
    events: dict[int, list[FulfillmentEvent]] = {}
    latest = FulfillmentEvent.objects.filter(fulfillment__in=sent).order_by("-happened_at", "-pk")
    for event in latest[:MAX_EVENTS]:
        events.setdefault(event.fulfillment_id, []).append(event)
    return [_parcel(row, _summed(lines.get(row.pk, ())), events.get(row.pk, [])) for row in sent]


def waiting_of(order: Order, lines: Sequence[LineItem]) -> list[Waiting]:
    """What of an order is still to be sent, by the reason that it waits for.

    Args:
        order: Which.
        lines: Its lines.
    """
    if order.cancelled_at is not None:
        return []
    rows = FulfillmentOrder.objects.filter(order=order, status__in=UNFINISHED).order_by("pk")
    work = {row.pk: row for row in rows.prefetch_related("holds")}
    names = {line.pk: line.name for line in lines}
    left = {line.pk: line.fulfillable_quantity for line in lines}
    found: dict[str, list[tuple[int, str]]] = {}
    units = FulfillmentOrderLine.objects.filter(fulfillment_order__in=work, fulfillable_quantity__gt=0)
    for unit in units.order_by("fulfillment_order", "pk"):
        left[unit.line_item_id] -= unit.fulfillable_quantity
        why = _why(work[unit.fulfillment_order_id])
        found.setdefault(why, []).append((unit.fulfillable_quantity, names[unit.line_item_id]))
    # A worker has not yet decided who sends them.
    found.setdefault(_(NOT_YET), []).extend((count, names[pk]) for pk, count in left.items() if count > 0)
    return [Waiting(why, _summed(counts)) for why, counts in found.items() if counts]


def _parcel(row: Fulfillment, lines: Sequence[tuple[int, str]], events: Sequence[FulfillmentEvent]) -> Parcel:
    """A parcel by its events, the latest first."""
    now = _(HAPPENED[events[0].status]) if events else _("Sent")
    arrived = bool(events) and events[0].status in ARRIVED
    expected = None if arrived else next(filter(None, (event.estimated_delivery_at for event in events)), None)
    steps = [Step(_(HAPPENED[event.status]), event.happened_at, event.place) for event in events]
    steps.append(Step(_("Sent"), row.created_at))
    urls = [*map(_followed, row.tracking_urls), *[""] * len(row.tracking_numbers)]
    numbers = list(zip(row.tracking_numbers, urls, strict=False))
    return Parcel(
        now,
        lines,
        row.tracking_company,
        numbers or [("", url) for url in urls if url],
        expected,
        sorted(steps, key=lambda step: step.at, reverse=True),
    )


def _followed(url: str) -> str:
    """An address that a browser may be led to; blank for any other, since apps write what they like."""
    try:
        return url if urlsplit(url).scheme in {"http", "https"} else ""
    except ValueError:
        return ""


def _why(row: FulfillmentOrder) -> str:
    """Why units are not on their way, in a buyer's words."""
    if row.status == Status.ON_HOLD:
        reasons = dict.fromkeys(WAITS[hold.reason] for hold in row.holds.all())
        return ". ".join(map(_, reasons)) or _(WAITS[_H.OTHER])
    if row.status == Status.SCHEDULED and row.fulfill_at is not None:
        return _("Will be sent from {day} on").format(day=languages.dated(row.fulfill_at, "j F Y"))
    if row.method_type == FulfillmentOrder.Method.NONE:
        return _(NO_PARCEL)
    return _(PACKING) if row.status == Status.IN_PROGRESS else _(NOT_YET)


def _summed(counts: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Units by name: the same thing may come from several lines."""
    totals: dict[str, int] = {}
    for count, name in counts:
        totals[name] = totals.get(name, 0) + count
    return [(count, name) for name, count in totals.items()]
