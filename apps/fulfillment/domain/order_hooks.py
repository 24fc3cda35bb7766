"""Hooks that route new orders, and that update fulfillment when an order is canceled or edited.

``docs/fulfillment.md`` describes each case.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.events.recording import EventInput, record_event, record_events
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID
from apps.core.jobs.queue import enqueue, enqueue_many
from apps.core.tenancy.scope import get_current_shop
from apps.core.timestamps import InvalidDate, parse_timestamp
from apps.core.types import ReadOnlyAttrs
from apps.fulfillment.domain import fulfillments as fulfilling
from apps.fulfillment.domain import tracking
from apps.fulfillment.domain.fulfillment_orders import quantities, routing
from apps.fulfillment.domain.fulfillment_orders.quantities import (
    ACCEPTED_BY_SERVICE,
    AcceptedByService,
    Removal,
    remove_from_fulfillment_orders,
    remove_quantities,
)
from apps.fulfillment.models import (
    FulfillmentHold,
    FulfillmentOrder,
)
from apps.fulfillment.models.orders import UNFINISHED, Status
from apps.inventory.domain.stock import get_primary_location
from apps.inventory.models import Location
from apps.orders.domain.selectors import get_line_items
from apps.orders.domain.statuses import get_order_fulfillment_status
from apps.orders.models import LineItem, Order

# The member of ``OrderParts.other_members`` of an order with fulfillment orders for all items.
IS_ROUTED = "is_routed"


class FulfillmentDataRefused(DomainError):
    field = "fulfillments"


def route_new_orders(orders: Sequence[tuple[Order, ReadOnlyAttrs]], *, actor: str, at: datetime) -> None:
    """Enqueue routing of new orders. The items of fulfillments in the bodies are not routed."""
    routing_arguments: list[ReadOnlyAttrs] = []
    for order, parts in orders:
        if parts.get(IS_ROUTED):
            continue
        fulfillments = parts.get("fulfillments")
        if fulfillments:
            _record_past_fulfillment(
                order, fulfillments, actor=actor, at=at, notify=parts.get("send_fulfillment_receipt") is True
            )
            continue
        fulfill_at = _parse_fulfill_at(parts.get("fulfill_at"))
        routing_arguments.append({"order_id": order.pk, "fulfill_at": fulfill_at and fulfill_at.isoformat()})
    enqueue_many(routing.ROUTE_TASK, routing_arguments, actor=actor)


def _parse_fulfill_at(text: object) -> datetime | None:
    if text is None or text == "":
        return None
    try:
        return parse_timestamp(str(text), get_current_shop().tzinfo)
    except InvalidDate:
        raise FulfillmentDataRefused(INVALID, field="fulfill_at") from None


def _record_past_fulfillment(order: Order, fulfillments: object, *, actor: str, at: datetime, notify: bool) -> None:
    """Record a past fulfillment of the fulfilled quantities, or of all items if no quantity is given."""
    attrs = fulfillments[0] if isinstance(fulfillments, list) and len(fulfillments) == 1 else None
    if not isinstance(attrs, dict):
        raise FulfillmentDataRefused("is invalid: must be a list with one fulfillment object")
    location = _get_location(attrs.get("location_id"))
    lines = get_line_items(order)
    if not any(line.fulfilled_quantity for line in lines):
        for line in lines:
            line.fulfilled_quantity, line.fulfillable_quantity = line.quantity, 0
        LineItem.objects.bulk_update(lines, ["fulfilled_quantity", "fulfillable_quantity"])
    counts = {line.pk: line.fulfilled_quantity for line in lines if line.fulfilled_quantity}
    row = FulfillmentOrder.objects.create(
        shop_id=order.shop_id, order=order, assigned_location=location, status=Status.CLOSED, created_at=at
    )
    quantities.add_lines([(row, counts)], at=at)
    fulfillment = fulfilling.create_past_fulfillment(
        order, row, tracking.complete_tracking(_get_tracking_members(attrs)), at=at
    )
    order.fulfillment_status = get_order_fulfillment_status(order, lines)
    order.save(update_fields=["fulfillment_status"])
    record_event("fulfillments/create", fulfillment, actor=actor, at=at)
    if notify:
        tracking.enqueue_shipping_confirmation(fulfillment, actor=actor)
    if any(line.fulfillable_quantity for line in lines):
        enqueue(routing.ROUTE_TASK, actor=actor, order_id=order.pk)


def _get_location(pk: object) -> Location:
    if pk is None:
        return get_primary_location()
    location = Location.objects.filter(pk=pk).first() if isinstance(pk, int) and 0 < pk < 2**63 else None
    if location is None:
        raise FulfillmentDataRefused({"fulfillments.0.location_id": [INVALID]})
    return location


def _get_tracking_members(attrs: Mapping[str, object]) -> ReadOnlyAttrs:
    names = {
        "number": "tracking_number",
        "numbers": "tracking_numbers",
        "url": "tracking_url",
        "urls": "tracking_urls",
        "company": "tracking_company",
    }
    members: dict[str, object] = {}
    for name, member in names.items():
        value = attrs.get(member)
        is_list = name in {"numbers", "urls"}
        texts = value if isinstance(value, list) and is_list else [] if value is None else [value]
        if not all(_is_valid(text, is_url=name in {"url", "urls"}) for text in texts):
            raise FulfillmentDataRefused({f"fulfillments.0.{member}": [INVALID]})
        members[name] = texts if is_list else next(iter(texts), None)
    return members


def _is_valid(text: object, *, is_url: bool) -> bool:
    if not isinstance(text, str) or len(text) > tracking.MAX_LENGTH:
        return False
    return not is_url or not text.strip() or bool(tracking.get_safe_url(text.strip()))


def close_cancelled_order(order: Order, *, actor: str, at: datetime) -> None:
    """Close the unfinished fulfillment orders of an order that is being canceled, unless a service has accepted one."""
    rows = list(
        FulfillmentOrder.objects.filter(order=order, status__in=UNFINISHED)
        .select_related("assigned_location")
        .order_by("pk")
    )
    accepted = [row for row in rows if row.request_status in ACCEPTED_BY_SERVICE]
    if accepted:
        names = ", ".join(f"{row} at {row.assigned_location.name}" for row in accepted)
        raise AcceptedByService(
            _("Fulfillment services have already accepted {names}. Request a cancellation first.").format(names=names)
        )
    for row in rows:
        lines = quantities.get_remaining(row)
        remove_quantities(lines)
        row.status = Status.CLOSED
        row.save(update_fields=["status"])
    FulfillmentHold.objects.filter(fulfillment_order__in=rows).delete()
    record_events([EventInput("fulfillment_orders/cancelled", row) for row in rows], actor=actor, at=at)


def update_edited_order(
    order: Order, fewer: Mapping[int, int], *, more: bool, actor: str, at: datetime
) -> dict[int, dict[int, int]]:
    """Remove quantities from the fulfillment orders, and route added items. Return the locations of removed items."""
    removals = [Removal(line_item, count) for line_item, count in fewer.items()]
    removed = remove_from_fulfillment_orders(order, removals, actor=actor, at=at) if removals else []
    if more:
        enqueue(routing.ROUTE_TASK, actor=actor, order_id=order.pk)
    return dict(zip(fewer, removed, strict=True))


def get_deactivation_objections(location: Location) -> Iterator[str]:
    count = FulfillmentOrder.objects.filter(assigned_location=location, status__in=UNFINISHED).count()
    if count:
        text = ngettext(
            "The location has {number} unfinished fulfillment order.",
            "The location has {number} unfinished fulfillment orders.",
            count,
        )
        yield text.format(number=count)
