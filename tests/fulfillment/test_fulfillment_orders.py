from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.fulfillment.domain.fulfillment_orders import moves
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, MerchantRequest
from apps.inventory.domain import stock
from apps.inventory.models import Location
from tests.support.api_client import ApiClient, Response, get_errors, parse_links
from tests.support.factories.fulfillment import (
    find_wrong_quantities,
    make_fulfillment,
    make_fulfillment_order,
    make_service,
    route_order_now,
    set_status,
)
from tests.support.factories.inventory import make_location
from tests.support.factories.orders import make_order, make_variant
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

NAMES = {"first_name": "Ada", "last_name": "Lovelace", "phone": "555-0100"}
STREET = {"address1": "1 Main Street", "address2": "", "zip": "K1A 0B1"}
ADDRESS = {**NAMES, **STREET, "city": "Ottawa", "province": "Ontario", "country": "Canada"}
PLAIN: Attrs = {"title": "Mug", "price": Decimal("10.00"), "quantity": 3}


def perform_action(api: ApiClient, row: FulfillmentOrder, action: str, body: object = None, status: int = 200) -> Attrs:
    response = api.post(f"fulfillment_orders/{row.pk}/{action}.json", body)
    assert response.status_code == status, response.content
    return dict(response.json())


def get_quantities(fulfillment_order: JsonObject | None) -> list[int]:
    return [line["fulfillable_quantity"] for line in fulfillment_order["line_items"]] if fulfillment_order else []


def build_lines(row: FulfillmentOrder, quantity: int) -> Attrs:
    return {"fulfillment_order_line_items": [{"id": row.lines.get().pk, "quantity": quantity}]}


@pytest.fixture
def service_row(api: ApiClient, in_shop: Shop) -> FulfillmentOrder:
    service = make_service(api.installation.app)
    return make_fulfillment_order(service, lines=[PLAIN], shipping_address=ADDRESS, email="ada@example.com")


def test_a_request_is_accepted_and_asked_back(api: ApiClient, service_row: FulfillmentOrder) -> None:
    request = {"fulfillment_request": {"message": "Soon", **build_lines(service_row, 2)}}
    body = perform_action(api, service_row, "fulfillment_request", request)
    submitted = body["submitted_fulfillment_order"]
    assert (get_quantities(submitted), get_quantities(body["unsubmitted_fulfillment_order"])) == ([2], [1])
    assert body["original_fulfillment_order"]["id"] == submitted["id"] == service_row.pk
    outgoing = [(item["kind"], item["message"]) for item in submitted["outgoing_requests"]]
    assert outgoing == [("fulfillment_request", "Soon")]
    yes = {"fulfillment_request": {"message": "Yes"}}
    accepted = perform_action(api, service_row, "fulfillment_request/accept", yes)
    assert accepted["fulfillment_order"]["status"] == "in_progress"

    perform_action(api, service_row, "cancellation_request", {"cancellation_request": {"message": "Wait"}})
    ended = perform_action(api, service_row, "cancellation_request/accept")["fulfillment_order"]

    assert (ended["status"], ended["request_status"]) == ("cancelled", "cancellation_accepted")
    assert ended["line_items"] == []
    replacement = FulfillmentOrder.objects.order_by("pk").last()
    assert replacement is not None
    assert (replacement.status, replacement.request_status) == ("open", "unsubmitted")
    assert replacement.lines.get().fulfillable_quantity == 2
    answers = MerchantRequest.objects.order_by("pk").values_list("kind", "answer", "answer_message")
    assert list(answers) == [("fulfillment_request", "accepted", "Yes"), ("cancellation_request", "accepted", "")]
    topics = [name.split("/")[1] for name in Event.objects.order_by("pk").values_list("topic", flat=True)]
    for name in ("split", "fulfillment_request_submitted", "cancellation_request_accepted"):
        assert topics.count(name) == 1
    assert find_wrong_quantities() == []


def test_a_rejection_may_speak_of_lines(api: ApiClient, service_row: FulfillmentOrder) -> None:
    perform_action(api, service_row, "fulfillment_request")
    line = service_row.lines.get().pk
    foreign = {"fulfillment_request": {"line_items": [{"fulfillment_order_line_item_id": line + 1, "message": "?"}]}}
    refused = perform_action(api, service_row, "fulfillment_request/reject", foreign, status=422)
    assert refused == {"errors": {"line_items.0.fulfillment_order_line_item_id": ["is invalid"]}}

    body = {"reason": "other", "line_items": [{"fulfillment_order_line_item_id": line, "message": "None left"}]}
    rejected = perform_action(api, service_row, "fulfillment_request/reject", {"fulfillment_request": body})

    assert rejected["fulfillment_order"]["status"] == "open"
    assert rejected["fulfillment_order"]["request_status"] == "rejected"
    assert MerchantRequest.objects.get().line_messages == [{"id": line, "message": "None left"}]
    perform_action(api, service_row, "fulfillment_request")


def test_the_merchants_own_location_takes_no_requests(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order()

    body = perform_action(api, row, "fulfillment_request", status=422)

    expected = "request_fulfillment is not possible: the fulfillment order is open and its request unsubmitted, "
    assert body == {"errors": {"base": [f"{expected}at a location of the shop"]}}


def test_a_cancelled_one_is_replaced(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order()

    body = perform_action(api, row, "cancel")

    assert (body["fulfillment_order"]["status"], get_quantities(body["fulfillment_order"])) == ("closed", [])
    replacement = body["replacement_fulfillment_order"]
    assert (replacement["status"], get_quantities(replacement)) == ("open", [2])
    assert perform_action(api, row, "cancel", status=422)["errors"]["base"]
    assert find_wrong_quantities() == []


def test_items_left_by_a_service_can_be_fulfilled_by_staff(api: ApiClient, service_row: FulfillmentOrder) -> None:
    set_status(service_row, "in_progress", "accepted")

    closed = perform_action(api, service_row, "close", {"fulfillment_order": {"message": "No mugs"}})

    assert closed["fulfillment_order"]["status"] == "incomplete"
    assert closed["fulfillment_order"]["request_status"] == "closed"
    other = FulfillmentOrder.objects.exclude(pk=service_row.pk).get()
    assert (other.status, other.lines.get().fulfillable_quantity) == ("open", 3)
    assert find_wrong_quantities() == []


def test_units_wait_for_several_reasons(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order(lines=[PLAIN])
    hold = {"reason": "incorrect_address", "reason_notes": "No street", **build_lines(row, 1)}

    fulfillment_order = perform_action(api, row, "hold", {"fulfillment_hold": hold})["fulfillment_order"]
    perform_action(api, row, "hold", {"fulfillment_hold": {"reason": "awaiting_payment"}})

    assert (fulfillment_order["status"], get_quantities(fulfillment_order)) == ("on_hold", [1])
    assert fulfillment_order["fulfillment_holds"] == [{"reason": "incorrect_address", "reason_notes": "No street"}]
    other = FulfillmentOrder.objects.exclude(pk=row.pk).get()
    assert (other.status, other.lines.get().fulfillable_quantity) == ("open", 2)
    assert FulfillmentHold.objects.filter(fulfillment_order=row).count() == 2
    released = perform_action(api, row, "release_hold")["fulfillment_order"]
    assert (released["status"], released["fulfillment_holds"]) == ("open", [])
    assert find_wrong_quantities() == []


def test_a_hold_needs_a_reason_of_the_list(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order()

    unknown = perform_action(api, row, "hold", {"fulfillment_hold": {"reason": "mood"}}, status=422)
    none = perform_action(api, row, "hold", {"fulfillment_hold": {}}, status=422)

    assert unknown == {"errors": {"reason": ["is not included in the list"]}}
    assert none == {"errors": {"reason": ["can't be blank"]}}


def test_a_released_hold_on_a_scheduled_fulfillment_order_schedules_it_again(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order(status="scheduled")
    perform_action(api, row, "hold", {"fulfillment_hold": {"reason": "other"}})
    assert perform_action(api, row, "release_hold")["fulfillment_order"]["status"] == "scheduled"
    perform_action(api, row, "hold", {"fulfillment_hold": {"reason": "other"}})
    FulfillmentOrder.objects.update(fulfill_at=timezone.now() - timedelta(hours=1))

    assert perform_action(api, row, "release_hold")["fulfillment_order"]["status"] == "open"


def test_a_scheduled_one_is_rescheduled_and_opened(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order(status="scheduled")
    past = {"fulfillment_order": {"new_fulfill_at": "2020-01-01"}}
    refused = perform_action(api, row, "reschedule", past, status=422)

    moved = perform_action(api, row, "reschedule", {"fulfillment_order": {"new_fulfill_at": "2031-03-02T12:00:00Z"}})
    opened = perform_action(api, row, "open")["fulfillment_order"]

    assert refused == {"errors": {"new_fulfill_at": ["must be in the future"]}}
    assert moved["fulfillment_order"]["fulfill_at"].startswith("2031-03-02T")
    assert opened["status"] == "open"
    row.refresh_from_db()
    assert row.fulfill_at is not None
    assert row.fulfill_at <= timezone.now()


def test_a_deadline_is_set_for_all_or_none(api: ApiClient, in_shop: Shop) -> None:
    row, closed = make_fulfillment_order(), make_fulfillment_order(status="closed")

    def ask(*pks: int) -> Response:
        body = {"fulfillment_order_ids": list(pks), "fulfillment_deadline": "2031-03-02T12:00:00Z"}
        return api.post("fulfillment_orders/set_fulfillment_orders_deadline.json", body)

    refused = [ask(row.pk, closed.pk), ask(row.pk, 1), ask()]
    row.refresh_from_db()
    before = row.fulfill_by
    good = ask(row.pk)

    assert get_errors(refused[0])
    assert get_errors(refused[1]) == {"fulfillment_order_ids": ["is invalid"]}
    assert get_errors(refused[2]) == {"fulfillment_order_ids": ["can't be blank"]}
    assert (good.status_code, good.json()) == (200, {})
    row.refresh_from_db()
    assert (before, str(row.fulfill_by)) == (None, "2031-03-02 12:00:00+00:00")


def test_units_move_with_the_stock_that_was_taken_for_them(api: ApiClient, in_shop: Shop) -> None:
    variant, cellar = make_variant(in_shop, stock=5), make_location(in_shop, name="Cellar")
    stock.set_available(variant.inventory_item, cellar, 1, actor="system", at=timezone.now())
    line = {"variant_id": variant.pk, "quantity": 3}
    row = route_order_now(make_order(lines=[line], inventory_behaviour="decrement_obeying_policy"))[0]

    request = {"fulfillment_order": {"new_location_id": cellar.pk, **build_lines(row, 2)}}
    body = perform_action(api, row, "move", request)

    assert get_quantities(body["moved_fulfillment_order"]) == [2]
    assert body["moved_fulfillment_order"]["assigned_location_id"] == cellar.pk
    assert body["remaining_fulfillment_order"]["id"] == body["original_fulfillment_order"]["id"] == row.pk
    levels = variant.inventory_item.levels.order_by("location_id").values_list("available", flat=True)
    assert list(levels) == [4, -1]
    taken_from = row.order.line_items.get().taken_from
    assert taken_from == {str(row.assigned_location_id): 1, str(cellar.pk): 2}
    assert find_wrong_quantities() == []
    # Canceling the order restores all of the stock.
    api.post(f"orders/{row.order_id}/cancel.json")
    assert list(levels.all()) == [5, 1]


def test_all_units_move(api: ApiClient, in_shop: Shop) -> None:
    row, cellar = make_fulfillment_order(), make_location(in_shop, name="Cellar")

    body = perform_action(api, row, "move", {"fulfillment_order": {"new_location_id": cellar.pk}})

    assert body["remaining_fulfillment_order"] is None
    original = body["original_fulfillment_order"]
    assert (original["status"], original["line_items"], original["supported_actions"]) == ("closed", [], [])
    assert get_quantities(body["moved_fulfillment_order"]) == [2]


def test_locations_say_why_nothing_moves_there(api: ApiClient, in_shop: Shop) -> None:
    variant = make_variant(in_shop, stock=5)
    cellar, attic, closed = (make_location(in_shop, name=name) for name in ("Cellar", "Attic", "Closed"))
    Location.objects.filter(pk=closed.pk).update(active=False)
    stock.set_available(variant.inventory_item, cellar, 1, actor="system", at=timezone.now())
    row = make_fulfillment_order(lines=[{"variant_id": variant.pk}])

    locations_for_move = api.get(f"fulfillment_orders/{row.pk}/locations_for_move.json").json()["locations_for_move"]

    locations = {item["location"]["name"]: (item["movable"], item["message"]) for item in locations_for_move}
    assert locations == {
        "Attic": (False, "No items are stocked at this location."),
        "Cellar": (True, ""),
        "Shop location": (False, "Current location."),
    }
    unfit = {attic.pk: moves.NOTHING_STOCKED, row.assigned_location_id: moves.CURRENT_LOCATION}
    for target, message in {**unfit, closed.pk: "is invalid", 1: "is invalid"}.items():
        body = perform_action(api, row, "move", {"fulfillment_order": {"new_location_id": target}}, status=422)
        assert body == {"errors": {"new_location_id": [message]}}


def test_the_list_of_what_is_assigned(api: ApiClient, in_shop: Shop) -> None:
    mine, other = make_service(api.installation.app), make_service(api.installation.app)
    states = {
        "fulfillment_unsubmitted": ("open", "unsubmitted"),
        "fulfillment_requested": ("open", "submitted"),
        "fulfillment_accepted": ("in_progress", "accepted"),
        "cancellation_requested": ("in_progress", "cancellation_requested"),
    }
    rows = {
        word: make_fulfillment_order(mine, status=status, request_status=request).pk
        for word, (status, request) in states.items()
    }
    shipped = make_fulfillment_order(mine, status="in_progress", request_status="cancellation_requested")
    make_fulfillment(shipped)
    elsewhere = make_fulfillment_order(other).pk
    make_fulfillment_order()

    def list_assigned(query: str) -> list[int]:
        response = api.get(f"assigned_fulfillment_orders.json?{query}")
        assert response.status_code == 200, response.content
        return [row["id"] for row in response.json()["fulfillment_orders"]]

    for word, pk in rows.items():
        assert list_assigned(f"assignment_status={word}&location_ids[]={mine.location_id}") == [pk]
    assert list_assigned("") == [*rows.values(), shipped.pk, elsewhere]
    assert list_assigned(f"location_ids[]={other.location_id}") == [elsewhere]
    both = f"location_ids[]={other.location_id}&location_ids[]={mine.location_id}"
    assert list_assigned(both) == [*rows.values(), shipped.pk, elsewhere]
    first = api.get(f"assigned_fulfillment_orders.json?{both}&limit=2")
    assert [row["id"] for row in first.json()["fulfillment_orders"]] == list(rows.values())[:2]
    second = api.get(parse_links(first)["next"])
    assert [row["id"] for row in second.json()["fulfillment_orders"]] == list(rows.values())[2:]
    assert perform_action(api, shipped, "cancellation_request/accept", status=422)
    assert api.get("assigned_fulfillment_orders.json?assignment_status=all").status_code == 400


def test_wire_of_every_route(api: ApiClient, in_shop: Shop) -> None:
    variant = make_variant(in_shop)
    row = make_fulfillment_order(
        lines=[{"variant_id": variant.pk, "quantity": 2}],
        shipping_address=ADDRESS,
        email="ada@example.com",
        codes=[{"code": "TEN", "amount": Decimal(1), "type": "fixed_amount"}],
        shipping=[{"title": "Post", "code": "STD", "price": Decimal(1)}],
    )
    path, cellar = "/fulfillment_orders/{id}", make_location(in_shop, name="Cellar")
    full = {"include_financial_summaries": "true", "include_order_reference_fields": "true"}
    single = api.get(f"fulfillment_orders/{row.pk}.json", **full).json()
    summary = single["fulfillment_order"]["line_items"][0]["financial_summaries"][0]
    assert (summary["original_unit_price_set"], summary["approximate_discounted_unit_price_set"]) == ("10.00", "9.50")
    assert summary["discount_allocations"][0]["amount"] == "1.00"
    plain = api.get(f"fulfillment_orders/{row.pk}.json").json()["fulfillment_order"]
    assert "order_name" not in plain
    assert "financial_summaries" not in plain["line_items"][0]
    listed = api.get(f"orders/{row.order_id}/fulfillment_orders.json", **full).json()
    places = api.get(f"fulfillment_orders/{row.pk}/locations_for_move.json").json()
    hold = {"fulfillment_hold": {"reason": "other", "reason_notes": "x"}}
    for action, body in {"hold": hold, "release_hold": None, "cancel": None}.items():
        # The wire table lists the fields of reads. Responses to writes omit fields that were not requested.
        assert perform_action(api, row, action, body)["fulfillment_order"].keys() >= plain.keys()
    replacement = FulfillmentOrder.objects.latest("pk")
    moved = perform_action(api, replacement, "move", {"fulfillment_order": {"new_location_id": cellar.pk}})
    assert moved["moved_fulfillment_order"]["assigned_location"]["name"] == "Cellar"
    lines = [{"variant_id": variant.pk, "quantity": 2}]
    service = make_service(api.installation.app)
    at_service = make_fulfillment_order(service, lines=lines, shipping_address=ADDRESS, email="ada@example.com")
    request = {"fulfillment_request": build_lines(at_service, 1)}
    requested = perform_action(api, at_service, "fulfillment_request", request)
    assigned = api.get("assigned_fulfillment_orders.json").json()

    for table, route, answer in (
        ("fulfillment_order", f"GET {path}.json", single),
        ("fulfillment_order", "GET /orders/{id}/fulfillment_orders.json", listed),
        ("locations_for_move", f"GET {path}/locations_for_move.json", places),
        ("fulfillment_order", f"POST {path}/move.json", moved),
        ("fulfillment_request", f"POST {path}/fulfillment_request.json", requested),
        ("assigned_fulfillment_order", "GET /assigned_fulfillment_orders.json", assigned),
    ):
        assert_fits(table, route, answer)
    for action in ("fulfillment_request/accept", "cancellation_request", "cancellation_request/reject"):
        answer = perform_action(api, at_service, action)
        assert_fits(action.split("/")[0], f"POST {path}/{action}.json", answer)


def test_the_oldest_version_names_the_service(api: ApiClient, in_shop: Shop) -> None:
    own = make_fulfillment_order()
    path = f"fulfillment_orders/{own.pk}.json"

    assert api.at("2024-10").get(path).json()["fulfillment_order"]["fulfillment_service_handle"] == "manual"
    assert "fulfillment_service_handle" not in api.at("2025-01").get(path).json()["fulfillment_order"]
