"""Whatever is done in whatever order, sums, stock, events and what is shown agree after each step.

Hypothesis makes the histories: orders of goods that are in stock and of others, payments, refunds, cancellations,
changes, deletions, counts of stock, changes of the catalog. Rule: reliability, M17. The short form runs with the suite
and always tries the same; ``make soak`` tries anew, at length.
"""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from apps.api.rows import render_cache
from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.inventory.models import InventoryLevel
from apps.jobs.domain import consistency_checks
from apps.orders.domain import order_customers, payments, stock_reservation
from apps.orders.models import Order, Transaction
from apps.shops.models import Shop
from tests.api.conftest import everything_stored
from tests.conftest import ApiClient, Response
from tests.machine import soaked

_COMMON: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    "print_blob": True,
}
SHORT = settings(max_examples=4, stateful_step_count=16, derandomize=True, phases=[Phase.generate], **_COMMON)
LONG = settings(max_examples=soaked(200), stateful_step_count=50, **_COMMON)
BOTH = pytest.mark.parametrize(
    "how",
    [pytest.param(SHORT, id="short"), pytest.param(LONG, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(0)])],
)

BUYERS = ("ada@example.com", "bob@example.com", None)
BEHAVIOURS = ("bypass", "decrement_ignoring_policy", "decrement_obeying_policy")
PLACES = st.integers(0, 7)
UNITS = st.integers(1, 3)
Body = dict[str, Any]


class Histories(RuleBasedStateMachine):
    """A shop of three goods whose stock is counted here, too; every step is a request."""

    api: ApiClient
    shop: Shop

    def __init__(self) -> None:
        super().__init__()
        self._whole = transaction.atomic()
        self._whole.__enter__()
        self.orders: list[int] = []
        self.deleted: list[int] = []
        # What there should be of each variant's item, and what each order took.
        self.stock: dict[int, int] = {}
        self.taken: dict[int, dict[int, int]] = {}
        self.seen: dict[int, tuple[tuple[int, int], bytes]] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self._whole.__exit__(None, None, None)
        render_cache.cache.clear()

    # --- asking ---

    def _done(self, answer: Response) -> Any:
        """What was answered; None where it was refused, which changes nothing."""
        assert answer.status_code in {200, 201, 422}, answer.content
        return answer.json() if answer.status_code < 300 else None

    def _post(self, path: str, body: Body) -> Any:
        before = everything_stored()
        answer = self._done(self.api.post(path, body))
        assert answer is not None or everything_stored() == before
        return answer

    def _order(self, place: int) -> int | None:
        return self.orders[place % len(self.orders)] if self.orders else None

    # --- steps ---

    @initialize()
    def open(self) -> None:
        """Sold while there is some; sold beyond; not counted."""
        goods = [
            {"option1": "Counted", "price": "10.00", "inventory_management": "own"},
            {"option1": "Beyond", "price": "3.33", "inventory_management": "own", "inventory_policy": "continue"},
            {"option1": "Endless", "price": "0.99"},
        ]
        body = {"product": {"title": "Mug", "options": [{"name": "Kind"}], "variants": goods}}
        made = self._post("products.json", body)["product"]
        self.product, self.variants = made["id"], made["variants"]
        self.location = self.api.get("locations.json").json()["locations"][0]["id"]
        for variant in self.variants[:2]:
            self._set(variant["inventory_item_id"], 5)
        rules = [{"column": "variant_inventory", "relation": "greater_than", "condition": "3"}]
        self._post("smart_collections.json", {"smart_collection": {"title": "Plenty", "rules": rules}})

    def _set(self, item: int, available: int) -> None:
        body = {"location_id": self.location, "inventory_item_id": item, "available": available}
        if self._post("inventory_levels/set.json", body):
            self.stock[item] = available

    @rule(
        lines=st.lists(st.tuples(st.integers(0, 2), UNITS), min_size=1, max_size=3),
        buyer=st.sampled_from(BUYERS),
        behaviour=st.sampled_from(BEHAVIOURS),
        shipping=st.sampled_from(["0.00", "5.00"]),
        paid=st.sampled_from(["sale", "authorization", None]),
    )
    def order(
        self, lines: list[tuple[int, int]], buyer: str | None, behaviour: str, shipping: str, paid: str | None
    ) -> None:
        wanted = [{"variant_id": self.variants[place]["id"], "quantity": units} for place, units in lines]
        body: Body = {
            "line_items": wanted,
            "inventory_behaviour": behaviour,
            "shipping_lines": [{"title": "Post", "price": shipping}],
            "email": buyer,
            "transactions": [{"kind": paid, "amount": "1.00"}] if paid else [],
        }
        made = self._post("orders.json", {"order": body})
        if made is None:
            return
        self.orders.append(made["order"]["id"])
        taken: dict[int, int] = {}
        for place, units in lines:
            item = self.variants[place]["inventory_item_id"]
            if behaviour != "bypass" and item in self.stock:
                taken[item] = taken.get(item, 0) + units
        for item, units in taken.items():
            self.stock[item] -= units
        self.taken[made["order"]["id"]] = taken

    @rule(
        place=PLACES,
        kind=st.sampled_from(["sale", "authorization", "capture", "void"]),
        amount=st.sampled_from([None, "0.01", "4.00", "10000.00"]),
        status=st.sampled_from(["success", "success", "pending", "failure"]),
    )
    def pay(self, place: int, kind: str, amount: str | None, status: str) -> None:
        order = self._order(place)
        if order is not None:
            told = {"kind": kind, "status": status} | ({"amount": amount} if amount else {})
            self._post(f"orders/{order}/transactions.json", {"transaction": told})

    @rule(place=PLACES, restock=st.booleans())
    def cancel(self, place: int, restock: bool) -> None:
        order = self._order(place)
        if order is None or self._post(f"orders/{order}/cancel.json", {"restock": restock}) is None:
            return
        for item, units in self.taken.pop(order).items():
            self.stock[item] += units if restock else 0

    @rule(
        place=PLACES,
        line=PLACES,
        units=UNITS,
        restock=st.booleans(),
        money=st.sampled_from(["suggested", "suggested", "0.01", None]),
    )
    def refund(self, place: int, line: int, units: int, restock: bool, money: str | None) -> None:
        order = self._order(place)
        if order is None:
            return
        lines = self.api.get(f"orders/{order}.json").json()["order"]["line_items"]
        body: Body = {
            "restock": restock,
            "refund_line_items": [{"line_item_id": lines[line % len(lines)]["id"], "quantity": units}],
        }
        paybacks: list[Body] = [{"amount": money}] if money else []
        if money == "suggested":
            found = self._post(f"orders/{order}/refunds/calculate.json", {"refund": body})
            paybacks = found["refund"]["transactions"] if found else []
        made = self._post(f"orders/{order}/refunds.json", {"refund": {**body, "transactions": paybacks}})
        for row in made["refund"]["refund_line_items"] if made else ():
            item = self._item_of(row["line_item"]["variant_id"])
            if row["restock_type"] != "no_restock" and item in self.stock:
                self.stock[item] += row["quantity"]
            if item in self.taken.get(order, {}):
                self.taken[order][item] -= row["quantity"]

    def _item_of(self, variant: int) -> int:
        return next(int(each["inventory_item_id"]) for each in self.variants if each["id"] == variant)

    @rule(place=PLACES, step=st.sampled_from(["close", "open"]))
    def archive(self, place: int, step: str) -> None:
        order = self._order(place)
        if order is not None:
            self._post(f"orders/{order}/{step}.json", {})

    @rule(place=PLACES, note=st.sampled_from(["a", "b"]), buyer=st.sampled_from(BUYERS))
    def edit(self, place: int, note: str, buyer: str | None) -> None:
        order = self._order(place)
        if order is None:
            return
        change: Body = {"note": note, "tags": note}
        known = [each["id"] for each in self._customers() if each["email"] == buyer]
        if buyer is None or known:
            change["customer"] = {"id": known[0]} if known else None
        self._done(self.api.put(f"orders/{order}.json", {"order": change}))

    @rule(place=PLACES)
    def delete(self, place: int) -> None:
        order = self._order(place)
        if order is None or self._done(self.api.delete(f"orders/{order}.json")) is None:
            return
        self.orders.remove(order)
        self.deleted.append(order)
        self.seen.pop(order, None)

    @rule(place=st.integers(0, 1), by=st.integers(-2, 3))
    def adjust(self, place: int, by: int) -> None:
        item = self.variants[place]["inventory_item_id"]
        body = {"location_id": self.location, "inventory_item_id": item, "available_adjustment": by}
        if self._post("inventory_levels/adjust.json", body):
            self.stock[item] += by

    @rule(place=st.integers(0, 1), available=st.integers(0, 6))
    def count(self, place: int, available: int) -> None:
        self._set(self.variants[place]["inventory_item_id"], available)

    @rule(place=st.integers(0, 2), price=st.sampled_from(["1.00", "12.34"]), title=st.sampled_from(["Mug", "Cup"]))
    def change_goods(self, place: int, price: str, title: str) -> None:
        self._done(self.api.put(f"variants/{self.variants[place]['id']}.json", {"variant": {"price": price}}))
        self._done(self.api.put(f"products/{self.product}.json", {"product": {"title": title}}))

    # --- what holds after each ---

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
        """A version never falls, what is shown changes with it or the customer's, and sums are those of the parts."""
        kept = {order: self.api.get(f"orders/{order}.json").content for order in self.orders}
        render_cache.cache.clear()
        with shop_scope(self.shop):
            rows = Order.objects.values_list("pk", "version", "customer__version")
            versions = {pk: (version, of_customer or 0) for pk, version, of_customer in rows}
        for order, shown in kept.items():
            version, before = self.seen.get(order, ((0, 0), b""))
            assert self.api.get(f"orders/{order}.json").content == shown
            assert versions[order][0] >= version[0]
            assert shown == before or versions[order] != version
            self.seen[order] = versions[order], shown
        shown_orders = [json.loads(shown)["order"] for shown in kept.values()]
        for each in shown_orders:
            self._adds_up(each)
        buyers = [(each["customer"] or {}).get("id") for each in shown_orders]
        for customer in self._customers():
            assert customer["orders_count"] == buyers.count(customer["id"])

    def _adds_up(self, order: Any) -> None:
        goods = sum(Decimal(line["price"]) * line["quantity"] for line in order["line_items"])
        total = goods + sum(Decimal(line["price"]) for line in order["shipping_lines"])
        with shop_scope(self.shop):
            moved = Transaction.objects.filter(order=order["id"], kind__in=["sale", "capture"], status="success")
            paid = sum(moved.values_list("amount", flat=True), Decimal(0))
            back = Transaction.objects.filter(order=order["id"], kind="refund", status="success")
            given = sum(back.values_list("amount", flat=True), Decimal(0))
        assert Decimal(order["total_price"]) == total
        assert given <= paid <= total
        assert Decimal(order["total_outstanding"]) == Decimal(order["current_total_price"]) - (paid - given)
        if order["cancelled_at"] is None and not order["refunds"]:
            assert Decimal(order["total_outstanding"]) == total - paid

    @invariant()
    def each_order_has_its_events_in_order(self) -> None:
        with shop_scope(self.shop):
            rows = Event.objects.filter(subject_type="orders.order").order_by("id").values_list("subject_id", "topic")
            told: dict[int, list[str]] = {}
            for order, topic in rows:
                told.setdefault(order, []).append(topic)
        assert set(told) == {*self.orders, *self.deleted}
        for order, topics in told.items():
            assert topics[0] == "orders/create"
            assert topics.count("orders/create") == 1
            assert topics.count("orders/cancelled") <= 1
            assert ("orders/delete" in topics[-1:]) == (order in self.deleted)

    def _customers(self) -> list[Any]:
        shown: list[Any] = self.api.get("customers.json").json()["customers"]
        return shown


@pytest.fixture
def histories(api: ApiClient, shop: Shop) -> type[Histories]:
    """The machine in this test's shop."""
    return type("Histories", (Histories,), {"api": api, "shop": shop})


@BOTH
def test_sums_stock_and_events_agree_after_each_step_of_any_history(histories: type[Histories], how: settings) -> None:
    run_state_machine_as_test(histories, settings=how)


@pytest.mark.parametrize(
    ("module", "step"),
    [(order_customers, "add"), (order_customers, "spend"), (stock_reservation, "give_back"), (payments, "count_sold")],
)
def test_a_step_that_is_left_out_is_found(
    histories: type[Histories], monkeypatch: pytest.MonkeyPatch, module: Any, step: str
) -> None:
    def look(machine: Histories) -> None:
        machine.every_check_agrees()
        machine.stock_is_what_was_put_and_taken()
        machine.what_is_shown_is_what_is_stored()
        machine.each_order_has_its_events_in_order()

    def live(machine: Histories) -> None:
        machine.open()
        machine.order([(0, 2)], "ada@example.com", "decrement_obeying_policy", "5.00", None)
        machine.pay(0, "sale", None, "success")
        machine.cancel(0, restock=True)

    sound = histories()
    live(sound)
    look(sound)
    sound.teardown()
    monkeypatch.setattr(module, step, lambda *args, **values: None)
    broken = histories()
    live(broken)
    with pytest.raises(AssertionError):
        look(broken)
    broken.teardown()
