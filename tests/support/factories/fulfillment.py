from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.core.tenancy.models import App
from apps.fulfillment.domain import consistency_checks, fulfillments, tracking
from apps.fulfillment.domain.fulfillment_orders import quantities, routing
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.domain.services import changes
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentOrder,
    FulfillmentService,
)
from apps.orders.models import Order
from tests.support.factories.orders import MUG, make_order


def make_service(app: App, **attrs: object) -> FulfillmentService:
    number = FulfillmentService.objects.count() + 1
    fields = {"name": f"Depot {number}", "callback_url": f"https://depot-{number}.example/callbacks", **attrs}
    return changes.create_service(fields, app=app, actor="system", at=timezone.now())


def route_order_now(order: Order) -> list[FulfillmentOrder]:
    """Route an order as the worker does, and return its fulfillment orders."""
    return routing.route_order(order.pk, at=timezone.now())


def make_fulfillment_order(
    service: FulfillmentService | None = None,
    *,
    status: str = "open",
    request_status: str = "unsubmitted",
    **values: Any,
) -> FulfillmentOrder:
    """Create an order for two mugs and return its fulfillment order, at the primary location or at a service."""
    lines = values.pop("lines", [MUG])
    if service is not None:
        lines = [{**line, "fulfillment_service": service.handle} for line in lines]
    row = route_order_now(make_order(lines=lines, **values))[0]
    set_status(row, status, request_status)
    return row


def set_status(row: FulfillmentOrder, status: str, request_status: str) -> None:
    """Set the status of a fulfillment order, with matching dates, holds and quantities."""
    row.status, row.request_status = status, request_status
    if status == "scheduled":
        row.fulfill_at = timezone.now() + timedelta(days=2)
    row.save()
    if status == "on_hold":
        FulfillmentHold.objects.create(shop_id=row.shop_id, fulfillment_order=row, reason="other", actor="system")
    if status in {"closed", "cancelled", "incomplete"}:
        lines = quantities.get_remaining(row)
        for line, count in lines.items():
            line.quantity -= count
            line.fulfillable_quantity -= count
        quantities.save_lines(lines)


def make_fulfillment(row: FulfillmentOrder | None = None, **values: Any) -> Fulfillment:
    """Fulfill the given lines of a fulfillment order, by default all remaining items."""
    row = row or make_fulfillment_order(email="some@example.com")
    part = FulfillmentPart(row, values.pop("lines", None))
    return fulfillments.create_fulfillment([part], actor="system", at=timezone.now(), **values)


def make_event(fulfillment: Fulfillment | None = None, **attrs: object) -> FulfillmentEvent:
    fields = {"status": "in_transit", **attrs}
    return tracking.add_event(fulfillment or make_fulfillment(), fields, actor="system", at=timezone.now())


def find_wrong_quantities() -> list[str]:
    return [
        *consistency_checks.find_wrong_fulfillable_quantities(),
        *consistency_checks.find_wrong_fulfilled_quantities(),
    ]
