"""Writers that change a store over REST at random: products, stock, customers, orders and what belongs to them."""

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.types import JsonObject

# A function of a method, a path after the version and a body that returns the status and the response.
Send = Callable[[str, str, object], tuple[int, Any]]
_TRACKING = {"number": "1Z5R89390357567127", "company": "UPS"}


class Choice(NamedTuple):
    """A kind of write. ``weight`` is how often it is chosen, compared with the other kinds."""

    write: Callable[["RandomWriter"], None]
    weight: int


class RandomWriter:
    """Sends random writes of all kinds. Refusals such as 404 and 422 are expected, because several writers compete."""

    def __init__(self, send: Send, seed: int, location_ids: list[int]) -> None:
        self.statuses: Counter[tuple[str, int]] = Counter()
        self._send = send
        self._chance = random.Random(seed)
        self._locations = location_ids
        self._seed = seed
        self._count = 0

    def write(self) -> None:
        (choice,) = self._chance.choices(CHOICES, [choice.weight for choice in CHOICES])
        choice.write(self)

    def call(self, method: str, path: str, body: object = None) -> Any:
        status, response = self._send(method, path, body)
        self.statuses[f"{method} {re.sub('[0-9]+', 'N', path.split('?', maxsplit=1)[0])}", status] += 1
        return response if status in {200, 201} else None

    def pick(self, plural: str, query: str = "") -> JsonObject | None:
        rows = self.call("GET", f"{plural}.json?limit=250{query}")
        members = next(iter(rows.values())) if rows else []
        return self._chance.choice(members) if members else None

    def word(self) -> str:
        self._count += 1
        return f"w{self._seed}n{self._count}"

    def number(self, most: int) -> int:
        return self._chance.randint(1, most)

    # --- products and stock

    def create_product(self) -> None:
        variants = [{"option1": size, "price": "10.00", "sku": self.word()} for size in ("S", "M")]
        for variant in variants:
            variant["inventory_management"] = "platform"
        body = {"title": self.word(), "options": [{"name": "Size"}], "variants": variants, "tags": "new"}
        self.call("POST", "products.json", {"product": body})

    def change_product(self) -> None:
        if product := self.pick("products"):
            self.call("PUT", f"products/{product['id']}.json", {"product": {"title": self.word()}})

    def delete_product(self) -> None:
        if product := self.pick("products"):
            self.call("DELETE", f"products/{product['id']}.json")

    def pick_variant(self) -> JsonObject | None:
        product = self.pick("products")
        return self._chance.choice(product["variants"]) if product else None

    def create_variant(self) -> None:
        if product := self.pick("products"):
            body = {"variant": {"option1": self.word(), "price": "3.00"}}
            self.call("POST", f"products/{product['id']}/variants.json", body)

    def change_variant(self) -> None:
        if variant := self.pick_variant():
            self.call("PUT", f"variants/{variant['id']}.json", {"variant": {"price": f"{self.number(90)}.00"}})

    def delete_variant(self) -> None:
        if variant := self.pick_variant():
            self.call("DELETE", f"products/{variant['product_id']}/variants/{variant['id']}.json")

    def _write_level(self, action: str, **values: object) -> None:
        if variant := self.pick_variant():
            location = self._chance.choice(self._locations)
            body = {"inventory_item_id": variant["inventory_item_id"], "location_id": location, **values}
            self.call("POST", f"inventory_levels/{action}.json", body)

    def set_stock(self) -> None:
        self._write_level("set", available=self.number(50))

    def adjust_stock(self) -> None:
        self._write_level("adjust", available_adjustment=self.number(5) - 2)

    def connect_level(self) -> None:
        self._write_level("connect")

    def delete_level(self) -> None:
        if variant := self.pick_variant():
            location = self._chance.choice(self._locations)
            item = variant["inventory_item_id"]
            self.call("DELETE", f"inventory_levels.json?inventory_item_id={item}&location_id={location}")

    def change_item(self) -> None:
        if variant := self.pick_variant():
            body = {"inventory_item": {"sku": self.word(), "cost": f"{self.number(9)}.00"}}
            self.call("PUT", f"inventory_items/{variant['inventory_item_id']}.json", body)

    def create_collection(self) -> None:
        self.call("POST", "custom_collections.json", {"custom_collection": {"title": self.word()}})

    def add_to_collection(self) -> None:
        product, collection = self.pick("products"), self.pick("custom_collections")
        if product and collection:
            body = {"collect": {"product_id": product["id"], "collection_id": collection["id"]}}
            self.call("POST", "collects.json", body)

    def remove_from_collection(self) -> None:
        if collect := self.pick("collects"):
            self.call("DELETE", f"collects/{collect['id']}.json")

    # --- customers

    def create_customer(self) -> None:
        name = self.word()
        body = {"first_name": name, "email": f"{name}@example.com", "tags": "new", "addresses": [{"city": "Lund"}]}
        self.call("POST", "customers.json", {"customer": body})

    def change_customer(self) -> None:
        if customer := self.pick("customers"):
            self.call("PUT", f"customers/{customer['id']}.json", {"customer": {"note": self.word()}})

    def invite_customer(self) -> None:
        if customer := self.pick("customers"):
            action = self._chance.choice(["send_invite", "account_activation_url"])
            self.call("POST", f"customers/{customer['id']}/{action}.json", {})

    def delete_customer(self) -> None:
        if customer := self.pick("customers"):
            self.call("DELETE", f"customers/{customer['id']}.json")

    def add_address(self) -> None:
        if customer := self.pick("customers"):
            body = {"address": {"address1": self.word(), "city": "Lund", "country": "Sweden"}}
            self.call("POST", f"customers/{customer['id']}/addresses.json", body)

    def choose_address(self) -> None:
        customer = self.pick("customers")
        if customer and customer["addresses"]:
            path = f"customers/{customer['id']}/addresses/{self._chance.choice(customer['addresses'])['id']}"
            if self._chance.random() < 0.5:
                self.call("PUT", f"{path}/default.json", {})
            else:
                self.call("DELETE", f"{path}.json")

    # --- orders

    def create_order(self) -> None:
        variants = [variant for variant in (self.pick_variant(), self.pick_variant()) if variant]
        lines = [{"variant_id": variant["id"], "quantity": self.number(3)} for variant in variants]
        order: JsonObject = {
            "line_items": lines or [{"title": "Mug", "price": "10.00", "quantity": 2}],
            "email": f"{self.word()}@example.com",
            "inventory_behaviour": "decrement_ignoring_policy",
            "shipping_lines": [{"title": "Post", "price": "5.00"}],
        }
        if (customer := self.pick("customers")) and self._chance.random() < 0.8:
            order["customer"] = {"id": customer["id"]}
        if self._chance.random() < 0.5:
            order["financial_status"] = "paid"
        self.call("POST", "orders.json", {"order": order})

    def pick_order(self) -> JsonObject | None:
        return self.pick("orders", "&status=any")

    def change_order(self) -> None:
        if order := self.pick_order():
            self.call("PUT", f"orders/{order['id']}.json", {"order": {"note": self.word()}})

    def move_order(self) -> None:
        order, customer = self.pick_order(), self.pick("customers")
        if order and customer:
            self.call("PUT", f"orders/{order['id']}.json", {"order": {"customer": {"id": customer["id"]}}})

    def act_on_order(self) -> None:
        if order := self.pick_order():
            action = self._chance.choice(["close", "open", "cancel"])
            self.call("POST", f"orders/{order['id']}/{action}.json", {})

    def delete_order(self) -> None:
        if order := self.pick_order():
            self.call("DELETE", f"orders/{order['id']}.json")

    def pay_order(self) -> None:
        if order := self.pick_order():
            body = {"transaction": {"kind": "sale", "amount": f"{self.number(9)}.00"}}
            self.call("POST", f"orders/{order['id']}/transactions.json", body)

    def refund_order(self) -> None:
        if order := self.pick_order():
            line = self._chance.choice(order["line_items"])
            units = {"line_item_id": line["id"], "quantity": 1, "restock_type": "no_restock"}
            self.call("POST", f"orders/{order['id']}/refunds.json", {"refund": {"refund_line_items": [units]}})

    # --- fulfillment

    def fulfill_order(self) -> None:
        if not (order := self.pick_order()):
            return
        response = self.call("GET", f"orders/{order['id']}/fulfillment_orders.json")
        open_rows = [row for row in response["fulfillment_orders"] if row["status"] == "open"] if response else []
        if open_rows:
            row = self._chance.choice(open_rows)
            lines = [{"id": row["line_items"][0]["id"], "quantity": 1}]
            part = {"fulfillment_order_id": row["id"], "fulfillment_order_line_items": lines}
            self.call("POST", "fulfillments.json", {"fulfillment": {"line_items_by_fulfillment_order": [part]}})

    def hold_order(self) -> None:
        if not (order := self.pick_order()):
            return
        response = self.call("GET", f"orders/{order['id']}/fulfillment_orders.json")
        for row in response["fulfillment_orders"] if response else []:
            if row["status"] == "open":
                hold = {"fulfillment_hold": {"reason": "other"}}
                self.call("POST", f"fulfillment_orders/{row['id']}/hold.json", hold)
            elif row["status"] == "on_hold":
                self.call("POST", f"fulfillment_orders/{row['id']}/release_hold.json", {})

    def pick_fulfillment(self) -> JsonObject | None:
        orders = self.call("GET", "orders.json?limit=250&status=any") or {"orders": []}
        fulfillments = [row for order in orders["orders"] for row in order["fulfillments"]]
        return self._chance.choice(fulfillments) if fulfillments else None

    def track(self) -> None:
        if row := self.pick_fulfillment():
            body = {"fulfillment": {"tracking_info": {**_TRACKING, "number": self.word()}}}
            self.call("POST", f"fulfillments/{row['id']}/update_tracking.json", body)

    def cancel_fulfillment(self) -> None:
        if row := self.pick_fulfillment():
            self.call("POST", f"fulfillments/{row['id']}/cancel.json", {})

    def add_tracking_event(self) -> None:
        if row := self.pick_fulfillment():
            status = self._chance.choice(["in_transit", "out_for_delivery", "delivered"])
            path = f"orders/{row['order_id']}/fulfillments/{row['id']}/events"
            response = self.call("POST", f"{path}.json", {"event": {"status": status}})
            if response and self._chance.random() < 0.5:
                self.call("DELETE", f"{path}/{next(iter(response.values()))['id']}.json")

    # --- metafields

    def write_metafield(self) -> None:
        plural = self._chance.choice(["products", "customers", "orders"])
        if not (owner := self.pick_order() if plural == "orders" else self.pick(plural)):
            return
        path = f"{plural}/{owner['id']}/metafields"
        response = self.call("GET", f"{path}.json") or {"metafields": []}
        if not response["metafields"] or self._chance.random() < 0.5:
            values = {"namespace": "care", "key": self.word(), "type": "single_line_text_field", "value": "Cold"}
            self.call("POST", f"{path}.json", {"metafield": values})
            return
        row = self._chance.choice(response["metafields"])
        if self._chance.random() < 0.5:
            self.call("PUT", f"{path}/{row['id']}.json", {"metafield": {"value": self.word()}})
        else:
            self.call("DELETE", f"{path}/{row['id']}.json")


CHOICES = [
    Choice(RandomWriter.create_product, 6),
    Choice(RandomWriter.change_product, 4),
    Choice(RandomWriter.delete_product, 1),
    Choice(RandomWriter.create_variant, 2),
    Choice(RandomWriter.change_variant, 3),
    Choice(RandomWriter.delete_variant, 1),
    Choice(RandomWriter.set_stock, 5),
    Choice(RandomWriter.adjust_stock, 8),
    Choice(RandomWriter.connect_level, 2),
    Choice(RandomWriter.delete_level, 1),
    Choice(RandomWriter.change_item, 2),
    Choice(RandomWriter.create_collection, 1),
    Choice(RandomWriter.add_to_collection, 2),
    Choice(RandomWriter.remove_from_collection, 1),
    Choice(RandomWriter.create_customer, 4),
    Choice(RandomWriter.change_customer, 3),
    Choice(RandomWriter.invite_customer, 1),
    Choice(RandomWriter.delete_customer, 1),
    Choice(RandomWriter.add_address, 2),
    Choice(RandomWriter.choose_address, 2),
    Choice(RandomWriter.create_order, 10),
    Choice(RandomWriter.change_order, 3),
    Choice(RandomWriter.move_order, 1),
    Choice(RandomWriter.act_on_order, 2),
    Choice(RandomWriter.delete_order, 1),
    Choice(RandomWriter.pay_order, 4),
    Choice(RandomWriter.refund_order, 4),
    Choice(RandomWriter.fulfill_order, 8),
    Choice(RandomWriter.hold_order, 1),
    Choice(RandomWriter.track, 3),
    Choice(RandomWriter.cancel_fulfillment, 1),
    Choice(RandomWriter.add_tracking_event, 3),
    Choice(RandomWriter.write_metafield, 8),
]
