"""Random orders with a random history: paid, edited, fulfilled, held, moved, refunded and canceled by requests.

The API has no requests that edit line items, so edits call the domain function that the panel calls. A step that the
product refuses is skipped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from random import Random

from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.money import format_decimal, get_minor_unit
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.types import Json, JsonObject

# The currency of the order, the presentment currency and the exchange rate.
CURRENCIES: tuple[tuple[str, str, str | None], ...] = (
    ("USD", "USD", None),
    ("USD", "EUR", "0.912345678901"),
    ("JPY", "USD", "0.006694"),
    ("USD", "KWD", "0.307"),
    ("KWD", "JPY", "487.311"),
    ("EUR", "EUR", None),
)
RATES = ("0.05", "0.09975", "0.19", "0.081")
RESTOCK_TYPES = ("no_restock", "cancel", "return", None)
LATER = "2031-03-02T12:00:00Z"
ADDRESS = {
    "first_name": "Ada",
    "last_name": "Lovelace",
    "address1": "1 Main Street",
    "city": "Albany",
    "zip": "12207",
    "country_code": "US",
    "province_code": "NY",
    "phone": "+1 518 555 0100",
}
# The path and the body of each action on a fulfillment order.
ACTIONS: dict[str, tuple[str, JsonObject | None]] = {
    "hold": ("hold", {"fulfillment_hold": {"reason": "incorrect_address", "reason_notes": "Ask"}}),
    "release_hold": ("release_hold", None),
    "move": ("move", None),
    "cancel_fulfillment_order": ("cancel", None),
    "close": ("close", None),
    "mark_as_open": ("open", None),
    "reschedule": ("reschedule", {"fulfillment_order": {"new_fulfill_at": LATER}}),
    "set_fulfillment_deadline": ("deadline", None),
    "request_fulfillment": (
        "fulfillment_request",
        {"fulfillment_request": {"message": "Quickly", "notify_customer": True}},
    ),
    "accept_fulfillment_request": ("fulfillment_request/accept", None),
    "reject_fulfillment_request": ("fulfillment_request/reject", None),
    "request_cancellation": ("cancellation_request", {"cancellation_request": {"message": "Stop"}}),
    "accept_cancellation_request": ("cancellation_request/accept", None),
    "reject_cancellation_request": ("cancellation_request/reject", None),
}
CUSTOMERS: tuple[JsonObject | None, ...] = (
    None,
    {"email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace", "tags": "vip, new", "note": "Rings"},
    {"first_name": "Nobody", "last_name": "Known"},
    {"email": "bo@example.com", "phone": "+15185550123", "tax_exempt": True, "verified_email": False},
    {"phone": "+15185550177", "first_name": "Phone"},
)


@dataclass
class Histories:
    """Creates orders in a shop that has a location and a fulfillment service in addition to the primary location."""

    api: ApiClient
    random: Random
    variants: list[int]
    locations: list[int]
    service: str

    def create_order(self, steps: int) -> int | None:
        """Create an order and change it in random steps. Return its id, or None if the order was refused."""
        order = OrderHistory(self)
        if order.pk is None:
            return None
        for _ in range(steps):
            self.random.choice(STEPS)(order)
        return order.pk


class OrderHistory:
    """An order that random steps change."""

    def __init__(self, histories: Histories) -> None:
        self.histories, self.random, self.api = histories, histories.random, histories.api
        self.currency, self.presentment, self.rate = self.random.choice(CURRENCIES)
        created = self.post("orders.json", {"order": self.draw_body()})
        self.pk: int | None = created["order"]["id"] if created else None
        if self.pk is not None:
            self.route(fulfill_at=datetime.fromisoformat(LATER) if self.random.random() < 0.1 else None)

    @property
    def path(self) -> str:
        return f"orders/{self.pk}"

    def post(self, path: str, body: object = None) -> Json:
        response = self.api.post(path, body)
        assert response.status_code in {200, 201, 404, 422}, (path, body, response.content)
        return response.json() if response.status_code < 300 else None

    def read(self) -> JsonObject:
        return self.api.get(f"{self.path}.json").json()["order"]

    def read_fulfillment_orders(self) -> list[JsonObject]:
        return self.api.get(f"{self.path}/fulfillment_orders.json").json()["fulfillment_orders"]

    def route(self, fulfill_at: datetime | None = None) -> None:
        assert self.pk is not None
        routing.route_order(self.pk, at=timezone.now(), fulfill_at=fulfill_at)

    def draw_amount(self, most: int = 5000, *, least: int = 1, currency: str | None = None) -> str:
        currency = currency or self.currency
        return format_decimal(self.random.randint(least, max(most, least)) * get_minor_unit(currency), currency)

    def draw_taxes(self) -> list[JsonObject]:
        rates = self.random.sample(RATES, self.random.choice((0, 1, 1, 2)))
        return [{"title": f"Tax {rate}", "rate": rate, "channel_liable": rate == "0.05"} for rate in rates]

    def draw_line(self, index: int) -> JsonObject:
        price, random = self.draw_amount(), self.random
        line: JsonObject = {
            "title": random.choice(("Mug", "=1+1", "日本", "two\nlines")),
            "quantity": random.randint(1, 4),
            "price": price,
            "tax_lines": self.draw_taxes(),
            "sku": random.choice(("", f"S-{index}")),
            "vendor": random.choice(("", "Pottery")),
            "grams": random.choice((0, 250)),
            "taxable": random.random() < 0.8,
            "requires_shipping": random.random() < 0.8,
            "properties": random.choice(([], [{"name": "Engraving", "value": "A"}])),
        }
        if random.random() < 0.3:
            line["total_discount"] = min(price, self.draw_amount(900), key=Decimal)
        if random.random() < 0.2:
            tax_lines = [{"title": "Tax", "rate": "0.05"}]
            duty = {"harmonized_system_code": "520300", "country_code_of_origin": "SE"}
            line["duties"] = [{**duty, "shop_money": {"amount": self.draw_amount(500)}, "tax_lines": tax_lines}]
        if random.random() < 0.3:
            line["variant_id"] = random.choice(self.histories.variants)
        elif random.random() < 0.4:
            line["fulfillment_service"] = self.histories.service
        return line

    def draw_body(self) -> JsonObject:
        random = self.random
        codes = [
            {"code": "TEN", "amount": random.choice(("10", "33.3")), "type": "percentage"},
            {"code": "LESS", "amount": self.draw_amount(900), "type": "fixed_amount"},
            {"code": "POST", "amount": self.draw_amount(300), "type": "shipping"},
        ]
        shipping = [
            {"title": f"Post {index}", "code": "P", "price": self.draw_amount(900), "tax_lines": self.draw_taxes()}
            for index in range(random.choice((0, 1, 1, 2)))
        ]
        customer = random.choice(CUSTOMERS)
        return {
            "currency": self.currency,
            "presentment_currency": self.presentment,
            **({"exchange_rate": self.rate} if self.rate else {}),
            "line_items": [self.draw_line(index) for index in range(random.randint(1, 3))],
            "shipping_lines": shipping,
            "discount_codes": random.sample(codes, random.choice((0, 0, 1, 2))),
            "taxes_included": random.random() < 0.5,
            "total_tip_received": random.choice(("0", self.draw_amount(300))),
            "tags": random.choice(("", "b, a")),
            "note": random.choice(("", "Ring twice")),
            "note_attributes": random.choice(([], [{"name": "gift", "value": "yes"}])),
            "po_number": random.choice(("", "PO-7")),
            "email": random.choice(("", "buyer@example.com")),
            "phone": random.choice(("", "+15185550199")),
            "customer_locale": random.choice(("", "de")),
            "browser_ip": random.choice((None, "192.0.2.7")),
            "landing_site": random.choice(("", "/welcome")),
            "source_name": random.choice(("web", "pos")),
            "buyer_accepts_marketing": random.random() < 0.3,
            "test": random.random() < 0.1,
            "processed_at": random.choice((None, "2024-02-03T04:05:06Z")),
            "inventory_behaviour": random.choice(("bypass", "decrement_ignoring_policy")),
            **({} if customer is None else {"customer": customer}),
            **({"shipping_address": ADDRESS} if random.random() < 0.5 else {}),
            **({"billing_address": {**ADDRESS, "company": "Engines"}} if random.random() < 0.3 else {}),
            **random.choice(({}, {"financial_status": "paid"}, {"financial_status": "authorized"})),
            **({"fulfillment_status": "fulfilled"} if random.random() < 0.05 else {}),
        }

    def pay(self) -> None:
        kind = self.random.choice(("sale", "sale", "authorization", "capture", "void"))
        currency = self.random.choice((self.currency, self.presentment))
        body: JsonObject = {
            "kind": kind,
            "currency": currency,
            "gateway": self.random.choice(("manual", "paypal", "gift_card")),
            "status": self.random.choice(("success", "success", "success", "failure", "pending")),
            "authorization": self.random.choice(("", "auth-7")),
            "receipt": self.random.choice(({}, {"paid_amount": "1.00"})),
            "message": self.random.choice(("", "Thanks")),
        }
        if kind != "void" and self.random.random() < 0.6:
            body["amount"] = self.draw_amount(9000, currency=currency)
        self.post(f"{self.path}/transactions.json", {"transaction": body})

    def edit(self) -> None:
        line = self.random.choice(self.read()["line_items"])
        current = line["current_quantity"]
        edits = (
            OrderEdit({line["id"]: LineEdit(max(current - self.random.randint(1, 2), 0))}),
            OrderEdit({line["id"]: LineEdit(current + 1)}),
            OrderEdit({line["id"]: LineEdit(discount=Decimal(self.draw_amount(600)))}),
            OrderEdit({}, [{"title": "Engraving", "price": Decimal(self.draw_amount()), "quantity": 2}]),
        )
        assert self.pk is not None
        try:
            edit_lines.edit_lines(Order(pk=self.pk), self.random.choice(edits), actor="staff:1", at=timezone.now())
        except DomainError:
            return
        self.route()

    def fulfill(self) -> None:
        rows = [row for row in self.read_fulfillment_orders() if row["line_items"]]
        if not rows:
            return
        row = self.random.choice(rows)
        line = self.random.choice(row["line_items"])
        selected = [{"id": line["id"], "quantity": self.random.randint(1, 2)}] if self.random.random() < 0.6 else []
        body: JsonObject = {
            "line_items_by_fulfillment_order": [
                {"fulfillment_order_id": row["id"], "fulfillment_order_line_items": selected}
            ],
            "message": self.random.choice(("", "On its way")),
            "tracking_info": self.random.choice(
                ({}, {"number": "1Z1234512345123456"}, {"numbers": ["A1", "A2"], "company": "Post"})
            ),
            **({"origin_address": {"city": "Albany"}} if self.random.random() < 0.2 else {}),
        }
        self.post("fulfillments.json", {"fulfillment": body})

    def change_fulfillment(self) -> None:
        rows = self.read()["fulfillments"]
        if not rows:
            return
        pk = self.random.choice(rows)["id"]
        action = self.random.choice(("cancel", "cancel", "event", "tracking"))
        if action == "event":
            status = self.random.choice(("in_transit", "delivered"))
            event = {"status": status, "city": "Albany", "latitude": 42.65, "happened_at": "2024-02-03T04:05:06Z"}
            self.post(f"{self.path}/fulfillments/{pk}/events.json", {"event": event})
        elif action == "tracking":
            tracking = {"tracking_info": {"number": "B2", "url": "https://example.com/b2", "company": "Bo"}}
            self.post(f"fulfillments/{pk}/update_tracking.json", {"fulfillment": tracking})
        else:
            self.post(f"fulfillments/{pk}/cancel.json", {})

    def change_fulfillment_order(self) -> None:
        rows = self.read_fulfillment_orders()
        if not rows:
            return
        row = self.random.choice(rows)
        action = self.random.choice(row["supported_actions"] or ["close"])
        if action in ACTIONS:
            path, body = ACTIONS[action]
            if action == "move":
                body = {"fulfillment_order": {"new_location_id": self.random.choice(self.histories.locations)}}
            self.post(f"fulfillment_orders/{row['id']}/{path}.json", body)
            if action == "request_fulfillment" and self.random.random() < 0.7:
                self.post(f"fulfillment_orders/{row['id']}/fulfillment_request/accept.json")

    def refund(self) -> None:
        random = self.random
        order = self.read()
        lines = random.sample(order["line_items"], random.randint(0, len(order["line_items"])))
        rows = []
        for line in lines:
            restock_type = random.choice(RESTOCK_TYPES)
            row = {"line_item_id": line["id"], "quantity": random.randint(1, 2), "restock_type": restock_type}
            if restock_type in {"cancel", "return"}:
                row["location_id"] = random.choice(self.histories.locations)
            rows.append(row)
        duties = [duty["id"] for line in lines for duty in line["duties"]]
        body: JsonObject = {
            "currency": random.choice((self.currency, self.presentment)),
            "refund_line_items": rows,
            "refund_duties": [{"duty_id": pk, "refund_type": "FULL"} for pk in duties if random.random() < 0.5],
            "shipping": random.choice(({}, {"full_refund": True}, {"amount": self.draw_amount(200)})),
            "restock": random.random() < 0.5,
            "note": random.choice(("", "Broken")),
            "discrepancy_reason": random.choice((None, "damage", "customer")),
        }
        calculated = self.post(f"{self.path}/refunds/calculate.json", {"refund": body})
        transactions = calculated["refund"]["transactions"] if calculated else []
        choice = random.random()
        if choice < 0.6:
            body["transactions"] = [{**row, "kind": "refund"} for row in transactions]
        elif choice < 0.8:
            body["transactions"] = [{"amount": self.draw_amount(900, currency=body["currency"])}]
        self.post(f"{self.path}/refunds.json", {"refund": body})

    def cancel(self) -> None:
        body: JsonObject = {"reason": self.random.choice(("customer", "fraud")), "restock": self.random.random() < 0.5}
        if self.random.random() < 0.5:
            order = self.read()
            amount = {"amount": order["current_total_price"], "currency": self.currency}
            body |= amount if self.random.random() < 0.5 else {"amount": "1", "currency": self.currency}
        self.post(f"{self.path}/cancel.json", body)

    def close(self) -> None:
        self.post(f"{self.path}/{self.random.choice(('close', 'reopen'))}.json", {})


STEPS: tuple[Callable[[OrderHistory], None], ...] = (
    *(OrderHistory.pay,) * 3,
    *(OrderHistory.edit,) * 3,
    *(OrderHistory.fulfill,) * 4,
    *(OrderHistory.change_fulfillment,) * 2,
    *(OrderHistory.change_fulfillment_order,) * 6,
    *(OrderHistory.refund,) * 5,
    OrderHistory.cancel,
    OrderHistory.close,
)
