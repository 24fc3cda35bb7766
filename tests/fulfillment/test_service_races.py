"""Concurrency tests on PostgreSQL for creating fulfillment services and for their stock reports."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from apps.fulfillment.domain import service_polling, stock_sync
from apps.fulfillment.models import FulfillmentService, Pull
from apps.ground.tenancy import shop_scope
from apps.inventory.domain import stock
from apps.inventory.models import InventoryItem, Location
from apps.jobs.models import Job
from apps.shops.models import App, Shop
from tests.factories import make_installation
from tests.fulfillment.factories import make_service
from tests.inventory.factories import get_available, get_ledger
from tests.orders.factories import make_order, make_variant
from tests.races import run_concurrently, run_unguarded, run_while_uncommitted, without_constraint

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

Work = Callable[[], Any]


def build_service_work(app: App, handle: str) -> Work:
    """Return a function that creates a service named "Depot" with its own callback URL."""
    return lambda: make_service(app, name="Depot", callback_url=f"https://{handle}.example/")


def create_legacy_service(shop: Shop) -> int:
    with shop_scope(shop):
        return Location.objects.filter(legacy=True).count()


@pytest.mark.race(control="test_without_the_unique_key_two_services_have_one_name")
def test_of_two_services_of_one_name_one_is_made(shop: Shop) -> None:
    app = make_installation(shop).app

    results = run_concurrently(
        shop, build_service_work(app, "one"), build_service_work(app, "two"), expected_errors=IntegrityError
    )

    assert sorted(type(result).__name__ for result in results) == ["FulfillmentService", "IntegrityError"]
    assert create_legacy_service(shop) == 1


def test_without_the_unique_key_two_services_have_one_name(shop: Shop) -> None:
    """Show what goes wrong without the unique constraint: both services are created."""
    app = make_installation(shop).app

    with without_constraint(FulfillmentService, "shop_id", "name"):
        results = run_concurrently(shop, build_service_work(app, "one"), build_service_work(app, "two"))
        assert {type(result).__name__ for result in results} == {"FulfillmentService"}

    assert create_legacy_service(shop) == 2


@pytest.mark.race(no_guard="the rows are skipped where another scheduler holds them, else found not to be due any more")
def test_two_schedulers_begin_a_round_once(shop: Shop) -> None:
    with shop_scope(shop):
        app = make_installation(shop).app
        for number in range(5):
            make_service(app, name=f"Depot {number}", inventory_management=True, tracking_support=True)
    now = timezone.now()

    results = run_concurrently(shop, *[lambda: service_polling.begin_due_rounds(now)] * 3)

    assert sum(results) == 10
    with shop_scope(shop):
        assert Job.objects.filter(task=service_polling.PULL_TASK).count() == 10
        assert {*Pull.objects.values_list("round", flat=True)} == {1}


class ServiceStock:
    """A fulfillment service with ten mugs, which are sold while the service reports its stock."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        installation = make_installation(shop)
        with shop_scope(shop):
            self.service = make_service(installation.app, permits_sku_sharing=True)
            self.location = self.service.location
        self.variant = make_variant(shop, sku="MUG", stock=0, fulfillment_service=self.service.handle)
        with shop_scope(shop):
            self.item = InventoryItem.objects.get(pk=self.variant.inventory_item_id)
            self.reported(10)()

    def reported(self, count: int) -> Work:
        """Return a function that reports ``count`` mugs."""
        return lambda: stock_sync.set_reported_stock(self.service, {"MUG": count}, hold=lambda: None, at=timezone.now())

    def sold(self, count: int) -> Work:
        """Return a function that orders ``count`` mugs from the available stock."""
        line = {"variant_id": self.variant.pk, "quantity": count}
        return lambda: make_order(lines=[line], inventory_behaviour="decrement_obeying_policy")

    def left(self) -> int:
        """Return the available quantity, after comparing it with the sum of the stock changes."""
        with shop_scope(self.shop):
            total_available = stock.get_total_available([self.item.pk])[self.item.pk]
        assert sum(delta for delta, *_ in get_ledger(self.item, self.location)) == get_available(
            self.item, self.location
        )
        return total_available


@pytest.mark.race(control="test_without_the_levels_lock_a_report_takes_what_was_sold_off_again")
def test_a_stock_report_during_a_sale_keeps_the_ledger_consistent(shop: Shop) -> None:
    shelf = ServiceStock(shop)

    run_while_uncommitted(shop, shelf.sold(2), shelf.reported(7))
    assert shelf.left() == 7, "the report came last"

    run_while_uncommitted(shop, shelf.reported(9), shelf.sold(2))
    assert shelf.left() == 7, "the sale came last"


def test_without_the_levels_lock_a_report_takes_what_was_sold_off_again(shop: Shop) -> None:
    """Show what goes wrong without the lock: a report that read the level before the sale subtracts the sale twice."""
    shelf = ServiceStock(shop)

    run_unguarded(shop, shelf.sold(2), shelf.reported(7), locks={"inventory_inventorylevel", "inventory_inventoryitem"})

    assert shelf.left() == 5
