"""Concurrency tests on PostgreSQL: one of two conflicting actions succeeds, and the other is refused.

See check M8 in docs/reliability.md.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.fulfillment.domain import (
    consistency_checks,
    fulfillment_requests,
    fulfillments,
    location_moves,
    routing,
    transitions,
)
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder
from apps.ground.exceptions import DomainError
from apps.ground.tenancy import shop_scope
from apps.inventory.models import Location
from apps.orders.models import LineItem
from apps.shops.models import Shop
from apps.webhooks.models import Delivery
from tests import factories
from tests.fulfillment.factories import make_fulfillment_order, make_service
from tests.inventory.factories import make_location
from tests.orders.factories import make_order
from tests.races import run_concurrently, run_unguarded

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

Do = Callable[[FulfillmentOrder], Any]


def get_actor_arguments() -> dict[str, Any]:
    return {"actor": "system", "at": timezone.now()}


def send_fulfillment(row: FulfillmentOrder) -> Fulfillment:
    return fulfillments.create_fulfillment([FulfillmentPart(row)], **get_actor_arguments())


def move_elsewhere(row: FulfillmentOrder) -> location_moves.MoveResult:
    target = Location.objects.filter(legacy=False).exclude(pk=row.assigned_location_id).order_by("pk").first()
    assert target is not None
    return location_moves.move_to_location(row, target.pk, **get_actor_arguments())


PAIRS: dict[str, tuple[Do, Do, tuple[str, str]]] = {
    "two fulfillments": (send_fulfillment, send_fulfillment, ("open", "unsubmitted")),
    "fulfill and cancel": (
        send_fulfillment,
        lambda row: transitions.cancel_fulfillment_order(row, **get_actor_arguments()),
        ("open", "unsubmitted"),
    ),
    "fulfill and hold": (
        send_fulfillment,
        lambda row: transitions.hold_fulfillment_order(row, reason="other", **get_actor_arguments()),
        ("open", "unsubmitted"),
    ),
    "fulfill and move": (send_fulfillment, move_elsewhere, ("open", "unsubmitted")),
    "two moves": (move_elsewhere, move_elsewhere, ("open", "unsubmitted")),
    "accept and reject": (
        lambda row: fulfillment_requests.accept_request(row, **get_actor_arguments()),
        lambda row: fulfillment_requests.reject_request(row, **get_actor_arguments()),
        ("open", "submitted"),
    ),
    "accept and cancel": (
        lambda row: fulfillment_requests.accept_request(row, **get_actor_arguments()),
        lambda row: transitions.cancel_fulfillment_order(row, **get_actor_arguments()),
        ("open", "submitted"),
    ),
    "two requests": (
        lambda row: fulfillment_requests.request_fulfillment(row, **get_actor_arguments()),
        lambda row: fulfillment_requests.request_fulfillment(row, **get_actor_arguments()),
        ("open", "rejected"),
    ),
    "close and give back": (
        lambda row: transitions.close_fulfillment_order(row, **get_actor_arguments()),
        lambda row: fulfillment_requests.accept_cancellation(row, **get_actor_arguments()),
        ("in_progress", "cancellation_requested"),
    ),
}


@pytest.mark.race(control="test_without_the_orders_lock_units_are_given_out_twice")
@pytest.mark.parametrize("pair", PAIRS)
def test_of_two_that_exclude_each_other_one_happens(pair: str, shop: Shop) -> None:
    first, second, (status, request) = PAIRS[pair]
    with shop_scope(shop):
        at_service = request != "unsubmitted"
        service = make_service(factories.make_installation(shop, []).app) if at_service else None
        make_location(shop)
        row = make_fulfillment_order(service, status=status, request_status=request)

    outcomes = run_concurrently(shop, lambda: first(row), lambda: second(row))

    assert sum(isinstance(outcome, DomainError) for outcome in outcomes) == 1, outcomes
    with shop_scope(shop):
        assert [
            *consistency_checks.find_wrong_fulfillable_quantities(),
            *consistency_checks.find_wrong_fulfilled_quantities(),
        ] == []
        line = LineItem.objects.get()
        assert line.fulfilled_quantity + line.fulfillable_quantity == line.quantity
        if pair == "two requests":
            assert Delivery.objects.filter(topic="fulfillment_order_notification").count() == 1


@pytest.mark.race(control="test_without_the_orders_lock_units_are_given_out_twice")
def test_twenty_parcels_of_one_unit_each_hold_no_more_than_there_are(shop: Shop) -> None:
    with shop_scope(shop):
        row = make_fulfillment_order(lines=[{"title": "Mug", "price": Decimal(1), "quantity": 5}])
        line = row.lines.get().pk

    def send_one() -> Fulfillment:
        return fulfillments.create_fulfillment(
            [FulfillmentPart(row, [{"id": line, "quantity": 1}])], **get_actor_arguments()
        )

    outcomes = run_concurrently(shop, *[send_one] * 12)

    assert sum(isinstance(outcome, Fulfillment) for outcome in outcomes) == 5
    with shop_scope(shop):
        names = Fulfillment.objects.order_by("number").values_list("name", flat=True)
        assert list(names) == [f"#1001.{number}" for number in range(1, 6)]
        assert LineItem.objects.get().fulfillable_quantity == 0


@pytest.mark.race(control="test_without_the_orders_lock_units_are_given_out_twice")
def test_an_order_is_routed_once_by_many_workers(shop: Shop) -> None:
    order = make_order(shop)

    run_concurrently(shop, *[lambda: routing.route_order(order.pk, at=timezone.now())] * 6)

    with shop_scope(shop):
        assert FulfillmentOrder.objects.count() == 1
        assert list(consistency_checks.find_wrong_fulfillable_quantities()) == []


def test_without_the_orders_lock_units_are_given_out_twice(shop: Shop) -> None:
    """Show what goes wrong without the lock on the order: both requests route the same items."""
    with shop_scope(shop):
        order = make_order()

    def routed() -> list[FulfillmentOrder]:
        return routing.route_order(order.pk, at=timezone.now())

    run_unguarded(shop, routed, routed, locks=["orders_order"])

    with shop_scope(shop):
        assert FulfillmentOrder.objects.count() == 2
        assert list(consistency_checks.find_wrong_fulfillable_quantities()) != []
        assert not FulfillmentLine.objects.exists()
