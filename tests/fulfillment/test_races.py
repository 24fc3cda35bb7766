from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import IntegrityError
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.jobs.models import Job
from apps.core.tenancy.models import App, Shop
from apps.fulfillment.domain import consistency_checks, fulfillments
from apps.fulfillment.domain.fulfillment_orders import moves, requests, routing, transitions
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.domain.services import polling, responses
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentService, Pull
from apps.inventory.models import InventoryItem, InventoryLevel, Location
from apps.orders.models import LineItem
from apps.webhooks.models import Delivery
from tests.support import factories
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted, without_constraint
from tests.support.factories import make_installation
from tests.support.factories.fulfillment import find_wrong_quantities, make_fulfillment_order, make_service
from tests.support.factories.inventory import get_available, get_ledger, make_location
from tests.support.factories.orders import make_order, make_variant
from tests.support.types import JsonObject

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]

Do = Callable[[FulfillmentOrder], object]


def get_actor_arguments() -> JsonObject:
    return {"actor": "system", "at": timezone.now()}


def send_fulfillment(row: FulfillmentOrder) -> Fulfillment:
    return fulfillments.create_fulfillment([FulfillmentPart(row)], **get_actor_arguments())


def move_elsewhere(row: FulfillmentOrder) -> object:
    target = Location.objects.filter(legacy=False).exclude(pk=row.assigned_location_id).order_by("pk").first()
    assert target is not None
    return moves.move_to_location(row, target.pk, **get_actor_arguments())


def act(action: Callable[..., object], **options: str) -> Do:
    return lambda row: action(row, **options, **get_actor_arguments())


PAIRS: dict[str, tuple[Do, Do, tuple[str, str]]] = {
    "two fulfillments": (send_fulfillment, send_fulfillment, ("open", "unsubmitted")),
    "fulfill and cancel": (send_fulfillment, act(transitions.cancel_fulfillment_order), ("open", "unsubmitted")),
    "fulfill and hold": (
        send_fulfillment,
        act(transitions.hold_fulfillment_order, reason="other"),
        ("open", "unsubmitted"),
    ),
    "fulfill and move": (send_fulfillment, move_elsewhere, ("open", "unsubmitted")),
    "two moves": (move_elsewhere, move_elsewhere, ("open", "unsubmitted")),
    "accept and reject": (act(requests.accept_request), act(requests.reject_request), ("open", "submitted")),
    "accept and cancel": (
        act(requests.accept_request),
        act(transitions.cancel_fulfillment_order),
        ("open", "submitted"),
    ),
    "two requests": (act(requests.request_fulfillment), act(requests.request_fulfillment), ("open", "rejected")),
    "close and give back": (
        act(transitions.close_fulfillment_order),
        act(requests.accept_cancellation),
        ("in_progress", "cancellation_requested"),
    ),
}


@pytest.mark.race(control="test_units_are_assigned_twice_without_the_orders_lock")
@pytest.mark.parametrize("pair", PAIRS)
def test_one_of_two_exclusive_actions_happens(pair: str, shop: Shop) -> None:
    first, second, (status, request) = PAIRS[pair]
    at_service = request != "unsubmitted"
    service = make_service(factories.make_installation(shop, []).app) if at_service else None
    make_location(shop)
    row = make_fulfillment_order(service, status=status, request_status=request)

    outcomes = run_concurrently(shop, lambda: first(row), lambda: second(row))

    assert sum(isinstance(outcome, DomainError) for outcome in outcomes) == 1, outcomes
    assert find_wrong_quantities() == []
    line = LineItem.objects.get()
    assert line.fulfilled_quantity + line.fulfillable_quantity == line.quantity
    if pair == "two requests":
        assert Delivery.objects.filter(topic="fulfillment_order_notification").count() == 1


@pytest.mark.race(control="test_units_are_assigned_twice_without_the_orders_lock")
def test_twenty_parcels_of_one_unit_each_hold_no_more_than_there_are(shop: Shop) -> None:
    row = make_fulfillment_order(lines=[{"title": "Mug", "price": Decimal(1), "quantity": 5}])
    line = row.lines.get().pk

    def send_one() -> Fulfillment:
        part = FulfillmentPart(row, [{"id": line, "quantity": 1}])
        return fulfillments.create_fulfillment([part], **get_actor_arguments())

    outcomes = run_concurrently(shop, *[send_one] * 12)

    assert sum(isinstance(outcome, Fulfillment) for outcome in outcomes) == 5
    names = Fulfillment.objects.order_by("number").values_list("name", flat=True)
    assert list(names) == [f"#1001.{number}" for number in range(1, 6)]
    assert LineItem.objects.get().fulfillable_quantity == 0


@pytest.mark.race(control="test_units_are_assigned_twice_without_the_orders_lock")
def test_an_order_is_routed_once_by_many_workers(shop: Shop) -> None:
    order = make_order(shop)

    run_concurrently(shop, *[lambda: routing.route_order(order.pk, at=timezone.now())] * 6)

    assert FulfillmentOrder.objects.count() == 1
    assert list(consistency_checks.find_wrong_fulfillable_quantities()) == []


def test_units_are_assigned_twice_without_the_orders_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock on the order: both requests route the same items."""
    order = make_order()

    def routed() -> list[FulfillmentOrder]:
        return routing.route_order(order.pk, at=timezone.now())

    run_unguarded(shop, routed, routed, locks=["orders_order"])

    assert FulfillmentOrder.objects.count() == 2
    assert list(consistency_checks.find_wrong_fulfillable_quantities()) != []
    assert not FulfillmentLine.objects.exists()


Work = Callable[[], object]


def build_service_work(app: App, handle: str) -> Work:
    return lambda: make_service(app, name="Depot", callback_url=f"https://{handle}.example/")


def count_service_locations() -> int:
    return Location.objects.filter(legacy=True).count()


@pytest.mark.race(control="test_two_services_have_one_name_without_the_unique_key")
def test_one_of_two_services_with_the_same_name_is_created(shop: Shop) -> None:
    app = make_installation(shop).app

    works = [build_service_work(app, handle) for handle in ("one", "two")]
    results = run_concurrently(shop, *works, expected_errors=IntegrityError)

    assert sorted(type(result).__name__ for result in results) == ["FulfillmentService", "IntegrityError"]
    assert count_service_locations() == 1


def test_two_services_have_one_name_without_the_unique_key(shop: Shop) -> None:
    """Show what goes wrong without the unique constraint: both services are created."""
    app = make_installation(shop).app

    with without_constraint(FulfillmentService, "shop_id", "name"):
        results = run_concurrently(shop, build_service_work(app, "one"), build_service_work(app, "two"))
        assert {type(result).__name__ for result in results} == {"FulfillmentService"}

    assert count_service_locations() == 2


@pytest.mark.race(no_guard="the rows are skipped where another scheduler holds them, else found not to be due any more")
def test_two_schedulers_begin_a_round_once(shop: Shop) -> None:
    app = make_installation(shop).app
    for number in range(5):
        make_service(app, name=f"Depot {number}", inventory_management=True, tracking_support=True)
    now = timezone.now()

    results = run_concurrently(shop, *[lambda: polling.begin_due_rounds(now)] * 3)

    assert sum(results) == 10
    assert Job.objects.filter(task=polling.PULL_TASK).count() == 10
    assert {*Pull.objects.values_list("round", flat=True)} == {1}


class ServiceStock:
    """A fulfillment service with ten mugs, which are sold while the service reports its stock."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        installation = make_installation(shop)
        self.service = make_service(installation.app, permits_sku_sharing=True)
        self.location = self.service.location
        self.variant = make_variant(shop, sku="MUG", stock=0, fulfillment_service=self.service.handle)
        self.item = InventoryItem.objects.get(pk=self.variant.inventory_item_id)
        self.reported(10)()

    def reported(self, count: int) -> Work:
        return lambda: responses.set_reported_stock(self.service, {"MUG": count}, hold=lambda: None, at=timezone.now())

    def sold(self, count: int) -> Work:
        line = {"variant_id": self.variant.pk, "quantity": count}
        return lambda: make_order(lines=[line], inventory_behaviour="decrement_obeying_policy")

    def left(self) -> int:
        """Return the available quantity, after comparing it with the sum of the stock changes."""
        total_available = sum(InventoryLevel.objects.filter(item=self.item).values_list("available", flat=True))
        changes = sum(delta for delta, *_ in get_ledger(self.item, self.location))
        assert changes == get_available(self.item, self.location)
        return total_available


@pytest.mark.race(control="test_a_report_subtracts_sold_units_again_without_the_levels_lock")
def test_a_stock_report_during_a_sale_keeps_the_ledger_consistent(shop: Shop) -> None:
    shelf = ServiceStock(shop)

    run_while_uncommitted(shop, shelf.sold(2), shelf.reported(7))
    assert shelf.left() == 7, "the report came last"

    run_while_uncommitted(shop, shelf.reported(9), shelf.sold(2))
    assert shelf.left() == 7, "the sale came last"


def test_a_report_subtracts_sold_units_again_without_the_levels_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: a report that read the level before the sale subtracts the sale twice."""
    shelf = ServiceStock(shop)

    run_unguarded(shop, shelf.sold(2), shelf.reported(7), locks={"inventory_inventorylevel", "inventory_inventoryitem"})

    assert shelf.left() == 5
