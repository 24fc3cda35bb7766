"""Fulfillment services, fulfillment orders and fulfillments for tests."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.fulfillment.domain import fulfillments, line_quantities, routing, services, tracking
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentOrder,
    FulfillmentService,
)
from apps.orders.models import Order
from apps.shops.models import App
from tests.orders.factories import MUG, make_order


def make_service(app: App, **attrs: Any) -> FulfillmentService:
    """A service of an app in the current shop."""
    number = FulfillmentService.objects.count() + 1
    given = {"name": f"Depot {number}", "callback_url": f"https://depot-{number}.example/callbacks", **attrs}
    return services.create_service(given, app=app, actor="system", at=timezone.now())


def route(order: Order) -> list[FulfillmentOrder]:
    """The fulfillment orders of an order, made as the worker makes them."""
    return routing.route_order(order.pk, at=timezone.now())


def make_fulfillment_order(
    service: FulfillmentService | None = None,
    *,
    status: str = "open",
    request_status: str = "unsubmitted",
    **values: Any,
) -> FulfillmentOrder:
    """The one fulfillment order of an order of two mugs, at the primary location or a service's, in any state."""
    lines = values.pop("lines", [MUG])
    if service is not None:
        lines = [{**line, "fulfillment_service": service.handle} for line in lines]
    row = route(make_order(lines=lines, **values))[0]
    put_into(row, status, request_status)
    return row


def put_into(row: FulfillmentOrder, status: str, request_status: str) -> None:
    """Put a fulfillment order into a state, with what belongs to it."""
    row.status, row.request_status = status, request_status
    if status == "scheduled":
        row.fulfill_at = timezone.now() + timedelta(days=2)
    row.save()
    if status == "on_hold":
        FulfillmentHold.objects.create(shop_id=row.shop_id, fulfillment_order=row, reason="other", actor="system")
    if status in {"closed", "cancelled", "incomplete"}:
        lines = line_quantities.get_remaining(row)
        for line, count in lines.items():
            line.quantity -= count
            line.fulfillable_quantity -= count
        line_quantities.save_lines(lines)


def make_fulfillment(row: FulfillmentOrder | None = None, **values: Any) -> Fulfillment:
    """All that remains of a fulfillment order, sent."""
    row = row or make_fulfillment_order(email="some@example.com")
    part = FulfillmentPart(row, values.pop("lines", None))
    return fulfillments.create_fulfillment([part], actor="system", at=timezone.now(), **values)


def make_event(fulfillment: Fulfillment | None = None, **attrs: Any) -> FulfillmentEvent:
    """A parcel in transit."""
    given = {"status": "in_transit", **attrs}
    return tracking.add_event(fulfillment or make_fulfillment(), given, actor="system", at=timezone.now())
