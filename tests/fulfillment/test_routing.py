from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.catalog.models import Variant
from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.core.types import Attrs
from apps.fulfillment.domain import consistency_checks
from apps.fulfillment.domain.fulfillment_orders import routing, transitions
from apps.fulfillment.domain.fulfillment_orders.routing import LineRequest
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.domain import locations, stock
from apps.inventory.models import Location
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_product
from tests.support.factories.fulfillment import make_service, route_order_now
from tests.support.factories.inventory import make_location
from tests.support.factories.orders import make_order, make_variant

OBEY = "decrement_obeying_policy"


def set_stock(variant: Variant, location: Location, units: int) -> None:
    stock.set_available(variant.inventory_item, location, units, actor="system", at=timezone.now())


def get_lines_by_location(rows: list[FulfillmentOrder]) -> dict[str, list[tuple[str, int]]]:
    return {
        row.assigned_location.name: [
            (line.line_item.title, line.fulfillable_quantity) for line in row.lines.order_by("line_item__position")
        ]
        for row in rows
    }


THREE_LINES = [LineRequest(1, 11, 2), LineRequest(2, 12, 1), LineRequest(3, 13, 1)]


@pytest.mark.parametrize(
    ("lines", "places", "shelves", "chosen"),
    [
        (THREE_LINES, [1, 2, 3], {1: {11: 9}, 2: {11: 2, 12: 5}, 3: {13: 1, 12: 5}}, {1: 2, 2: 2, 3: 3}),
        ([LineRequest(1, 11, 2), LineRequest(2, 11, 2)], [1, 2], {1: {11: 3}, 2: {11: 2}}, {1: 1, 2: 2}),
        ([LineRequest(1, 11, 5), LineRequest(2, None, 1)], [1, 2], {1: {11: 1}, 2: {11: 3}}, {1: 2, 2: 1}),
        ([LineRequest(1, 11, 5)], [1, 2], {}, {1: 1}),
    ],
    ids=["the fewest with enough", "no stock serves two lines", "the most where none has enough", "none has any"],
)
def test_locations_are_chosen_by_their_stock(
    lines: list[LineRequest], places: list[int], shelves: dict[int, dict[int, int]], chosen: dict[int, int]
) -> None:
    assert routing.choose_locations(lines, places, shelves) == chosen


def test_each_line_goes_to_its_service_or_its_stock_location(api: ApiClient, in_shop: Shop) -> None:
    service = make_service(api.installation.app, name="North Depot")
    cellar = make_location(in_shop, name="Cellar")
    ours, theirs = make_variant(in_shop, stock=0), make_variant(in_shop, stock=4, sku="CUP-1")
    set_stock(ours, cellar, 5)
    theirs.fulfillment_service = service.handle
    theirs.save()
    set_stock(theirs, service.location, 3)
    lines = [{"variant_id": ours.pk, "quantity": 2, "title": "Mug"}, {"variant_id": theirs.pk, "title": "Cup"}]

    order = make_order(lines=lines, inventory_behaviour=OBEY)
    rows = route_order_now(order)

    assert get_lines_by_location(rows) == {"Cellar": [("Mug", 2)], "North Depot": [("Cup", 1)]}
    levels = {level.location.name: level.available for level in theirs.inventory_item.levels.select_related("location")}
    assert levels == {"Shop location": 4, "North Depot": 2}
    line_items = order.line_items.order_by("position").values_list("taken_from", flat=True)
    assert list(line_items) == [{str(cellar.pk): 2}, {str(service.location_id): 1}]


def test_items_without_shipping_get_their_own_fulfillment_order(in_shop: Shop) -> None:
    mug: Attrs = {"title": "Mug", "price": Decimal(1)}
    order = make_order(
        lines=[mug, {**mug, "title": "Song", "requires_shipping": False}],
        shipping=[{"title": "Express", "code": "EXP", "source": "shop", "price": Decimal(5)}],
    )

    ways = [(row.method_type, row.presented_name) for row in route_order_now(order)]

    assert ways == [("shipping", "Express"), ("none", "")]


def test_routing_twice_makes_nothing_more(in_shop: Shop) -> None:
    order = make_order()

    assert [len(route_order_now(order)) for _ in range(2)] == [1, 0]
    assert Event.objects.filter(topic="fulfillment_orders/order_routing_complete").count() == 1
    assert list(consistency_checks.find_wrong_fulfillable_quantities()) == []


def test_the_job_of_a_new_order_routes_it(api: ApiClient, in_shop: Shop) -> None:
    response = api.post("orders.json", {"order": {"line_items": [{"title": "Mug", "price": "1.00", "quantity": 3}]}})
    job = Job.objects.get(task=routing.ROUTE_TASK)

    assert queue.run_job(job.key)

    order = response.json()["order"]
    (row,) = api.get(f"orders/{order['id']}/fulfillment_orders.json").json()["fulfillment_orders"]
    assert [line["fulfillable_quantity"] for line in row["line_items"]] == [3]
    assert row["fulfill_at"] == order["created_at"]


@pytest.mark.parametrize("deleted", ["cancelled", "deleted"])
def test_an_order_that_is_gone_is_not_routed(deleted: str, api: ApiClient, in_shop: Shop) -> None:
    order = make_order()
    pk = order.pk
    if deleted == "deleted":
        order.delete()
    else:
        api.post(f"orders/{pk}/cancel.json")

    assert routing.route_order(pk, at=timezone.now()) == []


def test_a_later_order_is_scheduled_and_opens_once_when_due(api: ApiClient, in_shop: Shop) -> None:
    now = timezone.now() + timedelta(hours=3)
    body = {"line_items": [{"title": "Mug", "price": "1.00"}], "fulfill_at": now.isoformat()}
    api.post("orders.json", {"order": body})
    queue.run_job(Job.objects.get(task=routing.ROUTE_TASK).key)
    row = FulfillmentOrder.objects.get()
    assert (row.status, row.fulfill_at) == ("scheduled", now)
    job = Job.objects.get(task=transitions.OPEN_TASK)
    assert (job.due_at, job.arguments) == (now, {"fulfillment_order_id": row.pk})

    early = transitions.open_if_due(row.pk, at=now - timedelta(seconds=1))
    opened = [transitions.open_if_due(row.pk, at=now) for _ in range(2)]

    row.refresh_from_db()
    assert (early, opened, row.status) == (False, [True, False], "open")
    assert Event.objects.filter(topic="fulfillment_orders/scheduled_fulfillment_order_ready").count() == 1


def test_a_moment_that_is_none_is_refused(api: ApiClient, in_shop: Shop) -> None:
    body = {"line_items": [{"title": "Mug", "price": "1.00"}], "fulfill_at": "soon"}

    response = api.post("orders.json", {"order": body})

    assert (response.status_code, response.json()) == (422, {"errors": {"fulfill_at": ["is invalid"]}})
    assert not Order.objects.exists()


def test_a_location_from_which_something_is_to_be_sent_stays_active(in_shop: Shop) -> None:
    cellar = make_location(in_shop, name="Cellar")
    row = route_order_now(make_order())[0]

    objections = [list(locations.get_deactivation_objections(place)) for place in (row.assigned_location, cellar)]

    assert objections == [["The location has 1 unfinished fulfillment order."], []]


def test_a_hundred_lines_over_twenty_locations_are_routed_in_few_statements(in_shop: Shop) -> None:
    places = [stock.get_primary_location(), *(make_location(in_shop, name=f"Depot {number}") for number in range(19))]
    variants = []
    for number in range(20):
        variant = make_product(f"Mug {number}", prices=("1.00",)).variants.get()
        variant.inventory_item.tracked = True
        variant.inventory_item.save()
        set_stock(variant, places[number], 5)
        variants.append(variant)
    few_order = make_order(lines=[{"variant_id": variants[0].pk}])
    many_order = make_order(lines=[{"variant_id": variants[number % 20].pk} for number in range(100)])
    # Warm up, so that queries that a process runs only once are not counted.
    route_order_now(make_order(lines=[{"variant_id": variants[0].pk}]))
    with CaptureQueriesContext(connection) as statements_of_few:
        route_order_now(few_order)

    with CaptureQueriesContext(connection) as statements:
        rows = route_order_now(many_order)

    assert len(rows) == 20
    assert len(statements) == len(statements_of_few) <= 20


def test_orders_that_were_never_routed_are_found(in_shop: Shop) -> None:
    old, routed, young, order = make_order(), make_order(), make_order(), make_order(fulfillment_status="fulfilled")
    route_order_now(routed)
    Order.objects.exclude(pk=young.pk).update(created_at=timezone.now() - timedelta(hours=7))
    Job.objects.all().delete()

    with all_shops_scope():
        routed_count = routing.enqueue_missing_routing(timezone.now())

    job = Job.objects.get(task=routing.ROUTE_TASK)
    assert (routed_count, job.arguments) == (1, {"order_id": old.pk})
    assert queue.run_job(job.key)
    assert FulfillmentOrder.objects.filter(order=old).count() == 1
    with all_shops_scope():
        assert routing.enqueue_missing_routing(timezone.now()) == 0
    assert order.fulfillment_status == "fulfilled"
