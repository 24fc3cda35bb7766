"""Tests for the fulfillment queue: sorting, views, filters, and actions by status."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.admin.actions import ACTIONS
from apps.fulfillment.domain.fulfillment_orders.states import Action, get_manager, get_supported_actions
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentService
from apps.inventory.models import Location
from apps.orders.models import Order
from tests.support import factories
from tests.support.factories.fulfillment import make_fulfillment_order, make_service, set_status
from tests.support.factories.inventory import make_location
from tests.support.fulfillment_states import iterate_states
from tests.support.panel.client import Panel, PanelWith
from tests.support.subtests import Subtests

LIST = "fulfillment_fulfillmentorder_changelist"
ACT = "fulfillment_fulfillmentorder_act"
ORDER = "orders_order_change"
NOW = timezone.now()


@pytest.fixture
def service(in_shop: Shop) -> FulfillmentService:
    return make_service(factories.make_installation(in_shop, ()).app, name="Far depot")


def update_row(row: FulfillmentOrder, **values: Any) -> FulfillmentOrder:
    FulfillmentOrder.objects.filter(pk=row.pk).update(**values)
    row.refresh_from_db()
    return row


def list_rows(panel: Panel, **query: str) -> list[int]:
    response = panel.get(LIST, **query)
    assert response.status_code == 200
    return [row.pk for row in response.context["cl"].result_list]


def perform_action(panel: Panel, row: FulfillmentOrder, action: Action, **data: object) -> Any:
    response = panel.forge(ACT, row.pk, action.value, **data)
    row.refresh_from_db()
    return response


def test_work_that_is_due_first_is_listed_first(order_client: Panel, in_shop: Shop) -> None:
    new_fulfillment_order = make_fulfillment_order()
    late = update_row(make_fulfillment_order(), fulfill_by=NOW - timedelta(hours=2))
    waiting = update_row(make_fulfillment_order(), fulfill_at=NOW - timedelta(days=3))
    has_time = update_row(make_fulfillment_order(), fulfill_by=NOW + timedelta(days=9))
    set_status(make_fulfillment_order(), "closed", "unsubmitted")

    page = order_client.get(LIST)

    assert [row.pk for row in page.context["cl"].result_list] == [
        waiting.pk,
        late.pk,
        new_fulfillment_order.pk,
        has_time.pk,
    ]
    text = page.content.decode()
    assert "Late by 2 hours" in text
    assert "3 days old" in text
    assert "2 × Mug" in text


def test_views_filters_and_search_narrow_it(order_client: Panel, in_shop: Shop, service: FulfillmentService) -> None:
    depot = make_location(in_shop)
    own = make_fulfillment_order(shipping_address={"first_name": "Ada", "city": "Ottawa", "country_code": "CA"})
    at_depot = update_row(make_fulfillment_order(), assigned_location=depot, fulfill_by=NOW - timedelta(days=1))
    fulfillment_order = make_fulfillment_order(service, request_status="submitted")
    working = make_fulfillment_order(service, status="in_progress", request_status="accepted")
    held_fulfillment_order = make_fulfillment_order(status="on_hold")
    later = make_fulfillment_order(status="scheduled")
    finished_fulfillment_order = make_fulfillment_order(status="closed")
    name = Order.objects.get(pk=finished_fulfillment_order.order_id).name

    with Subtests() as checks:
        for query, rows in (
            ({}, [at_depot, own, fulfillment_order, working]),
            ({"view": "late"}, [at_depot]),
            ({"view": "today"}, [at_depot, own, fulfillment_order, working]),
            ({"view": "requests"}, [fulfillment_order]),
            ({"view": "held"}, [held_fulfillment_order]),
            ({"view": "scheduled"}, [later]),
            (
                {"view": "all"},
                [finished_fulfillment_order, later, held_fulfillment_order, working, fulfillment_order, at_depot, own],
            ),
            ({"view": "nonsense", "location": "nonsense", "service": "x"}, [at_depot, own, fulfillment_order, working]),
            ({"location": str(depot.pk)}, [at_depot]),
            ({"service": "own"}, [at_depot, own]),
            ({"service": str(service.pk)}, [fulfillment_order, working]),
            ({"status": "in_progress"}, [working]),
            ({"view": "send", "status": "on_hold"}, [held_fulfillment_order]),
            ({"request": "accepted"}, [working]),
            ({"q": name}, [finished_fulfillment_order]),
            ({"q": name.removeprefix("#")}, [finished_fulfillment_order]),
            (
                {"q": str(Order.objects.get(pk=finished_fulfillment_order.order_id).number)},
                [finished_fulfillment_order],
            ),
            ({"q": "9" * 30}, []),
        ):
            with checks(query):
                assert list_rows(order_client, **query) == [row.pk for row in rows]
    assert "Ada, Ottawa, Canada" in order_client.get(LIST).content.decode()


def test_fulfillment_orders_of_other_shops_are_hidden(order_client: Panel, in_shop: Shop, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign = make_fulfillment_order()

    assert list_rows(order_client, view="all") == []
    assert order_client.get(ACT, foreign.pk, "hold").status_code == 404


# --- actions ---


def test_every_action_of_the_table_has_its_words() -> None:
    assert set(ACTIONS) == set(Action) - {Action.CREATE_FULFILLMENT}


def test_buttons_are_those_of_the_table(order_client: Panel, in_shop: Shop, service: FulfillmentService) -> None:
    """Check each status at each location: allowed actions have a button, and all other actions are refused."""
    own, far = make_fulfillment_order(), make_fulfillment_order(service)

    with Subtests() as checks:
        for row in (own, far):
            for state in iterate_states():
                if state[0] in {"closed", "cancelled", "incomplete"}:
                    continue
                with checks(row.pk, state):
                    set_status(row, *state)
                    can = set(get_supported_actions(state, get_manager(at_service=row is far)))
                    page = order_client.get(ORDER, row.order_id).content.decode()
                    for action in ACTIONS:
                        link = order_client.url(ACT, row.pk, action.value) in page
                        assert link == (action.value in can), action
                        assert order_client.get(ACT, row.pk, action.value).status_code == (200 if link else 302), action
                    fulfill = order_client.url("fulfillment_fulfillmentorder_fulfill", row.order_id) in page
                    assert fulfill == ("create_fulfillment" in can)
                    FulfillmentHold.objects.all().delete()


def test_buttons_are_hidden_without_the_permission_to_change(admin_client_with: PanelWith, in_shop: Shop) -> None:
    row = make_fulfillment_order()
    reader = admin_client_with("orders")

    page = reader.get(ORDER, row.order_id).content.decode()
    response = perform_action(reader, row, Action.HOLD, reason="other")

    assert "From " in page
    assert "/do/" not in page
    assert "fulfill/" not in reader.get(LIST).content.decode()
    assert (response.status_code, row.status) == (403, "open")


def test_a_hold_with_a_reason_holds_some_units_and_is_released(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order()
    line = row.lines.get()

    perform_action(
        order_client, row, Action.HOLD, reason="incorrect_address", notes="No street", **{f"units-{line.pk}": "1"}
    )

    other = FulfillmentOrder.objects.exclude(pk=row.pk).get()
    hold = FulfillmentHold.objects.get()
    assert (row.status, other.status, hold.reason, hold.reason_notes) == (
        "on_hold", "open", "incorrect_address", "No street",
    )  # fmt: skip
    assert [current_row.lines.get().quantity for current_row in (row, other)] == [1, 1]
    assert "No street" in order_client.get(ORDER, row.order_id).content.decode()
    assert Event.objects.get(topic="fulfillment_orders/placed_on_hold").actor == f"staff:{order_client.user.pk}"
    perform_action(order_client, row, Action.RELEASE_HOLD)
    assert row.status == "open"


def test_invalid_input_is_reported_and_changes_nothing(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order()
    line = f"units-{row.lines.get().pk}"

    with Subtests() as checks:
        for action, data, expected_message in (
            (Action.HOLD, {"reason": "", line: "1"}, "required"),
            (Action.HOLD, {"reason": "nonsense", line: "1"}, "not one of"),
            (Action.HOLD, {"reason": "other", line: "3"}, "Only 2 left"),
            (Action.HOLD, {"reason": "other", line: "-1"}, "greater than or equal to 0"),
            (Action.HOLD, {"reason": "other", line: "0"}, "at least one item"),
            (Action.HOLD, {"reason": "other", line: "x"}, "whole number"),
            (Action.HOLD, {"reason": "other", "notes": "x" * 1001, line: "1"}, "at most 1000"),
            (Action.MOVE, {"location": "999", line: "1"}, "not one of"),
            (Action.SET_DEADLINE, {"fulfill_by": "soon"}, "valid date"),
            (Action.SET_DEADLINE, {"fulfill_by": "9999-12-31T23:59"}, "less than or equal"),
        ):
            with checks(action, data):
                response = perform_action(order_client, row, action, **data)
                assert response.status_code == 200
                assert expected_message in response.content.decode()
    assert (row.status, row.fulfill_by) == ("open", None)
    assert not FulfillmentHold.objects.exists()
    assert order_client.get(ACT, row.pk, "nonsense").status_code == 404
    assert order_client.get(ACT, row.pk, "create_fulfillment").status_code == 404


def test_a_move_offers_the_locations_that_can_send(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order()
    depot, closed = make_location(in_shop, name="Depot"), make_location(in_shop, name="Shut")
    Location.objects.filter(pk=closed.pk).update(active=False)

    page = order_client.get(ACT, row.pk, "move").content.decode()
    perform_action(order_client, row, Action.MOVE, location=str(depot.pk), **{f"units-{row.lines.get().pk}": "2"})

    assert f'value="{depot.pk}"' in page
    assert f'value="{closed.pk}"' not in page
    assert f'value="{row.assigned_location_id}"' not in page
    assert f"{row.assigned_location.name}, no. {row.pk}" in page
    assert row.status == "closed"
    assert FulfillmentOrder.objects.exclude(pk=row.pk).get().assigned_location == depot


def test_a_service_accepts_and_is_canceled(order_client: Panel, in_shop: Shop, service: FulfillmentService) -> None:
    row = make_fulfillment_order(service)
    line = f"units-{row.lines.get().pk}"

    perform_action(order_client, row, Action.REQUEST_FULFILLMENT, message="Gift wrap", **{line: "2"})
    request_status = row.request_status
    perform_action(
        order_client, row, Action.REJECT_FULFILLMENT_REQUEST, message="No paper", reason="inventory_out_of_stock"
    )
    rejected = row.request_status
    page = order_client.get(ORDER, row.order_id).content.decode()
    perform_action(order_client, row, Action.REQUEST_FULFILLMENT, **{line: "2"})
    perform_action(order_client, row, Action.ACCEPT_FULFILLMENT_REQUEST)
    perform_action(order_client, row, Action.REQUEST_CANCELLATION, message="Sorry")
    perform_action(order_client, row, Action.REJECT_CANCELLATION_REQUEST)
    perform_action(order_client, row, Action.CLOSE, message="Fire")

    assert (request_status, rejected) == ("submitted", "rejected")
    assert "Gift wrap" in page
    assert "No paper" in page
    assert "(Out of stock)" in page
    assert (row.status, row.request_status) == ("incomplete", "closed")
    assert FulfillmentOrder.objects.exclude(pk=row.pk).get().lines.get().quantity == 2


def test_times_are_the_shops(order_client: Panel, in_shop: Shop) -> None:
    Shop.objects.filter(pk=in_shop.pk).update(timezone="Asia/Tokyo")
    row = make_fulfillment_order(status="scheduled")

    perform_action(order_client, row, Action.RESCHEDULE, new_fulfill_at="2035-03-01T09:00")
    perform_action(order_client, row, Action.SET_DEADLINE, fulfill_by="2035-03-02T09:00")

    assert row.fulfill_at is not None
    assert row.fulfill_by is not None
    assert row.fulfill_at.isoformat() == "2035-03-01T00:00:00+00:00"
    assert row.fulfill_by.isoformat() == "2035-03-02T00:00:00+00:00"
    perform_action(order_client, row, Action.RESCHEDULE, new_fulfill_at="2020-03-01T09:00")
    assert row.fulfill_at.year == 2035
    perform_action(order_client, row, Action.MARK_AS_OPEN)
    assert row.status == "open"
