from decimal import Decimal

import pytest
from django.conf import settings
from django.core import mail

from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.fulfillment.domain import carriers
from apps.fulfillment.domain.tracking import Tracking, complete_tracking
from apps.fulfillment.models import FulfillmentOrder
from apps.orders.models import Order
from tests.support.api_client import VERSION, ApiClient, Response, get_errors
from tests.support.databases.snapshots import snapshot_database
from tests.support.factories.fulfillment import (
    find_wrong_quantities,
    make_event,
    make_fulfillment,
    make_fulfillment_order,
    route_order_now,
)
from tests.support.factories.inventory import make_location
from tests.support.factories.orders import make_order, make_variant
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

PLAIN: Attrs = {"title": "Mug", "price": Decimal("10.00"), "quantity": 2}


def build_part(row: FulfillmentOrder, *quantities: int) -> Attrs:
    """Return the request data for a fulfillment order: all remaining items, or the given quantities per line item."""
    lines = zip(row.lines.order_by("pk"), quantities, strict=False)
    line_items = [{"id": line.pk, "quantity": quantity} for line, quantity in lines]
    return {"fulfillment_order_id": row.pk, **({"fulfillment_order_line_items": line_items} if line_items else {})}


def post_fulfillment(api: ApiClient, *parts: JsonObject, **values: object) -> Response:
    return api.post("fulfillments.json", {"fulfillment": {"line_items_by_fulfillment_order": list(parts), **values}})


def get_shown_order(api: ApiClient, order: int) -> JsonObject:
    return api.get(f"orders/{order}.json").json()["order"]


def test_all_that_remains_is_sent(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order()

    response = post_fulfillment(api, build_part(row), tracking_info={"number": "1Z5R89390357567127"})

    assert response.status_code == 201, response.content
    fulfillment = response.json()["fulfillment"]
    where = response["Location"].removeprefix(f"{settings.BASE_URL}/admin/api/{VERSION}/")
    assert where == f"orders/{row.order_id}/fulfillments/{fulfillment['id']}.json"
    assert api.get(where).json()["fulfillment"] == fulfillment
    assert fulfillment["name"] == f"{row.order.name}.1"
    assert (fulfillment["status"], fulfillment["service"]) == ("success", "manual")
    assert fulfillment["tracking_company"] == "UPS"
    assert fulfillment["tracking_urls"] == ["https://www.ups.com/track?tracknum=1Z5R89390357567127"]
    assert [(line["quantity"], line["fulfillment_status"]) for line in fulfillment["line_items"]] == [(2, "fulfilled")]
    row.refresh_from_db()
    assert row.status == "closed"
    order = get_shown_order(api, row.order_id)
    assert order["fulfillment_status"] == "fulfilled"
    assert [shown["id"] for shown in order["fulfillments"]] == [fulfillment["id"]]
    assert [line["fulfillable_quantity"] for line in order["line_items"]] == [0]
    topics = set(Event.objects.values_list("topic", flat=True))
    assert {"fulfillments/create", "orders/fulfilled"} <= topics
    assert find_wrong_quantities() == []


def test_parts_are_sent_one_after_the_other(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order()

    first, second, third = (post_fulfillment(api, build_part(row, 1)) for _ in range(3))

    assert [response.status_code for response in (first, second, third)] == [201, 201, 422]
    assert [response.json()["fulfillment"]["name"] for response in (first, second)] == ["#1001.1", "#1001.2"]
    assert "closed" in third.json()["errors"]["base"][0]
    topics = Event.objects.filter(topic__in=("orders/partially_fulfilled", "orders/fulfilled")).order_by("pk")
    assert list(topics.values_list("topic", flat=True)) == ["orders/partially_fulfilled", "orders/fulfilled"]
    assert find_wrong_quantities() == []


def test_more_than_remains_is_refused_and_changes_nothing(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order(lines=[PLAIN, PLAIN])
    unknown = {"fulfillment_order_id": row.pk, "fulfillment_order_line_items": [{"id": 1}]}
    before = snapshot_database()

    errors = [get_errors(post_fulfillment(api, part)) for part in (build_part(row, 1, 3), build_part(row, 0), unknown)]

    assert snapshot_database() == before
    path = "line_items_by_fulfillment_order.0.fulfillment_order_line_items"
    assert errors == [
        {f"{path}.1.quantity": ["is more than the remaining quantity (2)"]},
        {f"{path}.0.quantity": ["must be greater than or equal to 1"]},
        {f"{path}.0.id": ["is invalid"]},
    ]


def test_impossible_combinations_are_refused(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order(lines=[PLAIN, {**PLAIN, "requires_shipping": False}])
    elsewhere = FulfillmentOrder.objects.exclude(pk=row.pk).get()
    elsewhere.assigned_location = make_location(in_shop)
    elsewhere.save()
    cases = {
        "must all belong to the same order": [row, make_fulfillment_order()],
        "must all be at the same location": [row, elsewhere],
        "can't be blank": [],
    }

    errors = [get_errors(post_fulfillment(api, *map(build_part, rows))) for rows in cases.values()]

    assert errors == [{"line_items_by_fulfillment_order": [message]} for message in cases]


def test_several_fulfillment_orders_are_sent_together(api: ApiClient, in_shop: Shop) -> None:
    order = make_order(lines=[PLAIN, {**PLAIN, "requires_shipping": False}])
    first, second = route_order_now(order)

    fulfillment = post_fulfillment(api, build_part(first, 1), build_part(second)).json()["fulfillment"]

    assert [line["quantity"] for line in fulfillment["line_items"]] == [1, 2]
    of_second = api.get(f"fulfillment_orders/{second.pk}/fulfillments.json").json()["fulfillments"]
    assert [row["id"] for row in of_second] == [fulfillment["id"]]
    assert [FulfillmentOrder.objects.get(pk=row.pk).status for row in (first, second)] == ["in_progress", "closed"]
    assert api.get(f"orders/{order.pk}/fulfillments/count.json").json() == {"count": 1}
    assert api.get(f"orders/{order.pk}/fulfillments.json", since_id=fulfillment["id"]).json() == {"fulfillments": []}
    assert find_wrong_quantities() == []


def test_a_cancelled_fulfillment_is_to_be_sent_again(api: ApiClient, in_shop: Shop) -> None:
    row = make_fulfillment_order()
    fulfillment = post_fulfillment(api, build_part(row, 1)).json()["fulfillment"]

    path = f"orders/{fulfillment['order_id']}/fulfillments/{fulfillment['id']}/cancel.json"
    elsewhere = api.post(path.replace(str(fulfillment["order_id"]), "999"))
    cancelled = api.post(path)
    second_response = api.post(f"fulfillments/{fulfillment['id']}/cancel.json")

    assert elsewhere.status_code == 404
    assert (cancelled.status_code, cancelled.json()["fulfillment"]["status"]) == (200, "cancelled")
    assert get_errors(second_response) == {"base": ["The fulfillment can't be canceled. Status: canceled."]}
    parts = FulfillmentOrder.objects.filter(order=row.order_id).order_by("pk")
    assert [(part.status, part.lines.get().quantity) for part in parts] == [("in_progress", 1), ("open", 1)]
    order = get_shown_order(api, row.order_id)
    assert (order["fulfillment_status"], order["line_items"][0]["fulfillable_quantity"]) == (None, 2)
    assert find_wrong_quantities() == []


def test_tracking_is_replaced_and_emailed(api: ApiClient, in_shop: Shop) -> None:
    fulfillment = make_fulfillment()
    path = f"fulfillments/{fulfillment.pk}/update_tracking.json"
    before = get_shown_order(api, fulfillment.order_id)

    body = {"fulfillment": {"notify_customer": True, "tracking_info": {"number": "3318810025", "company": "DHL"}}}
    response = api.post(path, body)

    shown = response.json()["fulfillment"]
    assert (shown["tracking_company"], shown["tracking_number"]) == ("DHL", "3318810025")
    assert get_shown_order(api, fulfillment.order_id)["fulfillments"][0]["tracking_number"] == "3318810025"
    assert before["fulfillments"][0]["tracking_number"] is None
    queue.run_job(Job.objects.get(task="fulfillment.send_shipping_confirmation").key)
    [message] = mail.outbox
    assert message.to == ["some@example.com"]
    assert "3318810025" in message.body
    assert "https://www.dhl.com/global-en/home/tracking.html?tracking-id=3318810025" in message.body
    events = Event.objects.filter(topic="fulfillments/update").count()
    assert api.post(path, {"fulfillment": {"tracking_info": {"number": "3318810025"}}}).status_code == 200
    assert Event.objects.filter(topic="fulfillments/update").count() == events


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "ftp://x.example/", "//x", "x.example"])
def test_tracking_urls_must_be_http_or_https(api: ApiClient, in_shop: Shop, url: str) -> None:
    row, sent = make_fulfillment_order(), make_fulfillment()
    message = "must have only URLs that start with http:// or https://"

    for info in ({"url": url}, {"urls": ["https://x.example/", url]}):
        refused = [
            post_fulfillment(api, build_part(row), tracking_info=info),
            api.post(f"fulfillments/{sent.pk}/update_tracking.json", {"fulfillment": {"tracking_info": info}}),
        ]
        assert [get_errors(response) for response in refused] == [{"tracking_info": [message]}] * 2
    order = {"line_items": [{"title": "Mug", "price": "1.00"}], "fulfillment_status": "fulfilled"}
    order["fulfillments"] = [{"tracking_url": url}]
    assert get_errors(api.post("orders.json", {"order": order})) == {"fulfillments.0.tracking_url": ["is invalid"]}


def test_a_cancelled_fulfillment_is_not_tracked(api: ApiClient, in_shop: Shop) -> None:
    fulfillment = make_fulfillment()
    api.post(f"fulfillments/{fulfillment.pk}/cancel.json")

    response = api.post(f"fulfillments/{fulfillment.pk}/update_tracking.json", {"fulfillment": {"tracking_info": {}}})

    assert response.status_code == 422


def test_the_status_follows_the_event_that_happened_last(api: ApiClient, in_shop: Shop) -> None:
    fulfillment = make_fulfillment()
    path = f"orders/{fulfillment.order_id}/fulfillments/{fulfillment.pk}"

    def note(status: str, at: str) -> int:
        response = api.post(f"{path}/events.json", {"event": {"status": status, "happened_at": at}})
        assert response.status_code == 201, response.content
        return int(response.json()["fulfillment_event"]["id"])

    def status() -> str | None:
        return api.get(f"{path}.json").json()["fulfillment"]["shipment_status"]

    assert status() is None
    delivered = note("delivered", "2026-03-03T12:00:00Z")
    note("in_transit", "2026-03-02T12:00:00Z")
    assert status() == "delivered"
    assert get_shown_order(api, fulfillment.order_id)["fulfillments"][0]["shipment_status"] == "delivered"

    response = api.delete(f"{path}/events/{delivered}.json")

    assert (response.status_code, response.json(), status()) == (200, {}, "in_transit")
    assert "X-Platform-API-Deprecated-Reason" in response
    assert Event.objects.filter(topic="fulfillment_events/delete").count() == 1
    assert api.get(f"{path}/events/{delivered}.json").status_code == 404


def test_an_unknown_status_of_an_event_is_refused(api: ApiClient, in_shop: Shop) -> None:
    fulfillment = make_fulfillment()
    path = f"orders/{fulfillment.order_id}/fulfillments/{fulfillment.pk}/events.json"

    events: tuple[JsonObject, ...] = ({"status": "lost"}, {}, {"status": "x", "latitude": 91})
    lost, none, _ = (get_errors(api.post(path, {"event": event})) for event in events)

    assert (lost, none) == ({"status": ["is not included in the list"]}, {"status": ["can't be blank"]})


def test_events_are_found_below_their_own_order_alone(api: ApiClient, in_shop: Shop) -> None:
    event, other = make_event(), make_order()
    below = f"fulfillments/{event.fulfillment_id}/events"

    assert api.get(f"orders/{event.fulfillment.order_id}/{below}/{event.pk}.json").status_code == 200
    assert api.get(f"orders/{other.pk}/{below}/{event.pk}.json").status_code == 404
    assert api.get(f"orders/{other.pk}/{below}.json").status_code == 404
    assert api.get(f"orders/{other.pk}/fulfillments/{event.fulfillment_id}.json").status_code == 404


def test_an_order_that_was_sent_before_comes_with_its_fulfillment(api: ApiClient, in_shop: Shop) -> None:
    location = make_location(in_shop)
    body = {
        "line_items": [{"title": "Mug", "price": "1.00", "quantity": 3}],
        "email": "ada@example.com",
        "fulfillment_status": "fulfilled",
        "fulfillments": [{"location_id": location.pk, "tracking_number": "3318810025"}],
        "send_fulfillment_receipt": True,
    }

    response = api.post("orders.json", {"order": body})

    assert response.status_code == 201, response.content
    order = response.json()["order"]
    assert order["fulfillment_status"] == "fulfilled"
    [fulfillment] = order["fulfillments"]
    assert (fulfillment["location_id"], fulfillment["tracking_company"]) == (location.pk, "DHL")
    assert [line["quantity"] for line in fulfillment["line_items"]] == [3]
    assert FulfillmentOrder.objects.get().status == "closed"
    assert {*Job.objects.values_list("task", flat=True)} == {"fulfillment.send_shipping_confirmation"}
    assert find_wrong_quantities() == []


@pytest.mark.parametrize("values", ["x", [1], [{"location_id": 1}], [{"tracking_number": 5}], [{}, {}]])
def test_invalid_fulfillments_create_no_order(values: object, api: ApiClient, in_shop: Shop) -> None:
    body = {"line_items": [{"title": "Mug", "price": "1.00"}], "fulfillments": values}

    response = api.post("orders.json", {"order": body})

    assert response.status_code == 422, response.content
    assert not Order.objects.exists()


def test_wire_of_every_route(api: ApiClient, in_shop: Shop) -> None:
    variant = make_variant(in_shop, stock=3)
    row = make_fulfillment_order(
        lines=[{"variant_id": variant.pk, "quantity": 2, "properties": [{"name": "For", "value": "Ada"}]}],
        codes=[{"code": "TEN", "amount": Decimal(1), "type": "fixed_amount"}],
    )
    origin = {"address1": "1 Dock Road", "city": "Lund", "zip": "1", "province_code": "M", "country_code": "SE"}
    response = post_fulfillment(api, build_part(row), tracking_info={"number": "3318810025"}, origin_address=origin)
    path = f"{row.order_id}/fulfillments/{response.json()['fulfillment']['id']}"
    parcel = f"fulfillments/{response.json()['fulfillment']['id']}"
    event = api.post(f"orders/{path}/events.json", {"event": {"status": "in_transit"}})
    event_path = f"orders/{path}/events/{event.json()['fulfillment_event']['id']}.json"
    tracked = {"fulfillment": {"tracking_info": {"number": "1"}}}

    for table, route, result in (
        ("fulfillment", "POST /fulfillments.json", response),
        ("fulfillment", "GET /orders/{id}/fulfillments.json", api.get(f"orders/{row.order_id}/fulfillments.json")),
        ("fulfillment", "GET /orders/{id}/fulfillments/{id}.json", api.get(f"orders/{path}.json")),
        (
            "fulfillment",
            "GET /fulfillment_orders/{id}/fulfillments.json",
            api.get(f"fulfillment_orders/{row.pk}/fulfillments.json"),
        ),
        (
            "fulfillment",
            "POST /fulfillments/{id}/update_tracking.json",
            api.post(f"{parcel}/update_tracking.json", tracked),
        ),
        ("fulfillment", "POST /fulfillments/{id}/cancel.json", api.post(f"{parcel}/cancel.json")),
        ("fulfillment_event", "POST /orders/{id}/fulfillments/{id}/events.json", event),
        ("fulfillment_event", "GET /orders/{id}/fulfillments/{id}/events.json", api.get(f"orders/{path}/events.json")),
        ("fulfillment_event", "GET /orders/{id}/fulfillments/{id}/events/{id}.json", api.get(event_path)),
        ("order", "GET /orders/{id}.json", api.get(f"orders/{row.order_id}.json")),
    ):
        assert_fits(table, route, result.json())


CARRIERS = {
    "UPS": ("1Z5R89390357567127", "1z5r 8939 0357 5671 27"),
    "USPS": ("9361289878700317633795", "RB123456785US"),
    "FedEx": ("986578788855", "9611020987654312345672"),
    "Canada Post": ("0073938000549297", "RB123456785CA"),
    "DHL": ("3318810025", "JJD0099999999123456"),
    "": (
        "1Z5R89390357567128",
        "9361289878700317633796",
        "RB123456786US",
        "986578788856",
        "3318810026",
        "hello",
        "",
        "١٢٣٤٥٦٧٨٩٠",
    ),
}


def test_a_number_tells_its_carrier() -> None:
    recognized = {
        name: [(carrier := carriers.recognize_carrier(number)) and carrier.name for number in numbers]
        for name, numbers in CARRIERS.items()
    }

    assert recognized == {name: [name or None] * len(numbers) for name, numbers in CARRIERS.items()}


def test_every_changed_digit_is_noticed() -> None:
    for number in ("1Z5R89390357567127", "9361289878700317633795", "986578788855", "3318810025"):
        for index in range(len(number) - 6, len(number)):
            other = number[:index] + str((int(number[index]) + 1) % 10) + number[index + 1 :]
            assert carriers.recognize_carrier(other) is None, other


def test_known_carriers_are_completed_and_given_values_stay() -> None:
    ups = "https://www.ups.com/track?tracknum=1Z5R89390357567127"

    assert complete_tracking({"number": "1Z5R89390357567127"}) == Tracking(("1Z5R89390357567127",), (ups,), "UPS")
    assert complete_tracking({"number": "A 1", "company": "ups"}).urls == ("https://www.ups.com/track?tracknum=A%201",)
    assert complete_tracking({"numbers": ["1", "2", "1"], "url": "https://x.example/", "company": "Van"}) == Tracking(
        ("1", "2"), ("https://x.example/",), "Van"
    )
    assert complete_tracking({"number": "unknown"}) == Tracking(("unknown",), (), "")
    assert complete_tracking({}) == Tracking()
