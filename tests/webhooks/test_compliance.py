from datetime import datetime, timedelta

import orjson
import pytest
from django.db.models.functions import Now
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.orders.models import Order
from apps.shops.domain.app_installation import install_app, uninstall_app
from apps.webhooks.domain import subscriptions, topics
from apps.webhooks.domain.engine import fan_out
from apps.webhooks.models import Delivery, Payload
from tests.support import factories
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order
from tests.support.types import JsonObject

pytestmark = pytest.mark.django_db


def create_subscribed_app(shop: Shop, *scopes: str) -> Installation:
    installation = factories.make_installation(shop, scopes)
    for topic in sorted(topics.COMPLIANCE_TOPICS):
        values = {"topic": topic, "uri": f"https://app{installation.pk}.example/{topic}", "api_version": "2026-10"}
        subscriptions.create_configured_subscription(installation.app, values, at=timezone.now())
    return installation


def create_customer_with_order(shop: Shop) -> Customer:
    with shop_scope(shop):
        return make_customer(email="ada@example.com")


def get_pending_deliveries(shop: Shop) -> list[tuple[int, str, JsonObject]]:
    while fan_out.create_deliveries().events:
        continue
    with shop_scope(shop):
        rows = Delivery.objects.select_related("payload").order_by("topic", "app_id")
        return [(row.app_id, row.topic, orjson.loads(bytes(row.payload.body))) for row in rows]


def run_due_jobs(shop: Shop, task: str) -> list[datetime]:
    with shop_scope(shop):
        return list(Job.objects.filter(task=task).order_by("pk").values_list("due_at", flat=True))


def let_time_pass(shop: Shop, task: str) -> None:
    with shop_scope(shop):
        Job.objects.filter(task=task).update(due_at=Now())
        keys = list(Job.objects.filter(task=task).values_list("key", flat=True))
    for key in keys:
        assert queue.run_job(key)


def test_apps_that_see_customers_are_asked_for_what_they_know(shop: Shop) -> None:
    sees, _ = create_subscribed_app(shop, "read_customers"), create_subscribed_app(shop, "read_products")
    customer = create_customer_with_order(shop)
    order = make_order(shop, customer={"id": customer.pk})

    with shop_scope(Shop.objects.get(pk=shop.pk)):
        personal_data.export_data(customer, actor="system", at=timezone.now())

    ((app, topic, payload),) = get_pending_deliveries(shop)
    assert (app, topic) == (sees.app_id, "customers/data_request")
    assert payload.pop("data_request")["id"] > 0
    contact = {"id": customer.pk, "email": "ada@example.com", "phone": None}
    expected = {"shop_id": shop.pk, "shop_domain": shop.domain, "customer": contact}
    assert payload == {**expected, "orders_requested": [order.pk]}


def test_all_apps_receive_the_erasure_request_after_ten_days_by_number(shop: Shop) -> None:
    first, two = create_subscribed_app(shop, "read_customers"), create_subscribed_app(shop, "read_products")
    now = timezone.now()
    customer = create_customer_with_order(shop)
    with shop_scope(shop):
        personal_data.redact_customer(customer, actor="system", at=now)
    before = get_pending_deliveries(shop)

    assert run_due_jobs(shop, "customers.publish_redact_webhook") == [now + timedelta(days=10)]
    let_time_pass(shop, "customers.publish_redact_webhook")

    contact = {"id": customer.pk, "email": None, "phone": None}
    payload = {"shop_id": shop.pk, "shop_domain": shop.domain, "customer": contact, "orders_to_redact": []}
    assert before == []
    assert get_pending_deliveries(shop) == [
        (app, "customers/redact", payload) for app in sorted((first.app_id, two.app_id))
    ]


def test_customers_with_a_disputable_order_are_redacted_after_half_a_year(shop: Shop) -> None:
    create_subscribed_app(shop)
    customer = create_customer_with_order(shop)
    order = make_order(shop, customer={"id": customer.pk})
    with shop_scope(shop):
        personal_data.redact_customer(customer, actor="system", at=timezone.now())
        placed = Order.objects.get(pk=order.pk).processed_at

    assert run_due_jobs(shop, "customers.publish_redact_webhook") == [placed + timedelta(days=183)]
    let_time_pass(shop, "customers.publish_redact_webhook")

    ((_, _, payload),) = get_pending_deliveries(shop)
    assert payload["orders_to_redact"] == [order.pk]


def test_an_uninstalled_app_receives_the_shop_erasure_after_two_days(shop: Shop) -> None:
    leaves, stays, now = create_subscribed_app(shop), create_subscribed_app(shop), timezone.now()
    uninstall_app(leaves, actor="system", at=now)
    before = get_pending_deliveries(shop)

    assert run_due_jobs(shop, "webhooks.send_shop_redact") == [now + timedelta(hours=48)]
    let_time_pass(shop, "webhooks.send_shop_redact")

    payload = {"shop_id": shop.pk, "shop_domain": shop.domain}
    assert before == []
    assert get_pending_deliveries(shop) == [(leaves.app_id, "shop/redact", payload)]
    assert stays.uninstalled_at is None


def test_an_app_that_came_back_keeps_what_it_knows(shop: Shop) -> None:
    installation = create_subscribed_app(shop)
    uninstall_app(installation, actor="system", at=timezone.now())
    install_app(installation.app, shop, scopes=(), actor="system", at=timezone.now())

    let_time_pass(shop, "webhooks.send_shop_redact")

    assert get_pending_deliveries(shop) == []


def test_an_app_that_asked_for_nothing_leaves_nothing_behind(shop: Shop) -> None:
    uninstall_app(factories.make_installation(shop, ()), actor="system", at=timezone.now())

    assert run_due_jobs(shop, "webhooks.send_shop_redact") == []


def test_requested_personal_data_is_erased_with_the_customer(shop: Shop) -> None:
    create_subscribed_app(shop, "read_customers")
    customer = create_customer_with_order(shop)
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        personal_data.export_data(customer, actor="system", at=timezone.now())
    ((_, _, payload),) = get_pending_deliveries(shop)

    with shop_scope(shop):
        personal_data.redact_customer(customer, actor="system", at=timezone.now())

    assert payload["customer"]["email"] == "ada@example.com"
    with all_shops_scope():
        assert {bytes(body) for body in Payload.objects.values_list("body", flat=True)} <= {b""}
