from collections.abc import Callable

from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support.factories.fulfillment import make_event, make_fulfillment, make_fulfillment_order, make_service
from tests.support.factories.inventory import make_location

SERVICE = {
    "fulfillment_service": {
        "name": "North Depot",
        "callback_url": "https://depot.example/callbacks",
        "inventory_management": True,
        "tracking_support": True,
        "requires_shipping_method": True,
    }
}


def make_service_id(world: SampleContext) -> Attrs:
    return {"id": make_service(world.installation.app).pk}


register_sample("GET fulfillment_services.json", arrange=make_service_id)
register_sample("POST fulfillment_services.json", SERVICE, status=201)
register_sample("GET fulfillment_services/<id>.json", arrange=make_service_id)
register_sample("PUT fulfillment_services/<id>.json", SERVICE, arrange=make_service_id)
register_sample(
    "DELETE fulfillment_services/<id>.json", arrange=make_service_id, query={"inventory_action": "transfer"}
)


def arrange_fulfillment_order(
    status: str = "open", request_status: str = "unsubmitted", *, service: bool = False
) -> Callable[[SampleContext], Attrs]:
    def arrange(world: SampleContext) -> Attrs:
        at = make_service(world.installation.app) if service else None
        row = make_fulfillment_order(at, status=status, request_status=request_status, email="some@example.com")
        line = row.lines.first()
        other = make_location(world.shop, name="Depot")
        return {"id": row.pk, "line": line and line.pk, "location": other.pk}

    return arrange


def build_lines(rows: Attrs) -> list[Attrs]:
    return [{"id": rows["line"], "quantity": 1}]


def make_fulfillment_ids(world: SampleContext) -> Attrs:
    row = make_fulfillment()
    return {"order_id": row.order_id, "id": row.pk}


def make_fulfillment_event(world: SampleContext) -> Attrs:
    event = make_event()
    return {"order_id": event.fulfillment.order_id, "fulfillment_id": event.fulfillment_id, "id": event.pk}


TRACKING = {"number": "1Z5R89390357567127", "url": "https://track.example/1", "company": "UPS"}
EVENT = {
    "event": {
        "status": "in_transit",
        "message": "On its way",
        "happened_at": "2026-03-02T12:00:00Z",
        "city": "Lund",
        "province": "Skåne",
        "country": "SE",
        "zip": "22222",
        "address1": "Storgatan 1",
        "latitude": 55.7,
        "longitude": 13.2,
    }
}
ONE = "fulfillment_orders/<id>"
EVENTS = "orders/<order_id>/fulfillments/<fulfillment_id>/events"

register_sample(
    "GET orders/<order_id>/fulfillment_orders.json",
    arrange=lambda world: {"order_id": make_fulfillment_order(email="some@example.com").order_id},
)
register_sample(
    "GET assigned_fulfillment_orders.json", arrange=arrange_fulfillment_order("open", "submitted", service=True)
)
register_sample(f"GET {ONE}.json", arrange=arrange_fulfillment_order())
register_sample(
    "POST fulfillment_orders/set_fulfillment_orders_deadline.json",
    lambda rows: {"fulfillment_order_ids": [rows["id"]], "fulfillment_deadline": "2031-03-02T12:00:00Z"},
    arrange=arrange_fulfillment_order(),
)
register_sample(f"POST {ONE}/cancel.json", arrange=arrange_fulfillment_order(), bodiless=True)
register_sample(
    f"POST {ONE}/close.json",
    {"fulfillment_order": {"message": "No more mugs"}},
    arrange=arrange_fulfillment_order("in_progress", "accepted", service=True),
    bodiless=True,
)
register_sample(
    f"POST {ONE}/hold.json",
    lambda rows: {
        "fulfillment_hold": {
            "reason": "inventory_out_of_stock",
            "reason_notes": "Next week",
            "fulfillment_order_line_items": build_lines(rows),
        }
    },
    arrange=arrange_fulfillment_order(),
)
register_sample(f"POST {ONE}/release_hold.json", arrange=arrange_fulfillment_order("on_hold"), bodiless=True)
register_sample(
    f"POST {ONE}/move.json",
    lambda rows: {
        "fulfillment_order": {"new_location_id": rows["location"], "fulfillment_order_line_items": build_lines(rows)}
    },
    arrange=arrange_fulfillment_order(),
)
register_sample(f"GET {ONE}/locations_for_move.json", arrange=arrange_fulfillment_order())
register_sample(f"POST {ONE}/open.json", arrange=arrange_fulfillment_order("scheduled"), bodiless=True)
register_sample(
    f"POST {ONE}/reschedule.json",
    {"fulfillment_order": {"new_fulfill_at": "2031-03-02T12:00:00Z"}},
    arrange=arrange_fulfillment_order("scheduled"),
)
register_sample(
    f"POST {ONE}/fulfillment_request.json",
    lambda rows: {
        "fulfillment_request": {
            "message": "With care",
            "notify_customer": True,
            "fulfillment_order_line_items": build_lines(rows),
        }
    },
    arrange=arrange_fulfillment_order(service=True),
    bodiless=True,
)
register_sample(
    f"POST {ONE}/fulfillment_request/accept.json",
    {"fulfillment_request": {"message": "Will do"}},
    arrange=arrange_fulfillment_order("open", "submitted", service=True),
    bodiless=True,
)
register_sample(
    f"POST {ONE}/fulfillment_request/reject.json",
    lambda rows: {
        "fulfillment_request": {
            "message": "No mugs",
            "reason": "inventory_out_of_stock",
            "line_items": [{"fulfillment_order_line_item_id": rows["line"], "message": "None left"}],
        }
    },
    arrange=arrange_fulfillment_order("open", "submitted", service=True),
    bodiless=True,
)
register_sample(
    f"POST {ONE}/cancellation_request.json",
    {"cancellation_request": {"message": "The buyer is away"}},
    arrange=arrange_fulfillment_order("in_progress", "accepted", service=True),
    bodiless=True,
)
for response in ("accept", "reject"):
    register_sample(
        f"POST {ONE}/cancellation_request/{response}.json",
        {"cancellation_request": {"message": "As you say"}},
        arrange=arrange_fulfillment_order("in_progress", "cancellation_requested", service=True),
        bodiless=True,
    )
register_sample(
    "GET fulfillment_orders/<fulfillment_order_id>/fulfillments.json",
    arrange=lambda world: {"fulfillment_order_id": make_fulfillment().lines.get().fulfillment_order_id},
)
register_sample(
    "POST fulfillments.json",
    lambda rows: {
        "fulfillment": {
            "line_items_by_fulfillment_order": [
                {"fulfillment_order_id": rows["id"], "fulfillment_order_line_items": build_lines(rows)}
            ],
            "tracking_info": TRACKING,
            "notify_customer": True,
            "message": "Packed well",
            "origin_address": {"address1": "Storgatan 1", "city": "Lund", "zip": "22222", "country_code": "SE"},
        }
    },
    arrange=arrange_fulfillment_order(),
    status=201,
)
register_sample("POST fulfillments/<id>/cancel.json", arrange=make_fulfillment_ids, bodiless=True)
register_sample("POST orders/<order_id>/fulfillments/<id>/cancel.json", arrange=make_fulfillment_ids, bodiless=True)
register_sample(
    "POST fulfillments/<id>/update_tracking.json",
    {"fulfillment": {"tracking_info": {**TRACKING, "numbers": ["1"], "urls": []}, "notify_customer": True}},
    arrange=make_fulfillment_ids,
)
register_sample("GET orders/<order_id>/fulfillments.json", arrange=make_fulfillment_ids)
register_sample("GET orders/<order_id>/fulfillments/count.json", arrange=make_fulfillment_ids)
register_sample("GET orders/<order_id>/fulfillments/<id>.json", arrange=make_fulfillment_ids)
register_sample(f"GET {EVENTS}.json", arrange=make_fulfillment_event)
register_sample(f"POST {EVENTS}.json", EVENT, arrange=make_fulfillment_event, status=201)
register_sample(f"GET {EVENTS}/<id>.json", arrange=make_fulfillment_event)
register_sample(f"DELETE {EVENTS}/<id>.json", arrange=make_fulfillment_event)
