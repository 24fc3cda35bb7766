"""Whatever is done in whatever order to orders, fulfillment orders, fulfillments and stock, units are conserved.

Hypothesis makes the histories; what is refused must change nothing. Rule: reliability, M17. The short form runs with
the suite and always tries the same; ``make soak`` tries anew, at length.
"""

from datetime import datetime
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from apps.api.rows import render_cache
from apps.fulfillment.domain import reconciliation, routing, states
from apps.fulfillment.domain.states import get_manager
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.ground.tenancy import shop_scope
from apps.inventory.models import InventoryLevel
from apps.orders.models import LineItem, Order
from apps.shops.models import Shop
from tests.api.conftest import everything_stored
from tests.conftest import ApiClient
from tests.fulfillment.factories import make_service
from tests.inventory.factories import make_location
from tests.machine import soaked
from tests.orders.factories import make_variant

_COMMON: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    "print_blob": True,
}
SHORT = settings(max_examples=4, stateful_step_count=18, derandomize=True, phases=[Phase.generate], **_COMMON)
LONG = settings(max_examples=soaked(200), stateful_step_count=50, **_COMMON)
BOTH = pytest.mark.parametrize(
    "how",
    [pytest.param(SHORT, id="short"), pytest.param(LONG, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(0)])],
)
NEXT = "2031-03-02T12:00:00Z"
# By action of ``supported_actions``: the end of the path, and the body but for lines.
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


class Histories(RuleBasedStateMachine):
    """A shop with two locations of its own and a service; every step is a request of an app with every scope."""

    api: ApiClient
    shop: Shop

    def __init__(self) -> None:
        super().__init__()
        self._whole = transaction.atomic()
        self._whole.__enter__()
        self.orders: list[int] = []

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self._whole.__exit__(None, None, None)
        render_cache.cache.clear()

    def _post(self, path: str, body: Any = None) -> Any:
        before = everything_stored()
        answer = self.api.post(path, body)
        assert answer.status_code in {200, 201, 422}, (path, answer.content)
        assert answer.status_code < 300 or everything_stored() == before
        return answer.json() if answer.status_code < 300 else None

    def _row(self, place: int) -> FulfillmentOrder | None:
        rows = list(FulfillmentOrder.objects.select_related("assigned_location").order_by("pk"))
        return rows[place * len(rows) // 10] if rows else None

    @initialize()
    def open(self) -> None:
        service = make_service(self.api.installation.app)
        self.other = make_location(self.shop, name="Depot").pk
        self.service = service.location_id
        self.variants = [make_variant(self.shop, stock=6).pk, make_variant(self.shop, sku="FREE-1").pk]
        self.handle = service.handle
        self.total = self._stock()

    def _stock(self) -> int:
        taken = sum(sum(line.taken_from.values()) for line in LineItem.objects.all())
        return taken + int(InventoryLevel.objects.aggregate(all=Sum("available"))["all"] or 0)

    @rule(units=st.lists(st.integers(1, 3), min_size=1, max_size=3), at_service=st.booleans(), later=st.booleans())
    def order(self, units: list[int], at_service: bool, later: bool) -> None:
        handle = {"fulfillment_service": self.handle} if at_service else {}
        lines = [
            {"variant_id": self.variants[place % 2], "quantity": count, **(handle if place == 0 else {})}
            for place, count in enumerate(units)
        ]
        behaviour = "decrement_ignoring_policy"
        body = {"line_items": lines, "inventory_behaviour": behaviour, **({"fulfill_at": NEXT} if later else {})}
        made = self._post("orders.json", {"order": body})
        self.orders.append(made["order"]["id"])
        due = datetime.fromisoformat(NEXT) if later else None
        routing.route_order(self.orders[-1], at=timezone.now(), fulfill_at=due)

    @rule(place=PLACES, action=st.sampled_from(sorted(ACTIONS)), units=UNITS, far=st.booleans())
    def act(self, place: int, action: str, units: int, far: bool) -> None:
        row = self._row(place)
        if row is None:
            return
        end, body = ACTIONS[action]
        line = row.lines.order_by("pk").first()
        if body is not None:
            name = next(iter(body))
            named = [{"id": line.pk, "quantity": units}] if units and line else []
            body = {name: {**body[name], "fulfillment_order_line_items": named}}
            if action == "move":
                body[name]["new_location_id"] = self.service if far else self.other
        supported = states.get_supported_actions(
            (row.status, row.request_status), get_manager(at_service=row.assigned_location.legacy)
        )
        done = self._post(f"fulfillment_orders/{row.pk}/{end}.json", body)
        # What is not supported never succeeds; what is may still fail for the units or the location that are named.
        assert done is None or action in supported
        if action in supported and not units and action != "move":
            assert done is not None

    @rule(place=PLACES, units=UNITS)
    def send(self, place: int, units: int) -> None:
        row = self._row(place)
        if row is None:
            return
        line = row.lines.order_by("pk").first()
        named = [{"id": line.pk, "quantity": units}] if units and line else []
        part = {"fulfillment_order_id": row.pk, "fulfillment_order_line_items": named}
        self._post("fulfillments.json", {"fulfillment": {"line_items_by_fulfillment_order": [part]}})

    @rule(place=PLACES)
    def take_back(self, place: int) -> None:
        row = self._row(place)
        sent = row and row.sent_lines.order_by("pk").first()
        if sent:
            self._post(f"fulfillments/{sent.fulfillment_id}/cancel.json")

    @rule(place=PLACES, restock=st.booleans())
    def cancel(self, place: int, restock: bool) -> None:
        if self.orders:
            self._post(f"orders/{self.orders[place % len(self.orders)]}/cancel.json", {"restock": restock})

    @invariant()
    def units_are_conserved(self) -> None:
        assert [
            *reconciliation.find_wrong_fulfillable_quantities(),
            *reconciliation.find_wrong_fulfilled_quantities(),
        ] == []
        rows = FulfillmentOrderLine.objects.values("line_item")
        given = {
            row["line_item"]: (row["left"], row["sent"])
            for row in rows.annotate(left=Sum("fulfillable_quantity"), sent=Sum("fulfilled_quantity")).order_by()
        }
        for line in LineItem.objects.all():
            assert given.get(line.pk, (0, 0)) == (line.fulfillable_quantity, line.fulfilled_quantity)
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
            sent = sum(line.fulfilled_quantity for line in lines)
            left = sum(line.fulfillable_quantity for line in lines)
            if order.cancelled_at is None:
                expected = "" if not sent else "partial" if left else "fulfilled"
                assert order.fulfillment_status == expected


@BOTH
def test_whatever_is_done_units_are_conserved(how: settings, api: ApiClient, shop: Shop) -> None:
    class Here(Histories):
        pass

    Here.api, Here.shop = api, shop
    with shop_scope(shop):
        run_state_machine_as_test(Here, settings=how)
