"""A simulated warehouse that handles requests, ships, and reports stock and tracking numbers."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import orjson

from apps.core.http.errors import HttpRequestFailed
from apps.demo.warehouse.api_client import ApiClient, ApiRequestFailed
from apps.demo.webhook_receiver import LocalHandler, LocalServer, verify_signatures

logger = logging.getLogger(__name__)

FULFILLMENT, CANCELLATION = "FULFILLMENT_REQUEST", "CANCELLATION_REQUEST"
COMPANY = "Demo Parcel"
MAX_BODY = 64 * 1024
Job = Callable[[], None]
FulfillmentOrder = Mapping[str, Any]
# Bad responses to requests for stock and tracking numbers. Each name maps to a status and a body.
BAD_RESPONSES: Mapping[str, tuple[int, bytes]] = {
    "error": (500, b"Sorry"),
    "html": (200, b"<!doctype html><title>Welcome</title>"),
    "broken": (200, b'{"MUG": 1'),
    "list": (200, b"[1, 2, 3]"),
    "negative": (200, b'{"MUG": -1}'),
    "huge": (200, b'{"MUG": 1e400}'),
    "deep": (200, b"[" * 1000 + b"]" * 1000),
    "large": (200, b'{"MUG": "' + b"9" * (5 * 1024 * 1024) + b'"}'),
}


@dataclass(slots=True)
class Behavior:
    """The behavior of the warehouse, which may be changed at any time, including deliberate errors.

    Attributes:
        rejects: True to reject fulfillment requests.
        insists: True to reject cancellation requests.
        ships_after: Seconds between acceptance and shipping.
        numbers_later: True to ship without a tracking number and report the number on request.
        delay: Seconds before each response to a callback.
        bad_response: A key of ``BAD_RESPONSES``, or blank to respond correctly.
    """

    rejects: bool = False
    insists: bool = False
    ships: bool = True
    ships_after: float = 0.0
    numbers_later: bool = False
    delay: float = 0.0
    bad_response: str = ""


class Warehouse:
    """A fulfillment service on localhost.

    As a context manager, the warehouse registers itself as a service and runs until the end of the block. Each callback
    gets an immediate response. A thread then processes the callbacks one by one.

    Attributes:
        secrets: The app's secrets. Requests with another signature get 401.
        stock: Available quantities, keyed by SKU.
        numbers: Tracking numbers to report on request, keyed by fulfillment name.
        calls: The method and the path, including the query string, of each received callback.
        service: The JSON of the service after registration.
    """

    def __init__(
        self,
        interface: ApiClient,
        secrets: Sequence[str],
        *,
        name: str = "Demo warehouse",
        port: int = 0,
        stock: Mapping[str, int] | None = None,
        behavior: Behavior | None = None,
        log: Callable[[str], None] = logger.info,
    ) -> None:
        """Listen on a port of localhost, a free one by default. ``log`` is called with a message for each action."""
        self.interface, self.secrets, self.name, self.say = interface, secrets, name, log
        self.behavior, self.stock = behavior or Behavior(), dict(stock or {})
        self.numbers: dict[str, str] = {}
        self.calls: list[str] = []
        self.service: Mapping[str, Any] = {}
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._listener = LocalServer(("127.0.0.1", port), _create_handler(self))
        self.url = f"http://127.0.0.1:{self._listener.server_address[1]}/"

    def __enter__(self) -> Self:
        self._worker = threading.Thread(target=self._work, daemon=True)
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()
        self.register()
        self._worker.start()
        # Handle the requests that arrived while the warehouse was not running.
        self.handle_notification(FULFILLMENT)
        self.handle_notification(CANCELLATION)
        return self

    def __exit__(self, *_error: object) -> None:
        self._listener.shutdown()
        self._listener.server_close()
        self._jobs.put(None)
        self._worker.join(10)

    def register(self) -> None:
        """Create the fulfillment service in the shop, or update its callback URL if it exists."""
        attrs = {"name": self.name, "callback_url": self.url, "inventory_management": True, "tracking_support": True}
        services = self.interface.get("fulfillment_services.json")["fulfillment_services"]
        own_service = next((row for row in services if row["name"] == self.name), None)
        body = {"fulfillment_service": attrs}
        if own_service is None:
            response = self.interface.post("fulfillment_services.json", body)
        else:
            response = self.interface.put(f"fulfillment_services/{own_service['id']}.json", body)
        self.service = response["fulfillment_service"]
        self.say(f"Registered as fulfillment service {self.service['id']} ({self.name}) at {self.url}")

    def handle_notification(self, kind: str) -> None:
        work = {FULFILLMENT: self.answer_requests, CANCELLATION: self.answer_cancellations}.get(kind)
        if work is not None:
            self._jobs.put(work)

    def get_response(self, path: str, query: Mapping[str, Sequence[str]]) -> tuple[int, bytes]:
        if self.behavior.bad_response:
            return BAD_RESPONSES[self.behavior.bad_response]
        match path.rsplit("/", 1)[-1].removesuffix(".json"):
            case "fetch_stock":
                requested = query.get("sku") or list(self.stock)
                return 200, orjson.dumps({sku: self.stock[sku] for sku in requested if sku in self.stock})
            case "fetch_tracking_numbers":
                requested = query.get("order_names[]", ())
                numbers = {name: self.numbers[name] for name in requested if name in self.numbers}
                return 200, orjson.dumps({"tracking_numbers": numbers, "success": True, "message": ""})
        return 404, b"{}"

    def answer_requests(self) -> None:
        """Accept or reject fulfillment requests. Accepted fulfillment orders are shipped immediately or later."""
        for row in self._assigned("fulfillment_requested"):
            path = f"fulfillment_orders/{row['id']}/fulfillment_request"
            if self.behavior.rejects:
                rejection = {"reason": "inventory_out_of_stock", "message": "We have none of these."}
                self.interface.post(f"{path}/reject.json", {"fulfillment_request": rejection})
                self.say(f"Rejected fulfillment order {row['id']}")
                continue
            self.interface.post(f"{path}/accept.json", {"fulfillment_request": {"message": "We will send it."}})
            self.say(f"Accepted fulfillment order {row['id']}")
            if self.behavior.ships:
                self._later(self.behavior.ships_after, partial(self.ship, row))

    def answer_cancellations(self) -> None:
        for row in self._assigned("cancellation_requested"):
            action = "reject" if self.behavior.insists else "accept"
            path = f"fulfillment_orders/{row['id']}/cancellation_request/{action}.json"
            self.interface.post(path, {"cancellation_request": {"message": ""}})
            self.say(f"{action.capitalize()}ed the cancellation of fulfillment order {row['id']}")

    def ship(self, row: FulfillmentOrder) -> None:
        number = f"DW{row['id']}"
        tracking = {"number": number, "company": COMPANY, "url": f"https://parcels.example/{number}"}
        body: dict[str, object] = {"line_items_by_fulfillment_order": [{"fulfillment_order_id": row["id"]}]}
        if not self.behavior.numbers_later:
            body["tracking_info"] = tracking
        fulfillment = self.interface.post("fulfillments.json", {"fulfillment": body})["fulfillment"]
        if self.behavior.numbers_later:
            self.numbers[fulfillment["name"]] = number
        for line in fulfillment["line_items"]:
            if line["sku"] in self.stock:
                self.stock[line["sku"]] = max(0, self.stock[line["sku"]] - line["quantity"])
        self.say(f"Sent {fulfillment['name']} for fulfillment order {row['id']} as {number}")

    def _assigned(self, status: str) -> Iterable[FulfillmentOrder]:
        query = {"assignment_status": status, "location_ids[]": str(self.service["location_id"])}
        return self.interface.get("assigned_fulfillment_orders.json", **query)["fulfillment_orders"]

    def _later(self, seconds: float, work: Job) -> None:
        if not seconds:
            work()
            return
        timer = threading.Timer(seconds, self._jobs.put, [work])
        timer.daemon = True
        timer.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except (HttpRequestFailed, ApiRequestFailed) as error:
                self.say(str(error))


def _create_handler(warehouse: Warehouse) -> type[LocalHandler]:
    """Return a handler that passes the requests with a valid signature to the warehouse."""

    class Handler(LocalHandler):
        def do_POST(self) -> None:  # noqa: N802 - the base class calls it
            body = self.read_body(MAX_BODY)
            if self._is_signed(body):
                self._respond(200, b"{}")
                warehouse.handle_notification(_parse_kind(body))

        def do_GET(self) -> None:  # noqa: N802 - the base class calls it
            if self._is_signed(b""):
                parts = urlsplit(self.path)
                self._respond(*warehouse.get_response(parts.path, parse_qs(parts.query)))

        def _is_signed(self, body: bytes) -> bool:
            """Record the call and verify the signature. If the signature is wrong, respond with 401."""
            call = f"{self.command} {self.path}"
            warehouse.calls.append(call)
            warehouse.say(call)
            time.sleep(warehouse.behavior.delay)
            if all(verify_signatures(dict(self.headers.items()), body, warehouse.secrets).values()):
                return True
            self._respond(401, b"{}")
            return False

        def _respond(self, status: int, body: bytes) -> None:
            self.respond(status, {"Content-Type": "application/json"}, body)

    return Handler


def _parse_kind(body: bytes) -> str:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return str(content.get("kind")) if isinstance(content, dict) else ""
