"""Shipments with their tracking events, and unshipped items, for the customer's order status page.

Anyone with the link can read the page. It shows items, dates and cities, but no street and no text that carriers or
staff wrote, which may contain names. Hold notes are only for staff. Customers see what they have to do, or the reason
for the delay.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.core.i18n import formats
from apps.core.types import Attrs
from apps.fulfillment.domain.tracking import get_safe_url
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentLine,
    FulfillmentOrder,
    FulfillmentOrderLine,
)
from apps.fulfillment.models.orders import UNFINISHED, Status
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import LineItem, Order

TEMPLATE = "fulfillment/tracking.html"
# The maximum number of fulfillments, and of tracking events, that the page shows per order.
MAX_FULFILLMENTS = 100
MAX_EVENTS = 500
_E = FulfillmentEvent.Status
EVENT_TEXTS: Mapping[str, str] = {
    _E.LABEL_PURCHASED: gettext_noop("Preparing your shipment"),
    _E.LABEL_PRINTED: gettext_noop("Preparing your shipment"),
    _E.READY_FOR_PICKUP: gettext_noop("Ready for pickup"),
    _E.CONFIRMED: gettext_noop("The carrier is expecting the shipment"),
    _E.CARRIER_PICKED_UP: gettext_noop("Picked up by the carrier"),
    _E.IN_TRANSIT: gettext_noop("In transit"),
    _E.OUT_FOR_DELIVERY: gettext_noop("Out for delivery"),
    _E.DELAYED: gettext_noop("Delayed"),
    _E.ATTEMPTED_DELIVERY: gettext_noop("Delivery attempted"),
    _E.DELIVERED: gettext_noop("Delivered"),
    _E.PICKED_UP: gettext_noop("Picked up"),
    _E.FAILURE: gettext_noop("Delivery failed"),
}
FINAL_EVENTS = frozenset({_E.DELIVERED, _E.PICKED_UP, _E.FAILURE})
_H = FulfillmentHold.Reason
HOLD_TEXTS: Mapping[str, str] = {
    _H.AWAITING_PAYMENT: gettext_noop("Waiting for your payment"),
    # The text does not mention fraud, because the suspicion may be wrong.
    _H.HIGH_RISK_OF_FRAUD: gettext_noop("The shop is reviewing your order"),
    _H.INCORRECT_ADDRESS: gettext_noop("The shop has a question about your address. Please contact the shop."),
    _H.INVENTORY_OUT_OF_STOCK: gettext_noop("Out of stock at the moment"),
    _H.UNKNOWN_DELIVERY_DATE: gettext_noop("The shipping date is not known yet"),
    _H.AWAITING_RETURN_ITEMS: gettext_noop("Waiting for the items you are returning"),
    _H.OTHER: gettext_noop("On hold"),
}
NOT_YET = gettext_noop("Preparing for shipment")
SHIPPED = (Fulfillment.Status.SUCCESS, Fulfillment.Status.OPEN, Fulfillment.Status.PENDING)


@dataclass(frozen=True, slots=True)
class TrackingStep:
    text: str
    at: datetime
    city: str = ""


@dataclass(frozen=True, slots=True)
class Shipment:
    """A shipment as the customer sees it. Lines are (quantity, name), and numbers are (number, URL)."""

    status: str
    lines: Sequence[tuple[int, str]]
    company: str
    numbers: Sequence[tuple[str, str]]
    expected: datetime | None
    steps: Sequence[TrackingStep]


@dataclass(frozen=True, slots=True)
class UnshippedItems:
    reason: str
    lines: Sequence[tuple[int, str]]


def get_shipments(order: Order) -> list[Shipment]:
    """List the order's fulfillments that are not canceled, oldest first."""
    fulfillments = list(Fulfillment.objects.filter(status__in=SHIPPED, order=order).order_by("pk")[:MAX_FULFILLMENTS])
    lines: dict[int, list[tuple[int, str]]] = {}
    for row in FulfillmentLine.objects.filter(fulfillment__in=fulfillments).select_related("line_item").order_by("pk"):
        lines.setdefault(row.fulfillment_id, []).append((row.quantity, row.line_item.name))
    events: dict[int, list[FulfillmentEvent]] = {}
    latest_events = FulfillmentEvent.objects.filter(fulfillment__in=fulfillments).order_by("-happened_at", "-pk")
    for event in latest_events[:MAX_EVENTS]:
        events.setdefault(event.fulfillment_id, []).append(event)
    return [_create_shipment(row, _sum_by_name(lines.get(row.pk, ())), events.get(row.pk, [])) for row in fulfillments]


def get_unshipped_items(order: Order, lines: Sequence[LineItem]) -> list[UnshippedItems]:
    """List the items still to be shipped, grouped by the reason why they are not shipped yet."""
    if order.cancelled_at is not None:
        return []
    rows = FulfillmentOrder.objects.filter(order=order, status__in=UNFINISHED).order_by("pk")
    fulfillment_orders = {row.pk: row for row in rows.prefetch_related("holds")}
    names = {line.pk: line.name for line in lines}
    unrouted = {line.pk: line.fulfillable_quantity for line in lines}
    by_reason: dict[str, list[tuple[int, str]]] = {}
    units = FulfillmentOrderLine.objects.filter(fulfillment_order__in=fulfillment_orders, fulfillable_quantity__gt=0)
    for unit in units.order_by("fulfillment_order", "pk"):
        unrouted[unit.line_item_id] -= unit.fulfillable_quantity
        reason = _get_reason(fulfillment_orders[unit.fulfillment_order_id])
        by_reason.setdefault(reason, []).append((unit.fulfillable_quantity, names[unit.line_item_id]))
    # Items without a fulfillment order have not been routed yet.
    by_reason.setdefault(_(NOT_YET), []).extend((count, names[pk]) for pk, count in unrouted.items() if count > 0)
    return [UnshippedItems(reason, _sum_by_name(counts)) for reason, counts in by_reason.items() if counts]


def _create_shipment(
    row: Fulfillment, lines: Sequence[tuple[int, str]], events: Sequence[FulfillmentEvent]
) -> Shipment:
    status = _(EVENT_TEXTS[events[0].status]) if events else _("Shipped")
    is_final = bool(events) and events[0].status in FINAL_EVENTS
    expected = None if is_final else next(filter(None, (event.estimated_delivery_at for event in events)), None)
    steps = [TrackingStep(_(EVENT_TEXTS[event.status]), event.happened_at, event.location_text) for event in events]
    steps.append(TrackingStep(_("Shipped"), row.created_at))
    urls = [*map(get_safe_url, row.tracking_urls), *[""] * len(row.tracking_numbers)]
    numbers = list(zip(row.tracking_numbers, urls, strict=False))
    return Shipment(
        status,
        lines,
        row.tracking_company,
        numbers or [("", url) for url in urls if url],
        expected,
        sorted(steps, key=lambda step: step.at, reverse=True),
    )


def _get_reason(row: FulfillmentOrder) -> str:
    if row.status == Status.ON_HOLD:
        reasons = dict.fromkeys(HOLD_TEXTS[hold.reason] for hold in row.holds.all())
        return ". ".join(map(_, reasons)) or _(HOLD_TEXTS[_H.OTHER])
    if row.status == Status.SCHEDULED and row.fulfill_at is not None:
        return _("Ships on {day} at the earliest").format(day=formats.format_date(row.fulfill_at, "j F Y"))
    if row.method_type == FulfillmentOrder.Method.NONE:
        return _("No shipping required")
    return _("Being packed") if row.status == Status.IN_PROGRESS else _(NOT_YET)


def _sum_by_name(counts: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Sum up quantities by name, because several line items may have the same name."""
    totals: dict[str, int] = {}
    for count, name in counts:
        totals[name] = totals.get(name, 0) + count
    return [(count, name) for name, count in totals.items()]


def get_tracking_context(order: Order) -> Attrs:
    shipments, unshipped = get_shipments(order), get_unshipped_items(order, get_line_items(order))
    return {"shipments": shipments, "unshipped": unshipped} if shipments or unshipped else {}
