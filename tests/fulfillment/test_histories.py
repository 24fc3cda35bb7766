"""Stateful tests: any sequence of changes to orders, fulfillments and stock conserves the quantities.

Hypothesis generates the steps; a refused step must change nothing.
"""

from datetime import datetime
from typing import Any

from django.db.models import F, Sum
from django.utils import timezone
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from apps.core.tenancy.models import Shop
from apps.fulfillment.domain.fulfillment_orders import routing, states
from apps.fulfillment.domain.fulfillment_orders.states import get_manager
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.inventory.models import InventoryLevel
from apps.orders.models import LineItem, Order
from tests.support.api_client import ApiClient
from tests.support.factories.fulfillment import find_wrong_quantities, make_service
from tests.support.factories.inventory import make_location
from tests.support.factories.orders import make_variant
from tests.support.stateful import ShopMachine, parametrize_settings

NEXT = "2031-03-02T12:00:00Z"
# The path suffix and the body (without line items) of each action in ``supported_actions``.
ACTIONS: dict[str, tuple[str, Any]] = {
    "request_fulfillment": ("fulfillment_request", {"fulfillment_request": {}}),
    "accept_fulfillment_request": ("fulfillment_request/accept", None),
    "reject_fulfillment_request": ("fulfillment_request/reject", None),
    "request_cancellation": ("cancellation_request", None),
    "accept_cancellation_request": ("cancellation_request/accept", None),
    "reject_cancellation_request": ("cancellation_request/reject", None),
    "cancel_fulfillment_order": ("cancel", None),
    "close": ("close", None),
    "move": ("move", {"fulfillment_order": {}}),
    "hold": ("hold", {"fulfillment_hold": {"reason": "other"}}),
    "release_hold": ("release_hold", None),
    "mark_as_open": ("open", None),
    "reschedule": ("reschedule", {"fulfillment_order": {"new_fulfill_at": NEXT}}),
}
PLACES = st.integers(0, 9)
UNITS = st.integers(0, 3)


class Histories(ShopMachine):
    """A shop with two locations and a fulfillment service. Each step is a request from an app with all scopes."""

    def __init__(self) -> None:
        super().__init__()
        self.orders: list[int] = []

    def _row(self, index: int) -> FulfillmentOrder | None:
        rows = list(FulfillmentOrder.objects.select_related("assigned_location").order_by("pk"))
        return rows[index * len(rows) // 10] if rows else None

    @initialize()
    def open(self) -> None:
        service = make_service(self.api.installation.app)
        self.other = make_location(self.shop, name="Depot").pk
        self.service = service.location_id
        self.variants = [make_variant(self.shop, stock=6).pk, make_variant(self.shop, sku="FREE-1").pk]
        self.handle = service.handle
        self.total = self._stock()

    def _stock(self) -> int:
        count = sum(sum(line.taken_from.values()) for line in LineItem.objects.all())
        return count + int(InventoryLevel.objects.aggregate(all=Sum("available"))["all"] or 0)

    @rule(units=st.lists(st.integers(1, 3), min_size=1, max_size=3), at_service=st.booleans(), later=st.booleans())
    def order(self, units: list[int], at_service: bool, later: bool) -> None:
        handle = {"fulfillment_service": self.handle} if at_service else {}
        lines = [
            {"variant_id": self.variants[index % 2], "quantity": count, **(handle if index == 0 else {})}
            for index, count in enumerate(units)
        ]
        behavior = "decrement_ignoring_policy"
        body = {"line_items": lines, "inventory_behaviour": behavior, **({"fulfill_at": NEXT} if later else {})}
        new_body = self.post("orders.json", {"order": body})
        self.orders.append(new_body["order"]["id"])
        due_rows = datetime.fromisoformat(NEXT) if later else None
        routing.route_order(self.orders[-1], at=timezone.now(), fulfill_at=due_rows)

    @rule(index=PLACES, action=st.sampled_from(sorted(ACTIONS)), units=UNITS, far=st.booleans())
    def act(self, index: int, action: str, units: int, far: bool) -> None:
        row = self._row(index)
        if row is None:
            return
        end, body = ACTIONS[action]
        line = row.lines.order_by("pk").first()
        if body is not None:
            name = next(iter(body))
            line_items = [{"id": line.pk, "quantity": units}] if units and line else []
            body = {name: {**body[name], "fulfillment_order_line_items": line_items}}
            if action == "move":
                body[name]["new_location_id"] = self.service if far else self.other
        manager = get_manager(at_service=row.assigned_location.legacy)
        supported = states.get_supported_actions((row.status, row.request_status), manager)
        result = self.post(f"fulfillment_orders/{row.pk}/{end}.json", body)
        # Unsupported actions never succeed. Supported actions may still fail because of the quantities or the location.
        assert result is None or action in supported
        if action in supported and not units and action != "move":
            assert result is not None

    @rule(index=PLACES, units=UNITS)
    def send(self, index: int, units: int) -> None:
        row = self._row(index)
        if row is None:
            return
        line = row.lines.order_by("pk").first()
        line_items = [{"id": line.pk, "quantity": units}] if units and line else []
        part = {"fulfillment_order_id": row.pk, "fulfillment_order_line_items": line_items}
        self.post("fulfillments.json", {"fulfillment": {"line_items_by_fulfillment_order": [part]}})

    @rule(index=PLACES)
    def take_back(self, index: int) -> None:
        row = self._row(index)
        sent_row = row and row.sent_lines.order_by("pk").first()
        if sent_row:
            self.post(f"fulfillments/{sent_row.fulfillment_id}/cancel.json")

    @rule(index=PLACES, restock=st.booleans())
    def cancel(self, index: int, restock: bool) -> None:
        if self.orders:
            self.post(f"orders/{self.orders[index % len(self.orders)]}/cancel.json", {"restock": restock})

    @invariant()
    def units_are_conserved(self) -> None:
        assert find_wrong_quantities() == []
        rows = FulfillmentOrderLine.objects.values("line_item")
        values = {
            row["line_item"]: (row["left"], row["sent"])
            for row in rows.annotate(left=Sum("fulfillable_quantity"), sent=Sum("fulfilled_quantity")).order_by()
        }
        for line in LineItem.objects.all():
            assert values.get(line.pk, (0, 0)) == (line.fulfillable_quantity, line.fulfilled_quantity)
        alive = LineItem.objects.filter(order__cancelled_at=None)
        assert not alive.exclude(quantity=F("fulfillable_quantity") + F("fulfilled_quantity")).exists()

    @invariant()
    def stock_is_where_it_was_taken_or_lies(self) -> None:
        if hasattr(self, "total"):
            assert self._stock() == self.total

    @invariant()
    def orders_say_how_far_they_are(self) -> None:
        for order in Order.objects.all():
            lines = list(order.line_items.all())
            count = sum(line.fulfilled_quantity for line in lines)
            remaining_count = sum(line.fulfillable_quantity for line in lines)
            if order.cancelled_at is None:
                expected = "" if not count else "partial" if remaining_count else "fulfilled"
                assert order.fulfillment_status == expected


@parametrize_settings(18)
def test_whatever_is_done_units_are_conserved(how: settings, api: ApiClient, in_shop: Shop) -> None:
    run_state_machine_as_test(type("Here", (Histories,), {"api": api, "shop": in_shop}), settings=how)
