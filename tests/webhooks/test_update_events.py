"""Tests of events that tell apps about changes to a resource by way of another one: stock, orders, deleted products."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest
from django.db.models import Model
from django.utils import timezone

from apps.catalog.domain import products
from apps.catalog.domain.notifications import stock_updates
from apps.catalog.models import DelayedUpdate, Product, Variant
from apps.core.events.models import Event
from apps.core.events.topics import topics
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.jobs.periodic_tasks import Every
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import StockMovement
from apps.orders.domain import payments
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order, make_variant
from tests.support.periodic import run_periodic_tasks
from tests.support.webhooks import make_subscription

TOPICS = ("products/update", "customers/update", "customers/purchasing_summary", "orders/updated")


@pytest.fixture
def heard_shop(shop: Shop) -> Iterator[Shop]:
    """Enter the scope of the shop, in which an app subscribes to the topics of these tests."""
    installation = factories.make_installation(shop)
    for topic in TOPICS:
        make_subscription(installation, f"https://apps.example.com/{topic}", topic=topic)
    heard = Shop.objects.get(pk=shop.pk)
    with shop_scope(heard):
        yield heard


def get_payloads(topic: str) -> list[dict[str, Any]]:
    return [(event.payload or {})["2026-07"] for event in Event.objects.filter(topic=topic).order_by("pk")]


def get_told_sales() -> list[int]:
    """Return how many units of the only product were sold, according to each event."""
    return [-payload["variants"][0]["inventory_quantity"] for payload in get_payloads("products/update")]


START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def sell(*variants: Variant, seconds: int = 0) -> None:
    """Sell an item of each variant, some seconds after the start."""
    location = stock.get_primary_location().pk
    moves = [StockChange(variant.inventory_item_id, location, -1) for variant in variants]
    at = START + timedelta(seconds=seconds)
    movements.apply_stock_changes(moves, reason=StockMovement.Reason.SALE, actor="system", at=at)


def record_waiting_updates(seconds: int) -> int:
    with all_shops_scope():
        return stock_updates.record_waiting_updates(START + timedelta(seconds=seconds))


def test_a_product_under_load_is_reported_every_few_seconds(heard_shop: Shop) -> None:
    variant = make_variant(heard_shop, stock=100)

    for second in range(12):
        sell(variant, seconds=second)

    # Only the changes after 0, 5 and 10 seconds were reported at once.
    assert get_told_sales() == [1, 6, 11]
    assert record_waiting_updates(seconds=14) == 0
    assert record_waiting_updates(seconds=15) == 1
    assert get_told_sales() == [1, 6, 11, 12]
    # An update that was reported late also begins a quiet period.
    sell(variant, seconds=16)
    assert get_told_sales() == [1, 6, 11, 12]
    assert record_waiting_updates(seconds=20) == 1
    assert record_waiting_updates(seconds=100) == 0
    assert get_told_sales() == [1, 6, 11, 12, 13]


def test_stock_changes_of_one_transaction_are_joined_per_product(heard_shop: Shop) -> None:
    first, second = (make_variant(heard_shop, stock=9, sku=sku) for sku in ("A", "B"))

    sell(first, second, first)

    payloads = get_payloads("products/update")
    quantities = {payload["id"]: payload["variants"][0]["inventory_quantity"] for payload in payloads}
    assert len(payloads) == 2
    assert quantities == {first.product_id: -2, second.product_id: -1}


def test_the_sweep_tells_updates_that_wait(heard_shop: Shop) -> None:
    variant = make_variant(heard_shop, stock=9)
    sell(variant, seconds=-60)
    sell(variant, seconds=-58)
    assert get_told_sales() == [1]

    run_periodic_tasks(Every.SWEEP)

    assert get_told_sales() == [1, 2]


def test_an_update_that_fails_does_not_hold_up_others(heard_shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    variants = [make_variant(heard_shop, stock=9, sku=sku) for sku in ("A", "B")]
    for variant in variants:
        sell(variant)
        sell(variant)
    broken = variants[0].product_id
    render = topics["products/update"].render_together
    assert render is not None

    def fail_for_one(rows: Sequence[Model], version: str) -> Sequence[Mapping[str, object]]:
        assert rows[0].pk != broken, "broken"
        return render(rows, version)

    with patch.dict(topics, {"products/update": replace(topics["products/update"], render_together=fail_for_one)}):
        assert record_waiting_updates(seconds=5) == 1

    assert f"product {broken}" in caplog.text
    assert list(DelayedUpdate.objects.filter(is_waiting=True).values_list("product_id", flat=True)) == [broken]
    assert record_waiting_updates(seconds=5) == 1


def test_waiting_updates_of_a_read_only_shop_wait(heard_shop: Shop) -> None:
    variant = make_variant(heard_shop, stock=9)
    sell(variant)
    sell(variant)
    Shop.objects.filter(pk=heard_shop.pk).update(read_only_at=timezone.now())

    assert record_waiting_updates(seconds=5) == 0

    assert DelayedUpdate.objects.get().is_waiting


def test_stock_changes_write_no_updates_without_subscribers(in_shop: Shop) -> None:
    sell(make_variant(in_shop, stock=9))

    assert not DelayedUpdate.objects.exists()
    assert not Event.objects.filter(topic="products/update").exists()


def test_orders_and_payments_update_their_customer(heard_shop: Shop) -> None:
    customer = make_customer(first_name="Ada", email="ada@example.com")
    order = make_order(heard_shop, customer={"id": customer.pk})

    payments.create_transaction(order, {"kind": "sale", "amount": Decimal("5.00")}, actor="system", at=timezone.now())

    told = [(payload["orders_count"], payload["total_spent"]) for payload in get_payloads("customers/update")]
    assert told == [(1, "0.00"), (1, "5.00")]
    summary = get_payloads("customers/purchasing_summary")[-1]
    assert summary.pop("occurredAt").endswith("Z")
    assert summary == {
        "customerId": f"gid://platform/Customer/{customer.pk}",
        "numberOfOrders": 1,
        "amountSpent": {"amount": "5.00", "currencyCode": "USD"},
        "lastOrderId": f"gid://platform/Order/{order.pk}",
    }


def test_deleting_a_product_tells_the_orders_that_contain_it(heard_shop: Shop) -> None:
    variant = make_variant(heard_shop, stock=9)
    order = make_order(heard_shop, lines=[{"variant_id": variant.pk, "quantity": 1}])
    make_order(heard_shop)

    products.delete_product(Product.objects.get(pk=variant.product_id), actor="app:1", at=timezone.now())
    assert get_payloads("orders/updated") == []
    for job in Job.objects.filter(task="orders.record_updates"):
        queue.run_job(job.key)

    (payload,) = get_payloads("orders/updated")
    assert (payload["id"], payload["line_items"][0]["product_exists"]) == (order.pk, False)
    assert Event.objects.get(topic="orders/updated").actor == "app:1"


def test_a_second_fulfillment_tells_the_first_about_its_line_items(heard_shop: Shop, api: ApiClient) -> None:
    make_subscription(api.installation, "https://apps.example.com/fulfillments", topic="fulfillments/update")
    order = make_order(heard_shop)
    for job in Job.objects.filter(task="fulfillment.route_order"):
        queue.run_job(job.key)
    (row,) = api.get(f"orders/{order.pk}/fulfillment_orders.json").json()["fulfillment_orders"]
    part = {
        "fulfillment_order_id": row["id"],
        "fulfillment_order_line_items": [{"id": row["line_items"][0]["id"], "quantity": 1}],
    }
    body = {"fulfillment": {"line_items_by_fulfillment_order": [part]}}
    first = api.post("fulfillments.json", body).json()["fulfillment"]

    assert api.post("fulfillments.json", body).status_code == 201

    (payload,) = get_payloads("fulfillments/update")
    assert payload["id"] == first["id"]
    assert (first["line_items"][0]["fulfillment_status"], payload["line_items"][0]["fulfillment_status"]) == (
        "partial",
        "fulfilled",
    )
