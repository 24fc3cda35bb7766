"""Tests of events that report to apps changes to a resource by way of another one: stock, orders, deleted products."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest
from django.db.models import Model
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

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
from apps.customers.domain.lookup import PURCHASING_SUMMARY
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import StockMovement
from apps.orders.domain import deleted_products, payments
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order, make_variant
from tests.support.periodic import run_periodic_tasks
from tests.support.webhooks import make_subscription

TOPICS = ("products/update", "customers/update", "customers/purchasing_summary", "orders/updated")


@pytest.fixture
def subscribed_shop(shop: Shop) -> Iterator[Shop]:
    """Enter the scope of the shop, in which an app subscribes to the topics of these tests."""
    installation = factories.make_installation(shop)
    for topic in TOPICS:
        make_subscription(installation, f"https://apps.example.com/{topic}", topic=topic)
    subscribed = Shop.objects.get(pk=shop.pk)
    with shop_scope(subscribed):
        yield subscribed


def get_payloads(topic: str) -> list[dict[str, Any]]:
    return [(event.payload or {})["2026-10"] for event in Event.objects.filter(topic=topic).order_by("pk")]


def get_reported_sales() -> list[int]:
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


def test_a_product_under_load_is_reported_every_few_seconds(subscribed_shop: Shop) -> None:
    variant = make_variant(subscribed_shop, stock=100)

    for second in range(12):
        sell(variant, seconds=second)

    # Only the changes after 0, 5 and 10 seconds were reported at once.
    assert get_reported_sales() == [1, 6, 11]
    assert record_waiting_updates(seconds=14) == 0
    assert record_waiting_updates(seconds=15) == 1
    assert get_reported_sales() == [1, 6, 11, 12]
    # An update that was reported late also begins a quiet period.
    sell(variant, seconds=16)
    assert get_reported_sales() == [1, 6, 11, 12]
    assert record_waiting_updates(seconds=20) == 1
    assert record_waiting_updates(seconds=100) == 0
    assert get_reported_sales() == [1, 6, 11, 12, 13]


def test_stock_changes_of_one_transaction_are_joined_per_product(subscribed_shop: Shop) -> None:
    first, second = (make_variant(subscribed_shop, stock=9, sku=sku) for sku in ("A", "B"))

    sell(first, second, first)

    payloads = get_payloads("products/update")
    quantities = {payload["id"]: payload["variants"][0]["inventory_quantity"] for payload in payloads}
    assert len(payloads) == 2
    assert quantities == {first.product_id: -2, second.product_id: -1}


def test_the_sweep_reports_updates_that_wait(subscribed_shop: Shop) -> None:
    variant = make_variant(subscribed_shop, stock=9)
    sell(variant, seconds=-60)
    sell(variant, seconds=-58)
    assert get_reported_sales() == [1]

    run_periodic_tasks(Every.SWEEP)

    assert get_reported_sales() == [1, 2]


def test_an_update_that_fails_does_not_hold_up_others(subscribed_shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    variants = [make_variant(subscribed_shop, stock=9, sku=sku) for sku in ("A", "B")]
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
    # The failed update is put back for a minute.
    assert record_waiting_updates(seconds=64) == 0
    assert record_waiting_updates(seconds=65) == 1


def test_each_shop_has_a_share_of_a_sweep(subscribed_shop: Shop, other_shop: Shop) -> None:
    variants = [make_variant(subscribed_shop, stock=9, sku=sku) for sku in ("A", "B", "C")]
    for variant in [*variants, *variants]:
        sell(variant, seconds=-60)
    make_subscription(factories.make_installation(other_shop), "https://apps.example.com/b", topic="products/update")
    with shop_scope(Shop.objects.get(pk=other_shop.pk)):
        late = make_variant(other_shop, stock=9)
        sell(late)
        sell(late)

    with patch.object(stock_updates, "_BATCH_SIZE", 2):
        assert record_waiting_updates(seconds=5) == 2

    with all_shops_scope():
        waiting = list(
            DelayedUpdate.objects.filter(is_waiting=True).order_by("pk").values_list("product_id", flat=True)
        )
    assert waiting == [variant.product_id for variant in variants[1:]]


@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_fast_clock_silences_a_product_for_a_minute_at_most(subscribed_shop: Shop, is_waiting: bool) -> None:
    variant = make_variant(subscribed_shop, stock=9)
    sell(variant, seconds=3600)
    if is_waiting:
        sell(variant, seconds=3601)
    before = len(get_reported_sales())

    assert record_waiting_updates(seconds=1) == is_waiting
    sell(variant, seconds=30)

    assert (before, get_reported_sales()[-1]) == (1, 3 if is_waiting else 2)
    assert not DelayedUpdate.objects.get().is_waiting


def test_summaries_of_many_customers_are_read_together(
    subscribed_shop: Shop, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    customers = [make_customer(first_name="Ada", email=f"ada{number}@example.com") for number in range(3)]

    with django_assert_num_queries(1):
        summaries = topics[PURCHASING_SUMMARY].render_many([customers[2], *customers], "2026-10")

    assert [str(summary["customerId"]).rpartition("/")[2] for summary in summaries] == [
        str(customer.pk) for customer in (customers[2], *customers)
    ]


def test_the_orders_of_a_deleted_product_are_read_in_batches(subscribed_shop: Shop) -> None:
    variant = make_variant(subscribed_shop, stock=9)
    orders = [make_order(subscribed_shop, lines=[{"variant_id": variant.pk, "quantity": 1}] * 2) for _ in range(5)]

    with patch.object(deleted_products, "_ORDERS_PER_JOB", 2):
        products.delete_product(Product.objects.get(pk=variant.product_id), actor="app:1", at=timezone.now())

    jobs = Job.objects.filter(task="orders.record_updates").order_by("pk")
    pks = [order.pk for order in orders]
    assert [job.arguments["order_ids"] for job in jobs] == [pks[:2], pks[2:4], pks[4:]]


def test_waiting_updates_of_a_read_only_shop_wait(subscribed_shop: Shop) -> None:
    variant = make_variant(subscribed_shop, stock=9)
    sell(variant)
    sell(variant)
    Shop.objects.filter(pk=subscribed_shop.pk).update(read_only_at=timezone.now())

    assert record_waiting_updates(seconds=5) == 0

    assert DelayedUpdate.objects.get().is_waiting


def test_stock_changes_write_no_updates_without_subscribers(in_shop: Shop) -> None:
    sell(make_variant(in_shop, stock=9))

    assert not DelayedUpdate.objects.exists()
    assert not Event.objects.filter(topic="products/update").exists()


def test_orders_and_payments_update_their_customer(subscribed_shop: Shop) -> None:
    customer = make_customer(first_name="Ada", email="ada@example.com")
    order = make_order(subscribed_shop, customer={"id": customer.pk})

    payments.create_transaction(order, {"kind": "sale", "amount": Decimal("5.00")}, actor="system", at=timezone.now())

    reported = [(payload["orders_count"], payload["total_spent"]) for payload in get_payloads("customers/update")]
    assert reported == [(1, "0.00"), (1, "5.00")]
    summary = get_payloads("customers/purchasing_summary")[-1]
    assert summary.pop("occurredAt").endswith("Z")
    assert summary == {
        "customerId": f"gid://platform/Customer/{customer.pk}",
        "numberOfOrders": 1,
        "amountSpent": {"amount": "5.00", "currencyCode": "USD"},
        "lastOrderId": f"gid://platform/Order/{order.pk}",
    }


def test_deleting_a_product_reports_the_orders_that_contain_it(subscribed_shop: Shop) -> None:
    variant = make_variant(subscribed_shop, stock=9)
    order = make_order(subscribed_shop, lines=[{"variant_id": variant.pk, "quantity": 1}])
    make_order(subscribed_shop)

    products.delete_product(Product.objects.get(pk=variant.product_id), actor="app:1", at=timezone.now())
    assert get_payloads("orders/updated") == []
    for job in Job.objects.filter(task="orders.record_updates"):
        queue.run_job(job.key)

    (payload,) = get_payloads("orders/updated")
    assert (payload["id"], payload["line_items"][0]["product_exists"]) == (order.pk, False)
    assert Event.objects.get(topic="orders/updated").actor == "app:1"


def test_deleting_a_product_tells_the_fulfillments_that_contain_it(shop: Shop, api: ApiClient) -> None:
    """The app subscribes to no topic of orders."""
    make_subscription(api.installation, "https://apps.example.com/fulfillments", topic="fulfillments/update")
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        variant = make_variant(shop, stock=9)
        order = make_order(shop, lines=[{"variant_id": variant.pk, "quantity": 1}])
        for job in Job.objects.filter(task="fulfillment.route_order"):
            queue.run_job(job.key)
        (row,) = api.get(f"orders/{order.pk}/fulfillment_orders.json").json()["fulfillment_orders"]
        body = {"fulfillment": {"line_items_by_fulfillment_order": [{"fulfillment_order_id": row["id"]}]}}
        fulfillment = api.post("fulfillments.json", body).json()["fulfillment"]

        assert api.delete(f"products/{variant.product_id}.json").status_code == 200
        for job in Job.objects.filter(task="orders.record_updates"):
            queue.run_job(job.key)

        (payload,) = get_payloads("fulfillments/update")
        assert (payload["id"], payload["line_items"][0]["product_exists"]) == (fulfillment["id"], False)


def test_a_second_fulfillment_reports_the_line_items_of_the_first(subscribed_shop: Shop, api: ApiClient) -> None:
    make_subscription(api.installation, "https://apps.example.com/fulfillments", topic="fulfillments/update")
    order = make_order(subscribed_shop)
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
