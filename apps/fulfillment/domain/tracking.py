"""The numbers by which parcels are followed, and what happens to parcels on their way."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.domain.recording import record_event
from apps.fulfillment.domain import carriers
from apps.fulfillment.models import Fulfillment, FulfillmentEvent
from apps.ground.attrs import Given
from apps.ground.errors import DomainError, Gone, TransitionRefused
from apps.jobs.domain.queue import enqueue
from apps.orders.domain.loading import lock
from apps.orders.models import Order

SHIPPED_TASK = "fulfillment.shipped"
MAX_NUMBERS = 100
# Of a number, and of the address where it is followed.
LONGEST = 2048


class TrackingRefused(DomainError):
    """The numbers and addresses do not go together."""

    code = "tracking_refused"
    field = "tracking_info"


class NotTrackable(TransitionRefused):
    """A cancelled fulfillment is on its way no more."""

    code = "fulfillment_cancelled"


@dataclass(frozen=True, slots=True)
class Tracking:
    """How parcels are followed: numbers, where each is followed, and the company; nothing for none."""

    numbers: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    company: str = ""


def completed(given: Given) -> Tracking:
    """Tracking with what follows from the numbers: the company that has such numbers, and its addresses.

    Args:
        given: ``number`` or ``numbers``, ``url`` or ``urls``, ``company``.

    Raises:
        TrackingRefused: There are too many.
    """
    numbers = _all(given, "number", "numbers")
    urls = _all(given, "url", "urls")
    company = (given.get("company") or "").strip()
    if len(numbers) > MAX_NUMBERS or len(urls) > MAX_NUMBERS:
        raise TrackingRefused(_("has more than {count} numbers").format(count=MAX_NUMBERS))
    known = carriers.named(company) if company else next(filter(None, map(carriers.recognise, numbers)), None)
    if known is not None:
        company = company or known.name
        urls = urls or [known.url(number) for number in numbers]
    return Tracking(tuple(numbers), tuple(urls), company)


def _all(given: Given, one: str, many: str) -> list[str]:
    found = [given.get(one), *(given.get(many) or ())]
    return list(dict.fromkeys(text.strip() for text in found if text and text.strip()))


def hold(fulfillment: Fulfillment) -> Fulfillment:
    """The fulfillment as it is now, its order held until the transaction ends.

    Raises:
        Gone: It was deleted meanwhile, with its order.
    """
    order = lock(Order(pk=fulfillment.order_id))
    found = Fulfillment.objects.filter(pk=fulfillment.pk).select_related("location__service").first()
    if found is None:
        raise Gone
    found.order = order
    return found


def show_on_order(order: Order) -> None:
    """Give an order a new version, since it shows its fulfillments."""
    order.save(update_fields=["version"])


@transaction.atomic
def update_tracking(
    fulfillment: Fulfillment, tracking: Tracking, *, actor: str, at: datetime, notify: bool = False
) -> Fulfillment:
    """Say by which numbers the parcels are followed, in place of what was said before.

    Args:
        fulfillment: Read again.
        tracking: See ``completed``.
        actor: Who.
        at: When.
        notify: Whether the buyer gets a mail.

    Raises:
        NotTrackable: The fulfillment was cancelled.
    """
    row = hold(fulfillment)
    if row.status == Fulfillment.Status.CANCELLED:
        raise NotTrackable(_("A cancelled fulfillment cannot be tracked"))
    if apply(row, tracking):
        row.save(update_fields=["tracking_numbers", "tracking_urls", "tracking_company"])
        show_on_order(row.order)
        record_event("fulfillments/update", row, actor=actor, at=at)
    if notify:
        tell_buyer(row, actor=actor)
    return row


def apply(fulfillment: Fulfillment, tracking: Tracking) -> bool:
    """Set the columns; returns whether they differ."""
    before = (fulfillment.tracking_numbers, fulfillment.tracking_urls, fulfillment.tracking_company)
    after = (list(tracking.numbers), list(tracking.urls), tracking.company)
    fulfillment.tracking_numbers, fulfillment.tracking_urls, fulfillment.tracking_company = after
    return before != after


def tell_buyer(fulfillment: Fulfillment, *, actor: str) -> None:
    """Have the buyer told by mail that something was sent, and how to follow it."""
    if fulfillment.order.email:
        enqueue(SHIPPED_TASK, actor=actor, fulfillment_id=fulfillment.pk)


@transaction.atomic
def add_event(fulfillment: Fulfillment, attrs: Given, *, actor: str, at: datetime) -> FulfillmentEvent:
    """Note what happened to a parcel; the fulfillment's status follows the event that happened last.

    Args:
        fulfillment: Read again.
        attrs: Columns of ``FulfillmentEvent``; ``happened_at`` is now where omitted.
        actor: Who.
        at: When.
    """
    row = hold(fulfillment)
    values = {"happened_at": at, **{name: value for name, value in attrs.items() if value is not None}}
    event: FulfillmentEvent = FulfillmentEvent.objects.create(
        shop_id=row.shop_id, fulfillment=row, created_at=at, **values
    )
    record_event("fulfillment_events/create", event, actor=actor, at=at)
    _follow(row, actor=actor, at=at)
    return event


@transaction.atomic
def delete_event(event: FulfillmentEvent, *, actor: str, at: datetime) -> None:
    """Take an event back.

    Raises:
        Gone: It was deleted meanwhile.
    """
    row = hold(event.fulfillment)
    record_event("fulfillment_events/delete", event, actor=actor, at=at)
    if not FulfillmentEvent.objects.filter(pk=event.pk).delete()[0]:
        raise Gone
    _follow(row, actor=actor, at=at)


def _follow(row: Fulfillment, *, actor: str, at: datetime) -> None:
    last = FulfillmentEvent.objects.filter(fulfillment=row).order_by("-happened_at", "-pk").first()
    status = last.status if last else ""
    if status == row.shipment_status:
        return
    before, row.shipment_status = row.shipment_status, status
    row.save(update_fields=["shipment_status"])
    show_on_order(row.order)
    changes = {"shipment_status": [before, status]}
    record_event("fulfillments/update", row, actor=actor, at=at, changes=changes)
