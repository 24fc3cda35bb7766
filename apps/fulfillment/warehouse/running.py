"""The warehouse at work: what it does for each request, and what it answers when it is asked."""

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import orjson

from apps.fulfillment.warehouse.interface import Interface, Refused
from apps.fulfillment.warehouse.listening import Listener
from apps.fulfillment.warehouse.manners import BAD_ANSWERS, Manners
from apps.outgoing.errors import FetchFailed

logger = logging.getLogger(__name__)

FULFILLMENT, CANCELLATION = "FULFILLMENT_REQUEST", "CANCELLATION_REQUEST"
COMPANY = "Demo Parcel"
Job = Callable[[], None]
FulfillmentOrder = Mapping[str, Any]


class Warehouse:
    """A fulfillment service on loopback; a context manager that is registered and works while it is open.

    Callbacks are answered at once and worked off by a thread, one after the other.

    Attributes:
        manners: How it behaves; may be changed at any time.
        stock: What it has, by SKU.
        numbers: The tracking numbers that it will tell when it is asked, by the name of the fulfillment.
        calls: The callbacks that came: method and path, with the query.
        service: Its row as the interface shows it, once it is registered.
    """

    def __init__(
        self,
        interface: Interface,
        secrets: Sequence[str],
        *,
        name: str = "Demo warehouse",
        port: int = 0,
        stock: Mapping[str, int] | None = None,
        manners: Manners | None = None,
        heard: Callable[[str], None] = logger.info,
    ) -> None:
        """Listen on a port, a free one by default.

        Args:
            interface: The shop that it works for.
            secrets: Those of its app; what they do not sign is refused with 401.
            name: What merchants see.
            port: Where on loopback.
            stock: What it has, by SKU.
            manners: How it behaves.
            heard: Told, in words for people, of everything that it does.
        """
        self.interface, self.secrets, self.name, self.say = interface, secrets, name, heard
        self.manners, self.stock = manners or Manners(), dict(stock or {})
        self.numbers: dict[str, str] = {}
        self.calls: list[str] = []
        self.service: Mapping[str, Any] = {}
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._listener = Listener(self, port)
        self.url = self._listener.url

    def __enter__(self) -> Self:
        self._worker = threading.Thread(target=self._work, daemon=True)
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()
        self.register()
        self._worker.start()
        # What was asked for while it was closed.
        self.told(FULFILLMENT)
        self.told(CANCELLATION)
        return self

    def __exit__(self, *_error: object) -> None:
        self._listener.shutdown()
        self._listener.server_close()
        self._jobs.put(None)
        self._worker.join(10)

    def register(self) -> None:
        """Be a service of the shop: a new one, or the one that was made before, at this address."""
        given = {
            "name": self.name,
            "callback_url": self.url,
            "inventory_management": True,
            "tracking_support": True,
        }
        known = self.interface.get("fulfillment_services.json")["fulfillment_services"]
        mine = next((row for row in known if row["name"] == self.name), None)
        body = {"fulfillment_service": given}
        if mine is None:
            answer = self.interface.post("fulfillment_services.json", body)
        else:
            answer = self.interface.put(f"fulfillment_services/{mine['id']}.json", body)
        self.service = answer["fulfillment_service"]
        self.say(f"I am fulfillment service {self.service['id']} ({self.name}) at {self.url}")

    # --- callbacks ---------------------------------------------------------------------------------------------------

    def comes(self, call: str) -> float:
        """Note a call; returns the seconds to wait before it is answered."""
        self.calls.append(call)
        self.say(call)
        return self.manners.delay

    def told(self, kind: str) -> None:
        """Take a notification: its work is done by the thread."""
        work = {FULFILLMENT: self.answer_requests, CANCELLATION: self.answer_cancellations}.get(kind)
        if work is not None:
            self._jobs.put(work)

    def asked(self, path: str, query: Mapping[str, Sequence[str]]) -> tuple[int, bytes]:
        """The status and body of the answer to a question."""
        if self.manners.bad_answer:
            return BAD_ANSWERS[self.manners.bad_answer]
        match path.rsplit("/", 1)[-1].removesuffix(".json"):
            case "fetch_stock":
                wanted = query.get("sku") or list(self.stock)
                return 200, orjson.dumps({sku: self.stock[sku] for sku in wanted if sku in self.stock})
            case "fetch_tracking_numbers":
                wanted = query.get("order_names[]", ())
                known = {name: self.numbers[name] for name in wanted if name in self.numbers}
                return 200, orjson.dumps({"tracking_numbers": known, "success": True, "message": ""})
        return 404, b"{}"

    # --- work --------------------------------------------------------------------------------------------------------

    def answer_requests(self) -> None:
        """Accept or reject what was asked for; what is accepted is sent, at once or later."""
        for row in self._assigned("fulfillment_requested"):
            path = f"fulfillment_orders/{row['id']}/fulfillment_request"
            if self.manners.rejects:
                said = {"reason": "inventory_out_of_stock", "message": "We have none of these."}
                self.interface.post(f"{path}/reject.json", {"fulfillment_request": said})
                self.say(f"Rejected fulfillment order {row['id']}")
                continue
            self.interface.post(f"{path}/accept.json", {"fulfillment_request": {"message": "We will send it."}})
            self.say(f"Accepted fulfillment order {row['id']}")
            if self.manners.ships:
                self._later(self.manners.ships_after, partial(self.ship, row))

    def answer_cancellations(self) -> None:
        """Give work back, or insist on it."""
        for row in self._assigned("cancellation_requested"):
            answer = "reject" if self.manners.insists else "accept"
            path = f"fulfillment_orders/{row['id']}/cancellation_request/{answer}.json"
            self.interface.post(path, {"cancellation_request": {"message": ""}})
            self.say(f"{answer.capitalize()}ed the cancellation of fulfillment order {row['id']}")

    def ship(self, row: FulfillmentOrder) -> None:
        """Send all of a fulfillment order in one parcel."""
        number = f"DW{row['id']}"
        tracking = {"number": number, "company": COMPANY, "url": f"https://parcels.example/{number}"}
        body: dict[str, object] = {"line_items_by_fulfillment_order": [{"fulfillment_order_id": row["id"]}]}
        if not self.manners.numbers_later:
            body["tracking_info"] = tracking
        made = self.interface.post("fulfillments.json", {"fulfillment": body})["fulfillment"]
        if self.manners.numbers_later:
            self.numbers[made["name"]] = number
        for line in made["line_items"]:
            if line["sku"] in self.stock:
                self.stock[line["sku"]] = max(0, self.stock[line["sku"]] - line["quantity"])
        self.say(f"Sent {made['name']} for fulfillment order {row['id']} as {number}")

    def _assigned(self, status: str) -> Iterable[FulfillmentOrder]:
        """The fulfillment orders of this service that wait for an answer."""
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
            except (FetchFailed, Refused) as error:
                self.say(str(error))
