"""Tests with the real client: fulfillment services and their stock reports, over HTTP."""

from typing import Any

import pytest
import shopify
from django.utils import timezone
from pyactiveresource.connection import ResourceNotFound

from apps.fulfillment.demo_warehouse import ApiClient, Warehouse
from apps.fulfillment.domain import service_polling
from apps.fulfillment.models import FulfillmentService, Pull, PullAttempt
from apps.ground.tenancy import shop_scope
from apps.jobs.domain import queue
from apps.shops.models import Shop
from tests import factories
from tests.client.conftest import Connect, LiveServer, stop_process
from tests.inventory.factories import get_available, make_item, set_stock
from tests.timing import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

VALUES = {"name": "North Depot", "callback_url": "https://depot.example/callbacks", "inventory_management": True}


def test_services_are_made_listed_changed_and_removed(api_client_factory: Connect) -> None:
    api_client_factory()
    fulfillment_service = shopify.FulfillmentService.create(VALUES)

    matching_fulfillment_service = shopify.FulfillmentService.find(fulfillment_service.id)
    matching_fulfillment_service.name = "South Depot"
    saved = matching_fulfillment_service.save()

    assert saved
    assert [(row.name, row.handle) for row in shopify.FulfillmentService.find()] == [("South Depot", "north-depot")]
    assert shopify.Location.find(fulfillment_service.location_id).name == "South Depot"
    assert (matching_fulfillment_service.callback_url, matching_fulfillment_service.service_name) == (
        "https://depot.example/callbacks/",
        "South Depot",
    )
    matching_fulfillment_service.destroy()
    with pytest.raises(ResourceNotFound):
        shopify.FulfillmentService.find(fulfillment_service.id)


def test_errors_are_reported_at_their_fields(api_client_factory: Connect) -> None:
    api_client_factory()
    shopify.FulfillmentService.create(VALUES)

    second_fulfillment_service = shopify.FulfillmentService.create(VALUES)
    nowhere = shopify.FulfillmentService.create({"name": "West Depot", "callback_url": "https://10.0.0.1/"})

    assert second_fulfillment_service.errors.full_messages() == ["name has already been taken"]
    assert nowhere.errors.full_messages() == ["callback_url is not an allowed address"]


def test_another_apps_services_are_seen_on_request_and_not_written(api_client_factory: Connect) -> None:
    api_client_factory()
    theirs = shopify.FulfillmentService.create(VALUES)
    api_client_factory()

    assert shopify.FulfillmentService.find() == []
    assert [row.id for row in shopify.FulfillmentService.find(scope="all")] == [theirs.id]
    with pytest.raises(ResourceNotFound):
        shopify.FulfillmentService.find(theirs.id).destroy()


def test_a_warehouse_registers_itself_and_tells_its_stock(server: LiveServer, server_shop: Shop, settings: Any) -> None:
    settings.OUTGOING_ALLOW, settings.BRAND = ["127.0.0.1"], "shopify"
    installation = factories.make_installation(server_shop)
    interface = ApiClient(server.url, factories.make_token(installation))
    with shop_scope(server_shop), Warehouse(interface, [installation.app.api_secret], stock={"MUG": 12}) as warehouse:
        service = FulfillmentService.objects.get(pk=warehouse.service["id"])
        mug = make_item(server_shop, sku="MUG")
        set_stock(mug, service.location, 1)

        assert queue.run_job(service_polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now()).key)
        assert get_available(mug, service.location) == 12
        warehouse.behavior.bad_response, warehouse.stock = "html", {"MUG": 13}
        assert queue.run_job(service_polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now()).key)

        assert get_available(mug, service.location) == 12
        assert [row.outcome for row in PullAttempt.objects.order_by("id")] == ["ok", "bad_answer"]
        assert all(call.startswith("GET /fetch_stock?shop=") for call in warehouse.calls)
    with Warehouse(interface, [installation.app.api_secret]) as second_warehouse:
        assert second_warehouse.service["id"] == service.pk
        assert second_warehouse.service["callback_url"] == second_warehouse.url


def test_the_command_makes_its_app_and_works_until_it_is_stopped(server: LiveServer, server_shop: Shop) -> None:
    options = ("--shop", server_shop.domain, "--port", "0", "--stock", "MUG=3")
    running = server.start("manage", "demo_warehouse", *options)
    try:
        with shop_scope(server_shop):
            service = wait_until(
                FulfillmentService.objects.first, lambda matching_service: matching_service is not None, seconds=60
            )
        assert (service.name, service.callback_url.startswith("http://127.0.0.1:")) == ("Demo warehouse", True)
    finally:
        stop_process(running)
    assert running.returncode == 0
