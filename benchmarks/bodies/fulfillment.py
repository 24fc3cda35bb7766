"""Requests for fulfillments, fulfillment events, and fulfillment orders with the maximum number of line items."""

from dataclasses import dataclass
from typing import Any

from benchmarks.bodies.runner import Bench, Body
from benchmarks.bodies.shop_data import BenchRows, create_fulfillment_orders
from benchmarks.scale import scale

LINES, PARTS, DEADLINES, NUMBERS = scale(500, least=4), *map(scale, (250, 250, 100))
LONGEST, WORDS = 2048, 1000
LATER, LATEST = "2031-03-02T12:00:00Z", "2031-04-02T12:00:00Z"
ORDERS, NAMED = "fulfillment_orders", "fulfillment_order_line_items"
MESSAGE = "a" * WORDS


@dataclass(frozen=True)
class RoutedOrder:
    """A fulfillment order with the ids of its line items."""

    pk: int
    order: int
    lines: list[int]

    @property
    def path(self) -> str:
        return f"{ORDERS}/{self.pk}"

    def units(self, count: int = 1) -> list[Body]:
        """Return all line items with the given quantity, as in a request body."""
        return [{"id": pk, "quantity": count} for pk in self.lines]


def send_fulfillment(bench: Bench, goods: BenchRows, number: int) -> None:
    _of_states(bench, goods, number)
    _of_requests(bench, goods, number)
    _of_parcels(bench, goods)
    if not number:
        _of_many(bench, goods)


def _routed(bench: Bench, goods: BenchRows, body: Body, **when: Any) -> RoutedOrder:
    """Create an order, route the order as the worker does, and return the fulfillment order."""
    from django.utils import timezone

    from apps.core.tenancy.scope import shop_scope
    from apps.fulfillment.domain.fulfillment_orders import routing

    order = bench.made("orders.json", {"order": body})["order"]
    with shop_scope(goods.shop):
        [row] = routing.route_order(order["id"], at=timezone.now(), **when)
        return RoutedOrder(row.pk, order["id"], list(row.lines.order_by("pk").values_list("pk", flat=True)))


def _counted(goods: BenchRows) -> Body:
    lines = [{"variant_id": pk, "quantity": 4} for pk in goods.variants]
    return {"line_items": lines, "inventory_behaviour": "decrement_ignoring_policy"}


def _of_states(bench: Bench, goods: BenchRows, number: int) -> None:
    """Send requests that hold, move and cancel one fulfillment order, and reschedule and open another one."""
    from django.utils import timezone

    from apps.core.tenancy.scope import shop_scope
    from apps.inventory.domain.locations import create_location

    row = _routed(bench, goods, _counted(goods))
    hold = {"reason": "other", "reason_notes": MESSAGE, NAMED: row.units()}
    bench.send(f"POST {ORDERS}/hold, {LINES} lines", "POST", f"{row.path}/hold.json", {"fulfillment_hold": hold})
    bench.send(f"POST {ORDERS}/release_hold", "POST", f"{row.path}/release_hold.json")
    with shop_scope(goods.shop):
        other = create_location(name=f"Depot {number}", country="Sweden", actor="system", at=timezone.now())
    bench.made("inventory_levels/connect.json", {"inventory_item_id": goods.item, "location_id": other.pk})
    moved = {"new_location_id": other.pk, NAMED: row.units()}
    name = f"POST {ORDERS}/move, {LINES} lines"
    response = bench.send(name, "POST", f"{row.path}/move.json", {"fulfillment_order": moved})
    there = response["moved_fulfillment_order"]["id"]
    bench.send(f"POST {ORDERS}/cancel, {LINES} lines", "POST", f"{ORDERS}/{there}/cancel.json")
    waits = _routed(bench, goods, _counted(goods), fulfill_at=_moment())
    put_off = {"fulfillment_order": {"new_fulfill_at": LATEST}}
    bench.send(f"POST {ORDERS}/reschedule", "POST", f"{waits.path}/reschedule.json", put_off)
    bench.send(f"POST {ORDERS}/open", "POST", f"{waits.path}/open.json")


def _moment() -> Any:
    from datetime import datetime

    return datetime.fromisoformat(LATER)


def _of_requests(bench: Bench, goods: BenchRows, number: int) -> None:
    """Send fulfillment requests and cancellation requests to a service, and accept and reject them."""
    service = {"name": f"Requests {number}", "callback_url": f"https://depot.example/{number}"}
    handle = bench.made("fulfillment_services.json", {"fulfillment_service": service})["fulfillment_service"]["handle"]
    line = {"title": "Line", "price": "4.00", "quantity": 4, "fulfillment_service": handle}
    row = _routed(bench, goods, {"line_items": [line] * LINES})
    for response in ("reject", "accept"):
        row, request = _request(bench, row)
        bench.send(*_said(f"{request}/fulfillment_request/accept", "fulfillment_request"))
        bench.send(*_said(f"{request}/cancellation_request", "cancellation_request"))
        bench.send(*_said(f"{request}/cancellation_request/{response}", "cancellation_request"))
    row, request = _request(bench, row)
    line_items = bench.client.get(f"{bench.root}/{request}.json").json()["fulfillment_order"]["line_items"]
    why = [{"fulfillment_order_line_item_id": item["id"], "message": MESSAGE} for item in line_items]
    bench.send(*_said(f"{request}/fulfillment_request/reject", "fulfillment_request", line_items=why))
    _, request = _request(bench, row)
    bench.made(f"{request}/fulfillment_request/accept.json", {"fulfillment_request": {}})
    bench.send(*_said(f"{request}/close", "fulfillment_order"))


def _request(bench: Bench, row: RoutedOrder) -> tuple[RoutedOrder, str]:
    """Request one unit of each line item; return the remaining fulfillment order and the requested one's path."""
    body = {"fulfillment_request": {"message": MESSAGE, NAMED: row.units()}}
    path = f"{row.path}/fulfillment_request.json"
    response = bench.send(f"POST {ORDERS}/fulfillment_request, {LINES} lines", "POST", path, body)
    unsubmitted_fulfillment_order = response["unsubmitted_fulfillment_order"] or response["submitted_fulfillment_order"]
    lines = [line_item["id"] for line_item in unsubmitted_fulfillment_order["line_items"]]
    return RoutedOrder(
        unsubmitted_fulfillment_order["id"], row.order, lines
    ), f"{ORDERS}/{response['submitted_fulfillment_order']['id']}"


def _said(path: str, wrapper: str, **more: Any) -> tuple[str, str, str, Body]:
    """Return the arguments of ``Bench.send`` for an action with the longest message."""
    action = path.split("/", maxsplit=2)[2]
    return f"POST {ORDERS}/{action}, {LINES} lines", "POST", f"{path}.json", {wrapper: {"message": MESSAGE, **more}}


def _tracking() -> Body:
    urls = [f"https://track.example/{index}/".ljust(LONGEST, "a") for index in range(NUMBERS)]
    return {"numbers": [f"{index}".ljust(LONGEST, "1") for index in range(NUMBERS)], "urls": urls, "company": "Other"}


def _of_parcels(bench: Bench, goods: BenchRows) -> None:
    """Create a fulfillment with the maximum number of tracking numbers, add an event, and cancel the fulfillment."""
    row = _routed(bench, goods, _counted(goods))
    payload = {
        "line_items_by_fulfillment_order": [{"fulfillment_order_id": row.pk, NAMED: row.units()}],
        "tracking_info": _tracking(),
        "message": MESSAGE,
    }
    name = f"fulfillments, {LINES} lines, {NUMBERS} numbers"
    body = bench.send(f"POST {name}", "POST", "fulfillments.json", {"fulfillment": payload})["fulfillment"]["id"]
    tracking = {"fulfillment": {"tracking_info": {**_tracking(), "company": "Another"}}}
    path = f"fulfillments/{body}"
    bench.send(
        f"POST fulfillments/update_tracking, {NUMBERS} numbers", "POST", f"{path}/update_tracking.json", tracking
    )
    event = {"event": {"status": "in_transit", "message": MESSAGE[:255], "city": "a" * 255}}
    events = f"orders/{row.order}/{path}/events"
    first_row_id = bench.send("POST fulfillments/events", "POST", f"{events}.json", event)["fulfillment_event"]["id"]
    bench.send("DELETE fulfillments/events", "DELETE", f"{events}/{first_row_id}.json")
    bench.send(f"POST fulfillments/cancel, {LINES} lines", "POST", f"{path}/cancel.json")


def _of_many(bench: Bench, goods: BenchRows) -> None:
    """Fulfill the maximum number of fulfillment orders with one body. Only the first round does this, to save time."""
    rows = create_fulfillment_orders(goods, PARTS, LINES)
    body = {"fulfillment_order_ids": [row for row, _ in rows][:DEADLINES], "fulfillment_deadline": LATER}
    path = f"{ORDERS}/set_fulfillment_orders_deadline"
    bench.send(f"POST {path}, {DEADLINES} of them", "POST", f"{path}.json", body)
    parts = [
        {"fulfillment_order_id": row, NAMED: [{"id": line, "quantity": 1} for line in lines]} for row, lines in rows
    ]
    fulfillment_data = {"fulfillment": {"line_items_by_fulfillment_order": parts, "tracking_info": _tracking()}}
    new_body = bench.send(
        f"POST fulfillments, of {PARTS} fulfillment orders", "POST", "fulfillments.json", fulfillment_data
    )
    order, pk = new_body["fulfillment"]["order_id"], new_body["fulfillment"]["id"]
    path = f"orders/{order}/fulfillments/{pk}/cancel.json"
    bench.send(f"POST orders/fulfillments/cancel, of {PARTS} fulfillment orders", "POST", path)
