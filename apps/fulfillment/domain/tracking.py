"""Set the tracking information of fulfillments, and add and delete tracking events."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.events.recording import EventInput, has_audience, record_event, record_secondary_events
from apps.core.exceptions import DomainError, RowDeleted, TransitionRefused
from apps.core.jobs.queue import enqueue
from apps.core.types import ReadOnlyAttrs
from apps.fulfillment.domain import carriers
from apps.fulfillment.models import Fulfillment, FulfillmentEvent
from apps.orders.domain.selectors import lock_order
from apps.orders.models import Order

UPDATED = "fulfillments/update"
SHIPPED_TASK = "fulfillment.send_shipping_confirmation"
MAX_NUMBERS = 100
# The maximum length of a tracking number or URL.
MAX_LENGTH = 2048


class TrackingRefused(DomainError):
    field = "tracking_info"


class NotTrackable(TransitionRefused):
    pass


@dataclass(frozen=True, slots=True)
class Tracking:
    numbers: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    company: str = ""


def get_safe_url(url: str) -> str:
    """Return the URL if it is safe to link, otherwise an empty string. Old rows can contain any text as a URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in {"http", "https"} and parts.netloc else ""


def complete_tracking(attrs: ReadOnlyAttrs) -> Tracking:
    """Create tracking information. A missing carrier and missing URLs are derived from the tracking numbers.

    ``attrs`` has the optional keys ``number`` or ``numbers``, ``url`` or ``urls``, and ``company``.
    """
    numbers = _collect_texts(attrs, "number", "numbers")
    urls = _collect_texts(attrs, "url", "urls")
    company = (attrs.get("company") or "").strip()
    if len(numbers) > MAX_NUMBERS or len(urls) > MAX_NUMBERS:
        raise TrackingRefused(_("has too many numbers (maximum is {count})").format(count=MAX_NUMBERS))
    if not all(map(get_safe_url, urls)):
        raise TrackingRefused(_("must have only URLs that start with http:// or https://"))
    if company:
        carrier = carriers.CARRIERS_BY_NAME.get(company.lower())
    else:
        carrier = next(filter(None, map(carriers.recognize_carrier, numbers)), None)
    if carrier is not None:
        company = company or carrier.name
        urls = urls or [carrier.get_tracking_url(number) for number in numbers]
    return Tracking(tuple(numbers), tuple(urls), company)


def _collect_texts(attrs: ReadOnlyAttrs, single_name: str, list_name: str) -> list[str]:
    texts = [attrs.get(single_name), *(attrs.get(list_name) or ())]
    return list(dict.fromkeys(text.strip() for text in texts if text and text.strip()))


def lock_fulfillment(fulfillment: Fulfillment) -> Fulfillment:
    """Lock the order and return the reloaded fulfillment, or raise ``RowDeleted``."""
    order = lock_order(Order(pk=fulfillment.order_id))
    row = Fulfillment.objects.filter(pk=fulfillment.pk).select_related("location__service").first()
    if row is None:
        raise RowDeleted
    row.order = order
    return row


def touch_order(order: Order, *, actor: str, at: datetime) -> None:
    """Update the order's timestamp and version, and tell apps, because the order's JSON contains the fulfillments."""
    order.save(update_fields=["version"])
    record_secondary_events([EventInput("orders/updated", order)], actor=actor, at=at)


def record_line_changes(line_ids: Collection[int], *, actor: str, at: datetime, excluded_id: int | None = None) -> None:
    """Tell apps about the fulfillments that contain these line items, after their quantities have changed."""
    if has_audience(UPDATED):
        rows = Fulfillment.objects.filter(lines__line_item_id__in=list(line_ids)).distinct().order_by("pk")
        events = [EventInput(UPDATED, row) for row in rows if row.pk != excluded_id]
        record_secondary_events(events, actor=actor, at=at)


@transaction.atomic
def update_tracking(
    fulfillment: Fulfillment, tracking: Tracking, *, actor: str, at: datetime, notify: bool = False
) -> Fulfillment:
    row = lock_fulfillment(fulfillment)
    if row.status == Fulfillment.Status.CANCELLED:
        raise NotTrackable(_("A canceled fulfillment cannot be tracked"))
    if set_tracking(row, tracking):
        row.save(update_fields=["tracking_numbers", "tracking_urls", "tracking_company"])
        record_event(UPDATED, row, actor=actor, at=at)
        touch_order(row.order, actor=actor, at=at)
    if notify:
        enqueue_shipping_confirmation(row, actor=actor)
    return row


def set_tracking(fulfillment: Fulfillment, tracking: Tracking) -> bool:
    """Set the tracking columns and return True if they changed."""
    before = (fulfillment.tracking_numbers, fulfillment.tracking_urls, fulfillment.tracking_company)
    after = (list(tracking.numbers), list(tracking.urls), tracking.company)
    fulfillment.tracking_numbers, fulfillment.tracking_urls, fulfillment.tracking_company = after
    return before != after


def enqueue_shipping_confirmation(fulfillment: Fulfillment, *, actor: str) -> None:
    """Enqueue the shipping confirmation email, if the order has an email address."""
    if fulfillment.order.email:
        enqueue(SHIPPED_TASK, actor=actor, fulfillment_id=fulfillment.pk)


@transaction.atomic
def add_event(fulfillment: Fulfillment, attrs: ReadOnlyAttrs, *, actor: str, at: datetime) -> FulfillmentEvent:
    """Add a tracking event with values for its columns. ``happened_at`` defaults to the current time."""
    row = lock_fulfillment(fulfillment)
    values = {"happened_at": at, **{name: value for name, value in attrs.items() if value is not None}}
    event: FulfillmentEvent = FulfillmentEvent.objects.create(
        shop_id=row.shop_id, fulfillment=row, created_at=at, **values
    )
    record_event("fulfillment_events/create", event, actor=actor, at=at)
    _update_shipment_status(row, actor=actor, at=at)
    return event


@transaction.atomic
def delete_event(event: FulfillmentEvent, *, actor: str, at: datetime) -> None:
    row = lock_fulfillment(event.fulfillment)
    record_event("fulfillment_events/delete", event, actor=actor, at=at)
    if not FulfillmentEvent.objects.filter(pk=event.pk).delete()[0]:
        raise RowDeleted
    _update_shipment_status(row, actor=actor, at=at)


def _update_shipment_status(row: Fulfillment, *, actor: str, at: datetime) -> None:
    last = FulfillmentEvent.objects.filter(fulfillment=row).order_by("-happened_at", "-pk").first()
    status = last.status if last else ""
    if status == row.shipment_status:
        return
    before, row.shipment_status = row.shipment_status, status
    row.save(update_fields=["shipment_status"])
    changes = {"shipment_status": [before, status]}
    record_event(UPDATED, row, actor=actor, at=at, changes=changes)
    touch_order(row.order, actor=actor, at=at)
