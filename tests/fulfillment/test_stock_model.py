"""Random tests: fulfilling and canceling, with refunds, returns, edits and moves between, agree with a model.

Each step is a request, except edits, which the API does not have. The model (``tests/model/stock_model.py``) shares
no code with the product.
"""

from collections import Counter
from random import Random

import pytest
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from tests.model.stock_model import StockModel
from tests.support.api_client import ApiClient
from tests.support.factories.inventory import get_first_location, make_location, set_stock
from tests.support.factories.orders import make_variant
from tests.support.timing import scale_for_soak
from tests.support.types import Json, JsonObject

BEHAVIORS = ("decrement_obeying_policy", "decrement_ignoring_policy", "bypass")
STEPS = ("fulfill", "fulfill", "take_back", "move", "edit_out", "edit_in", "refund", "refund")
# These checks agree with the model. Other checks compare columns that the factories do not set.
CHECKS = consistency_checks.consistency_checks.keys() - {"lowest prices", "units sold"}
# The maximum quantity of a step.
MAX_QUANTITY = 2


class OrderHistory:
    """An order of two variants in a shop with three locations, with its model. Each step is compared with the model."""

    def __init__(self, api: ApiClient, shop: Shop, random: Random, behavior: str) -> None:
        self.api, self.random, self.log = api, random, [""]
        self.locations = [get_first_location(shop), *(make_location(shop, name=name) for name in ("North", "South"))]
        variants = [make_variant(shop, stock=0, sku=sku) for sku in ("MUG-1", "MUG-2")]
        self.items = {variant.inventory_item_id: variant.pk for variant in variants}
        stock: Counter[tuple[int, int]] = Counter()
        for variant in variants:
            for location in self.locations:
                # Some locations do not have enough stock for a whole line item.
                stock[variant.pk, location.pk] = random.choice((4, 20))
                set_stock(variant.inventory_item, location, stock[variant.pk, location.pk])
        self.model = StockModel(takes_stock=behavior != "bypass", stock=stock, variants={})
        lines = [{"variant_id": variant.pk, "quantity": random.randint(3, 8)} for variant in variants]
        body = {"line_items": lines, "inventory_behaviour": behavior}
        self.order = self.post("orders.json", {"order": body})["order"]["id"]
        self.route()
        self.check()

    def post(self, path: str, body: object = None) -> Json:
        response = self.api.post(path, body)
        assert response.status_code in {200, 201}, (self.log, path, body, response.content)
        return response.json()

    def get_fulfillment_orders(self) -> list[JsonObject]:
        rows: list[JsonObject] = self.api.get(f"orders/{self.order}/fulfillment_orders.json").json()[
            "fulfillment_orders"
        ]
        return rows

    def get_lines(self) -> list[JsonObject]:
        lines: list[JsonObject] = self.api.get(f"orders/{self.order}.json").json()["order"]["line_items"]
        return lines

    def route(self) -> None:
        """Route new items. The product chooses their locations."""
        routing.route_order(self.order, at=timezone.now())
        variants = {line["id"]: line["variant_id"] for line in self.get_lines()}
        for row in self.get_fulfillment_orders():
            for line in row["line_items"] if row["id"] not in self.model.waiting else ():
                pk, count = line["line_item_id"], line["fulfillable_quantity"]
                self.model.order(pk, variants[pk], row["id"], row["assigned_location_id"], count)

    def choose_waiting(self, action: str) -> tuple[JsonObject, JsonObject, int] | None:
        """Choose a fulfillment order that allows an action, one of its lines, and a quantity."""
        pairs = [
            (row, line)
            for row in self.get_fulfillment_orders()
            for line in row["line_items"]
            if action in row["supported_actions"] and line["fulfillable_quantity"]
        ]
        if not pairs:
            return None
        row, line = self.random.choice(pairs)
        return row, line, self.random.randint(1, min(line["fulfillable_quantity"], MAX_QUANTITY))

    def choose_line(self, limits: dict[int, int]) -> tuple[int, int] | None:
        """Choose a line item and a quantity up to its limit."""
        lines = [line for line, limit in sorted(limits.items()) if limit > 0]
        if not lines:
            return None
        line = self.random.choice(lines)
        return line, self.random.randint(1, min(limits[line], MAX_QUANTITY))

    def fulfill(self) -> None:
        if not (chosen := self.choose_waiting("create_fulfillment")):
            return
        row, line, quantity = chosen
        units = [{"id": line["id"], "quantity": quantity}]
        part = {"fulfillment_order_id": row["id"], "fulfillment_order_line_items": units}
        body = {"fulfillment": {"line_items_by_fulfillment_order": [part]}}
        fulfillment = self.post("fulfillments.json", body)["fulfillment"]["id"]
        self.model.fulfill(row["id"], line["line_item_id"], quantity, fulfillment)

    def take_back(self) -> None:
        if not self.model.sent:
            return
        fulfillment = self.random.choice(sorted(self.model.sent))
        known = {row["id"] for row in self.get_fulfillment_orders()}
        self.post(f"fulfillments/{fulfillment}/cancel.json")
        new = [row["id"] for row in self.get_fulfillment_orders() if row["id"] not in known]
        self.model.take_back(fulfillment, new[0] if new else 0)

    def move(self) -> None:
        if not (chosen := self.choose_waiting("move")):
            return
        row, line, quantity = chosen
        target = self.random.choice([pk for at in self.locations if (pk := at.pk) != row["assigned_location_id"]])
        units = [{"id": line["id"], "quantity": quantity}]
        body = {"fulfillment_order": {"new_location_id": target, "fulfillment_order_line_items": units}}
        moved = self.post(f"fulfillment_orders/{row['id']}/move.json", body)["moved_fulfillment_order"]["id"]
        self.model.move(row["id"], line["line_item_id"], quantity, target, moved)

    def edit(self, line: int, change: int) -> bool:
        current = {row["id"]: row["current_quantity"] for row in self.get_lines()}
        order_edit = OrderEdit({line: LineEdit(current[line] + change)})
        try:
            edit_lines.edit_lines(Order(pk=self.order), order_edit, actor="staff:1", at=timezone.now())
        except DomainError:
            return False
        return True

    def edit_out(self) -> None:
        limits = {line: min(count, self.model.count_waiting(line)) for line, count in self.model.current.items()}
        if chosen := self.choose_line(limits):
            line, quantity = chosen
            assert self.edit(line, -quantity), self.log
            self.model.edit_out(line, quantity)

    def edit_in(self) -> None:
        """Add items, which is refused if the order obeys the policy of a variant that is out of stock."""
        if len(self.model.variants) < 4 and self.edit(self.random.choice(sorted(self.model.variants)), 1):
            self.route()

    def refund(self) -> None:
        kind = self.random.choice(("cancel", "return", "no_restock"))
        count = {"cancel": self.model.count_waiting, "return": self.model.count_at_customer}.get(kind)
        refundable = self.model.refundable.items()
        limits = {line: min(most, count(line)) if count else most for line, most in refundable}
        if not (chosen := self.choose_line(limits)):
            return
        line, quantity = chosen
        location = self.random.choice(self.locations).pk
        row = {"line_item_id": line, "quantity": quantity, "restock_type": kind}
        row |= {} if kind == "no_restock" else {"location_id": location}
        self.post(f"orders/{self.order}/refunds.json", {"refund": {"refund_line_items": [row]}})
        self.model.refund(line, quantity, kind, location)

    def cancel(self) -> None:
        """Cancel the order if nothing is sent."""
        if not self.model.sent and self.model.may_restock_all():
            self.post(f"orders/{self.order}/cancel.json", {"restock": True})
            self.model.cancel(restock=True)
            self.check()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            name = self.random.choice(STEPS)
            self.log.append(name)
            getattr(self, name)()
            self.check()
        self.cancel()
        assert list(consistency_checks.find_differences(CHECKS)) == []

    def check(self) -> None:
        waiting = {
            row["id"]: units
            for row in self.get_fulfillment_orders()
            if (
                units := {
                    x["line_item_id"]: x["fulfillable_quantity"] for x in row["line_items"] if x["fulfillable_quantity"]
                }
            )
        }
        assert waiting == self.model.waiting_items, self.log
        columns = ("current_quantity", "fulfillable_quantity", "fulfillment_status")
        shown = {line["id"]: tuple(line[column] for column in columns) for line in self.get_lines()}
        for line in self.model.variants:
            quantities = self.model.current[line], self.model.count_waiting(line)
            assert shown[line] == (*quantities, self.model.get_line_status(line)), self.log
        levels = self.api.get("inventory_levels.json", inventory_item_ids=",".join(map(str, self.items))).json()
        stock = {
            (self.items[row["inventory_item_id"]], row["location_id"]): row["available"]
            for row in levels["inventory_levels"]
        }
        assert stock == dict(self.model.stock), self.log


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("seed", range(3))
def test_fulfillable_quantities_and_stock_agree_with_a_model(
    seed: int, behavior: str, api: ApiClient, in_shop: Shop
) -> None:
    OrderHistory(api, in_shop, Random(seed), behavior).run(30)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_fulfillable_quantities_and_stock_agree_with_a_model_for_long(api: ApiClient, in_shop: Shop) -> None:
    start = Random().randrange(10**9)
    for seed in range(start, start + scale_for_soak(500)):
        print(f"seed {seed}")  # noqa: T201
        OrderHistory(api, in_shop, Random(seed), BEHAVIORS[seed % len(BEHAVIORS)]).run(60)
