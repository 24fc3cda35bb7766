from datetime import UTC, datetime, timedelta
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
from apps.orders.models import LineItem, Order
from tests.support import factories
from tests.support.factories.customers import make_customer
from tests.support.factories.fulfillment import make_fulfillment_order, make_service, route_order_now, set_status
from tests.support.factories.inventory import make_location
from tests.support.factories.orders import MUG, make_order
from tests.support.fulfillment_states import iterate_states
from tests.support.panel.client import Panel, PanelWith
from tests.support.subtests import Subtests

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, ACT = "fulfillment_fulfillmentorder_changelist", "fulfillment_fulfillmentorder_act"
ORDER = "orders_order_change"


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


def test_work_that_is_due_first_is_listed_first(order_client: Panel) -> None:
    new, now = make_fulfillment_order(), timezone.now()
    late = update_row(make_fulfillment_order(), fulfill_by=now - timedelta(hours=2))
    waiting = update_row(make_fulfillment_order(), fulfill_at=now - timedelta(days=3))
    has_time = update_row(make_fulfillment_order(), fulfill_by=now + timedelta(days=9))
    set_status(make_fulfillment_order(), "closed", "unsubmitted")

    page = order_client.get(LIST)

    assert list(page.context["cl"].result_list) == [waiting, late, new, has_time]
    text = page.content.decode()
    assert [part for part in ("Late by 2 hours", "3 days", "2 × Mug") if part not in text] == []


def test_views_filters_and_search_narrow_it(order_client: Panel, in_shop: Shop, service: FulfillmentService) -> None:
    depot = make_location(in_shop)
    own = make_fulfillment_order(shipping_address={"first_name": "Ada", "city": "Ottawa", "country_code": "CA"})
    at_depot = update_row(
        make_fulfillment_order(), assigned_location=depot, fulfill_by=timezone.now() - timedelta(days=1)
    )
    submitted = make_fulfillment_order(service, request_status="submitted")
    working = make_fulfillment_order(service, status="in_progress", request_status="accepted")
    held = make_fulfillment_order(status="on_hold")
    later = make_fulfillment_order(status="scheduled")
    finished = make_fulfillment_order(status="closed")
    order = Order.objects.get(pk=finished.order_id)
    customer = make_customer(first_name="Ada", last_name="Lovelace")
    Order.objects.filter(pk=own.order_id).update(customer=customer)
    LineItem.objects.filter(order=own.order_id).update(sku="MUG-OWN")

    with Subtests() as checks:
        for query, rows in (
            ({}, [at_depot, own, submitted, working]),
            ({"view": "late"}, [at_depot]),
            ({"view": "today"}, [at_depot, own, submitted, working]),
            ({"view": "requests"}, [submitted]),
            ({"view": "held"}, [held]),
            ({"view": "scheduled"}, [later]),
            ({"view": "all"}, [finished, later, held, working, submitted, at_depot, own]),
            ({"view": "nonsense", "location": "nonsense", "service": "x"}, [at_depot, own, submitted, working]),
            ({"location": str(depot.pk)}, [at_depot]),
            ({"service": "own"}, [at_depot, own]),
            ({"service": str(service.pk)}, [submitted, working]),
            ({"status": "in_progress"}, [working]),
            ({"view": "send", "status": "on_hold"}, [held]),
            ({"request": "accepted"}, [working]),
            ({"q": order.name}, [finished]),
            ({"q": order.name.removeprefix("#")}, [finished]),
            ({"q": str(order.number)}, [finished]),
            ({"q": "9" * 30}, []),
            ({"q": "love"}, [own]),
            ({"q": "ottawa"}, [own]),
            ({"q": "mug-own"}, [own]),
        ):
            with checks(query):
                assert list_rows(order_client, **query) == [row.pk for row in rows]
    assert "Ada, Ottawa, Canada" in order_client.get(LIST).content.decode()


def test_delivery_methods_are_counted_and_listed_apart(order_client: Panel, other_shop: Shop) -> None:
    parcels = [make_fulfillment_order(shipping_address={"city": "Ottawa"}) for _ in range(2)]
    pickup = update_row(make_fulfillment_order(shipping_address={"city": "Hull"}), method_type="pick_up")
    local = update_row(make_fulfillment_order(status="on_hold"), method_type="local")
    set_status(update_row(make_fulfillment_order(), method_type="pick_up"), "closed", "unsubmitted")
    with shop_scope(other_shop):
        update_row(make_fulfillment_order(), method_type="pick_up")

    html = order_client.get(LIST).content.decode()

    assert [
        text for text in ("Shipping (2)", "Pickup (1)", "Local delivery (0)", "Pickup: Hull") if text not in html
    ] == []
    assert "Local delivery (1)" in order_client.get(LIST, view="held").content.decode()
    assert "Pickup (" not in order_client.get(LIST, view="all").content.decode()
    assert list_rows(order_client, delivery="shipping") == [row.pk for row in parcels]
    assert list_rows(order_client, delivery="pick_up") == [pickup.pk]
    assert list_rows(order_client, delivery="local", view="held") == [local.pk]
    assert list_rows(order_client, delivery="nonsense") == [*(row.pk for row in parcels), pickup.pk]


def test_services_have_no_packing_slips(order_client: Panel) -> None:
    order = make_order(lines=[MUG, {**MUG, "title": "Engraving", "requires_shipping": False}])
    rows = {row.method_type: row for row in route_order_now(order)}
    parcel, service = rows["shipping"], rows["none"]
    slip, slips = "fulfillment_fulfillmentorder_slip", "fulfillment_fulfillmentorder_slips"

    html = order_client.get(slips, ids=f"{service.pk},{parcel.pk}").content.decode()
    refused = order_client.http.get(order_client.url(slip, service.pk), follow=True).content.decode()
    page = order_client.get(ORDER, order.pk).content.decode()

    assert (html.count('<article class="slip"'), "Engraving" in html) == (1, False)
    assert "There is no packing slip, because there is nothing to ship." in refused
    assert order_client.url(slip, parcel.pk) in page
    assert order_client.url(slip, service.pk) not in page


def test_fulfillment_orders_of_other_shops_are_hidden(order_client: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        make_fulfillment_order()

    assert list_rows(order_client, view="all") == []


def test_every_action_of_the_table_has_its_words() -> None:
    assert set(ACTIONS) == set(Action) - {Action.CREATE_FULFILLMENT}


def test_buttons_are_those_of_the_table(order_client: Panel, service: FulfillmentService) -> None:
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
                        # The page does not offer another hold.
                        is_offered = action.value in can and (state[0] != "on_hold" or action.value != "hold")
                        assert link == is_offered, action
                        status = 200 if action.value in can else 302
                        assert order_client.get(ACT, row.pk, action.value).status_code == status, action
                    fulfill = order_client.url("fulfillment_fulfillmentorder_fulfill", row.order_id) in page
                    assert fulfill == ("create_fulfillment" in can)
                    FulfillmentHold.objects.all().delete()


def test_buttons_are_hidden_without_the_permission_to_change(admin_client_with: PanelWith) -> None:
    row = make_fulfillment_order()
    reader = admin_client_with("orders")

    page = reader.get(ORDER, row.order_id).content.decode()
    response = perform_action(reader, row, Action.HOLD, reason="other")

    assert "From " in page
    assert "/do/" not in page
    assert "fulfill/" not in reader.get(LIST).content.decode()
    assert (response.status_code, row.status) == (403, "open")


def test_a_hold_with_a_reason_holds_some_units_and_is_released(order_client: Panel) -> None:
    row = make_fulfillment_order()
    typed = {"reason": "incorrect_address", "notes": "No street", f"units-{row.lines.get().pk}": "1"}

    perform_action(order_client, row, Action.HOLD, **typed)

    other = FulfillmentOrder.objects.exclude(pk=row.pk).get()
    assert (row.status, other.status) == ("on_hold", "open")
    assert FulfillmentHold.objects.values_list("reason", "reason_notes").get() == ("incorrect_address", "No street")
    assert [current_row.lines.get().quantity for current_row in (row, other)] == [1, 1]
    assert "No street" in order_client.get(ORDER, row.order_id).content.decode()
    assert Event.objects.get(topic="fulfillment_orders/placed_on_hold").actor == f"staff:{order_client.user.pk}"
    perform_action(order_client, row, Action.RELEASE_HOLD)
    assert row.status == "open"


def test_invalid_input_is_reported_and_changes_nothing(order_client: Panel) -> None:
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
            (Action.MOVE, {"location": str(row.assigned_location_id + 1_000_000), line: "1"}, "not one of"),
            (Action.SET_DEADLINE, {"fulfill_by": "soon"}, "valid date"),
            (Action.SET_DEADLINE, {"fulfill_by": "9999-12-31T23:59"}, "less than or equal"),
        ):
            with checks(action, data):
                response = perform_action(order_client, row, action, **data)
                assert response.status_code == 200
                assert expected_message in response.content.decode()
    assert (row.status, row.fulfill_by) == ("open", None)
    assert not FulfillmentHold.objects.exists()
    assert [order_client.get(ACT, row.pk, name).status_code for name in ("nonsense", "create_fulfillment")] == [404] * 2


def test_a_move_offers_the_locations_that_can_send(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order()
    depot, closed = make_location(in_shop, name="Depot"), make_location(in_shop, name="Shut")
    Location.objects.filter(pk=closed.pk).update(active=False)

    page = order_client.get(ACT, row.pk, "move").content.decode()
    perform_action(order_client, row, Action.MOVE, location=str(depot.pk), **{f"units-{row.lines.get().pk}": "2"})

    offered = [f'value="{pk}"' in page for pk in (depot.pk, closed.pk, row.assigned_location_id)]
    assert offered == [True, False, False]
    assert f"{row.assigned_location.name}, no. {row.pk}" in page
    assert row.status == "closed"
    assert FulfillmentOrder.objects.exclude(pk=row.pk).get().assigned_location == depot


def test_a_service_accepts_and_is_canceled(order_client: Panel, service: FulfillmentService) -> None:
    row = make_fulfillment_order(service)
    units = {f"units-{row.lines.get().pk}": "2"}
    rejection = {"message": "No paper", "reason": "inventory_out_of_stock"}

    perform_action(order_client, row, Action.REQUEST_FULFILLMENT, message="Gift wrap", **units)
    assert row.request_status == "submitted"
    perform_action(order_client, row, Action.REJECT_FULFILLMENT_REQUEST, **rejection)
    assert row.request_status == "rejected"
    page = order_client.get(ORDER, row.order_id).content.decode()
    assert [text for text in ("Gift wrap", "No paper", "(Out of stock)") if text not in page] == []
    perform_action(order_client, row, Action.REQUEST_FULFILLMENT, **units)
    perform_action(order_client, row, Action.ACCEPT_FULFILLMENT_REQUEST)
    perform_action(order_client, row, Action.REQUEST_CANCELLATION, message="Sorry")
    perform_action(order_client, row, Action.REJECT_CANCELLATION_REQUEST)
    perform_action(order_client, row, Action.CLOSE, message="Fire")

    assert (row.status, row.request_status) == ("incomplete", "closed")
    assert FulfillmentOrder.objects.exclude(pk=row.pk).get().lines.get().quantity == 2


def test_times_are_the_shops(order_client: Panel, in_shop: Shop) -> None:
    Shop.objects.filter(pk=in_shop.pk).update(timezone="Asia/Tokyo")
    row = make_fulfillment_order(status="scheduled")

    perform_action(order_client, row, Action.RESCHEDULE, new_fulfill_at="2035-03-01T09:00")
    perform_action(order_client, row, Action.SET_DEADLINE, fulfill_by="2035-03-02T09:00")

    times = datetime(2035, 3, 1, tzinfo=UTC), datetime(2035, 3, 2, tzinfo=UTC)
    assert (row.fulfill_at, row.fulfill_by) == times
    exact = times[1].replace(second=7, microsecond=250_500)
    update_row(row, fulfill_by=exact)
    perform_action(order_client, row, Action.SET_DEADLINE, fulfill_by="2035-03-02T09:00")
    row.refresh_from_db()
    assert row.fulfill_by == exact
    update_row(row, fulfill_by=times[1])
    perform_action(order_client, row, Action.RESCHEDULE, new_fulfill_at="2020-03-01T09:00")
    assert (row.fulfill_at, row.fulfill_by) == times
    perform_action(order_client, row, Action.MARK_AS_OPEN)
    assert row.status == "open"
