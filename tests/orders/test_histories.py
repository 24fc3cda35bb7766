"""Stateful tests: after each step, totals, stock, events and responses are consistent.

Hypothesis generates the steps: orders with tracked and untracked products, payments, refunds, cancellations, changes,
deletions, inventory counts and catalog changes.
"""

import json
from decimal import Decimal
from types import ModuleType

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from apps.core.events.models import Event
from apps.core.jobs import consistency_checks
from apps.core.rest.reading import render_cache
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.inventory.models import InventoryLevel
from apps.orders.domain import customer_totals, payments, stock_reservation
from apps.orders.models import Order, Transaction
from tests.support.api_client import ApiClient, Response
from tests.support.stateful import ShopMachine, parametrize_settings
from tests.support.types import JsonObject

BUYERS = ("ada@example.com", "bob@example.com", None)
BEHAVIORS = ("bypass", "decrement_ignoring_policy", "decrement_obeying_policy")
PLACES = st.integers(0, 7)
UNITS = st.integers(1, 3)


class Histories(ShopMachine):
    """A shop with a product that has three variants, and the expected quantities. Every step is a request."""

    def __init__(self) -> None:
        super().__init__()
        self.orders: list[int] = []
        self.deleted: list[int] = []
        # The expected quantity of each inventory item, and the quantities that each order has reserved.
        self.stock: dict[int, int] = {}
        self.taken: dict[int, dict[int, int]] = {}
        self.seen: dict[int, tuple[tuple[int, int], bytes]] = {}

    def _is_done(self, response: Response) -> bool:
        assert response.status_code in {200, 422}, response.content
        return response.status_code == 200

    def _order(self, index: int) -> int | None:
        return self.orders[index % len(self.orders)] if self.orders else None

    @initialize()
    def open(self) -> None:
        goods = [
            {"option1": "Counted", "price": "10.00", "inventory_management": "own"},
            {"option1": "Beyond", "price": "3.33", "inventory_management": "own", "inventory_policy": "continue"},
            {"option1": "Endless", "price": "0.99"},
        ]
        body = {"product": {"title": "Mug", "options": [{"name": "Kind"}], "variants": goods}}
        new_body = self.post("products.json", body)["product"]
        self.product, self.variants = new_body["id"], new_body["variants"]
        self.location = self.api.get("locations.json").json()["locations"][0]["id"]
        for variant in self.variants[:2]:
            self._set(variant["inventory_item_id"], 5)
        rules = [{"column": "variant_inventory", "relation": "greater_than", "condition": "3"}]
        self.post("smart_collections.json", {"smart_collection": {"title": "Plenty", "rules": rules}})

    def _set(self, item: int, available: int) -> None:
        body = {"location_id": self.location, "inventory_item_id": item, "available": available}
        if self.post("inventory_levels/set.json", body):
            self.stock[item] = available

    @rule(
        lines=st.lists(st.tuples(st.integers(0, 2), UNITS), min_size=1, max_size=3),
        buyer=st.sampled_from(BUYERS),
        behavior=st.sampled_from(BEHAVIORS),
        shipping=st.sampled_from(["0.00", "5.00"]),
        payment_kind=st.sampled_from(["sale", "authorization", None]),
    )
    def order(
        self, lines: list[tuple[int, int]], buyer: str | None, behavior: str, shipping: str, payment_kind: str | None
    ) -> None:
        expected = [{"variant_id": self.variants[index]["id"], "quantity": units} for index, units in lines]
        body: JsonObject = {
            "line_items": expected,
            "inventory_behaviour": behavior,
            "shipping_lines": [{"title": "Post", "price": shipping}],
            "email": buyer,
            "transactions": [{"kind": payment_kind, "amount": "1.00"}] if payment_kind else [],
        }
        new_body = self.post("orders.json", {"order": body})
        if new_body is None:
            return
        self.orders.append(new_body["order"]["id"])
        taken_units: dict[int, int] = {}
        for index, units in lines:
            item = self.variants[index]["inventory_item_id"]
            if behavior != "bypass" and item in self.stock:
                taken_units[item] = taken_units.get(item, 0) + units
        for item, units in taken_units.items():
            self.stock[item] -= units
        self.taken[new_body["order"]["id"]] = taken_units

    @rule(
        index=PLACES,
        kind=st.sampled_from(["sale", "authorization", "capture", "void"]),
        amount=st.sampled_from([None, "0.01", "4.00", "10000.00"]),
        status=st.sampled_from(["success", "success", "pending", "failure"]),
    )
    def pay(self, index: int, kind: str, amount: str | None, status: str) -> None:
        order = self._order(index)
        if order is not None:
            reported_transaction = {"kind": kind, "status": status} | ({"amount": amount} if amount else {})
            self.post(f"orders/{order}/transactions.json", {"transaction": reported_transaction})

    @rule(index=PLACES, restock=st.booleans())
    def cancel(self, index: int, restock: bool) -> None:
        order = self._order(index)
        if order is None or self.post(f"orders/{order}/cancel.json", {"restock": restock}) is None:
            return
        for item, units in self.taken.pop(order).items():
            self.stock[item] += units if restock else 0

    @rule(
        index=PLACES,
        line=PLACES,
        units=UNITS,
        restock=st.booleans(),
        money=st.sampled_from(["suggested", "suggested", "0.01", None]),
    )
    def refund(self, index: int, line: int, units: int, restock: bool, money: str | None) -> None:
        order = self._order(index)
        if order is None:
            return
        lines = self.api.get(f"orders/{order}.json").json()["order"]["line_items"]
        body: JsonObject = {
            "restock": restock,
            "refund_line_items": [{"line_item_id": lines[line % len(lines)]["id"], "quantity": units}],
        }
        paybacks: list[JsonObject] = [{"amount": money}] if money else []
        if money == "suggested":
            results = self.post(f"orders/{order}/refunds/calculate.json", {"refund": body})
            paybacks = results["refund"]["transactions"] if results else []
        new_body = self.post(f"orders/{order}/refunds.json", {"refund": {**body, "transactions": paybacks}})
        for row in new_body["refund"]["refund_line_items"] if new_body else ():
            item = self._item_of(row["line_item"]["variant_id"])
            if row["restock_type"] != "no_restock" and item in self.taken.get(order, {}):
                self.stock[item] += row["quantity"]
            if item in self.taken.get(order, {}):
                self.taken[order][item] -= row["quantity"]

    def _item_of(self, variant: int) -> int:
        return next(int(row["inventory_item_id"]) for row in self.variants if row["id"] == variant)

    @rule(index=PLACES, step=st.sampled_from(["close", "open"]))
    def archive(self, index: int, step: str) -> None:
        order = self._order(index)
        if order is not None:
            self.post(f"orders/{order}/{step}.json", {})

    @rule(index=PLACES, note=st.sampled_from(["a", "b"]), buyer=st.sampled_from(BUYERS))
    def edit(self, index: int, note: str, buyer: str | None) -> None:
        order = self._order(index)
        if order is None:
            return
        change: JsonObject = {"note": note, "tags": note}
        ids = [item["id"] for item in self._customers() if item["email"] == buyer]
        if buyer is None or ids:
            change["customer"] = {"id": ids[0]} if ids else None
        self._is_done(self.api.put(f"orders/{order}.json", {"order": change}))

    @rule(index=PLACES)
    def delete(self, index: int) -> None:
        order = self._order(index)
        if order is None or not self._is_done(self.api.delete(f"orders/{order}.json")):
            return
        self.orders.remove(order)
        self.deleted.append(order)
        self.seen.pop(order, None)

    @rule(index=st.integers(0, 1), by=st.integers(-2, 3))
    def adjust(self, index: int, by: int) -> None:
        item = self.variants[index]["inventory_item_id"]
        body = {"location_id": self.location, "inventory_item_id": item, "available_adjustment": by}
        if self.post("inventory_levels/adjust.json", body):
            self.stock[item] += by

    @rule(index=st.integers(0, 1), available=st.integers(0, 6))
    def count(self, index: int, available: int) -> None:
        self._set(self.variants[index]["inventory_item_id"], available)

    @rule(index=st.integers(0, 2), price=st.sampled_from(["1.00", "12.34"]), title=st.sampled_from(["Mug", "Cup"]))
    def change_goods(self, index: int, price: str, title: str) -> None:
        self._is_done(self.api.put(f"variants/{self.variants[index]['id']}.json", {"variant": {"price": price}}))
        self._is_done(self.api.put(f"products/{self.product}.json", {"product": {"title": title}}))

    # --- invariants ---

    @invariant()
    def every_check_agrees(self) -> None:
        assert list(consistency_checks.find_differences()) == []

    @invariant()
    def stock_is_what_was_put_and_taken(self) -> None:
        with shop_scope(self.shop):
            levels = dict(InventoryLevel.objects.filter(item__in=self.stock).values_list("item_id", "available"))
        assert levels == self.stock

    @invariant()
    def what_is_shown_is_what_is_stored(self) -> None:
        """Check that versions never decrease, that each change increases a version, and that totals add up."""
        bodies = {order: self.api.get(f"orders/{order}.json").content for order in self.orders}
        render_cache.cache.clear()
        with shop_scope(self.shop):
            rows = Order.objects.values_list("pk", "version", "customer__version")
            versions = {pk: (version, of_customer or 0) for pk, version, of_customer in rows}
        for order, body in bodies.items():
            version, before = self.seen.get(order, ((0, 0), b""))
            assert self.api.get(f"orders/{order}.json").content == body
            assert versions[order][0] >= version[0]
            assert body == before or versions[order] != version
            self.seen[order] = versions[order], body
        shown_orders = [json.loads(body)["order"] for body in bodies.values()]
        for shown_order in shown_orders:
            self._adds_up(shown_order)
        buyers = [(shown_order["customer"] or {}).get("id") for shown_order in shown_orders]
        for customer in self._customers():
            assert customer["orders_count"] == buyers.count(customer["id"])

    def _adds_up(self, order: JsonObject) -> None:
        goods = sum(Decimal(line["price"]) * line["quantity"] for line in order["line_items"])
        total = goods + sum(Decimal(line["price"]) for line in order["shipping_lines"])
        with shop_scope(self.shop):
            moved = Transaction.objects.filter(order=order["id"], kind__in=["sale", "capture"], status="success")
            paid_count = sum(moved.values_list("amount", flat=True), Decimal(0))
            back = Transaction.objects.filter(order=order["id"], kind="refund", status="success")
            input_count = sum(back.values_list("amount", flat=True), Decimal(0))
        assert Decimal(order["total_price"]) == total
        assert input_count <= paid_count <= total
        assert Decimal(order["total_outstanding"]) == Decimal(order["current_total_price"]) - (paid_count - input_count)
        if order["cancelled_at"] is None and not order["refunds"]:
            assert Decimal(order["total_outstanding"]) == total - paid_count

    @invariant()
    def each_order_has_its_events_in_order(self) -> None:
        with shop_scope(self.shop):
            rows = Event.objects.filter(subject_type="orders.order").order_by("id").values_list("subject_id", "topic")
            messages: dict[int, list[str]] = {}
            for order, topic in rows:
                messages.setdefault(order, []).append(topic)
        assert set(messages) == {*self.orders, *self.deleted}
        for order, topics in messages.items():
            assert (topics[0], topics.count("orders/create")) == ("orders/create", 1)
            assert topics.count("orders/cancelled") <= 1
            assert ("orders/delete" in topics[-1:]) == (order in self.deleted)

    def _customers(self) -> list[JsonObject]:
        customers: list[JsonObject] = self.api.get("customers.json").json()["customers"]
        return customers


@pytest.fixture
def histories(api: ApiClient, shop: Shop) -> type[Histories]:
    return type("Histories", (Histories,), {"api": api, "shop": shop})


@parametrize_settings(16)
def test_sums_stock_and_events_agree_after_each_step_of_any_history(histories: type[Histories], how: settings) -> None:
    run_state_machine_as_test(histories, settings=how)


@pytest.mark.parametrize(
    ("module", "step"),
    [
        (customer_totals, "add_orders_to_customers"),
        (customer_totals, "update_total_spent"),
        (stock_reservation, "return_order_stock"),
        (payments, "count_sold_units"),
    ],
)
def test_omitted_steps_are_found(
    histories: type[Histories], monkeypatch: pytest.MonkeyPatch, module: ModuleType, step: str
) -> None:
    def live_and_look() -> None:
        machine = histories()
        machine.open()
        try:
            machine.order([(0, 2)], "ada@example.com", "decrement_obeying_policy", "5.00", None)
            machine.pay(0, "sale", None, "success")
            machine.cancel(0, restock=True)
        except AssertionError as error:
            machine.teardown()
            raise RuntimeError("the workflow fails without the step") from error
        try:
            machine.every_check_agrees()
            machine.stock_is_what_was_put_and_taken()
            machine.what_is_shown_is_what_is_stored()
            machine.each_order_has_its_events_in_order()
        finally:
            machine.teardown()

    live_and_look()
    monkeypatch.setattr(module, step, lambda *args, **values: [])
    with pytest.raises(AssertionError):
        live_and_look()
