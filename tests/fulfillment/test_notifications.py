import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.core.tenancy.models import Installation, Shop
from apps.demo.webhook_receiver import ReceiverBehavior, WebhookReceiver
from apps.fulfillment.domain.services import changes
from apps.fulfillment.models import FulfillmentService, MerchantRequest
from apps.shops.domain import app_installation
from apps.webhooks.models import Attempt, Delivery
from tests.support.factories import make_installation
from tests.support.factories.fulfillment import make_service
from tests.support.webhooks import run_dispatchers, wait_until_settled

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]


@pytest.fixture
def installation(shop: Shop) -> Installation:
    return make_installation(shop)


@pytest.fixture
def warehouse(installation: Installation, settings: Settings) -> Iterator[WebhookReceiver]:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    with WebhookReceiver([installation.app.api_secret]) as catcher:
        yield catcher


@pytest.fixture
def service(installation: Installation, warehouse: WebhookReceiver) -> FulfillmentService:
    return make_service(installation.app, callback_url=f"{warehouse.url}callbacks")


def send_notification(
    service: FulfillmentService, kind: MerchantRequest.Kind = MerchantRequest.Kind.FULFILLMENT
) -> None:
    changes.notify_service(service, kind, at=timezone.now())


def get_records() -> list[tuple[Any, ...]]:
    return list(Attempt.objects.order_by("id").values_list("number", "outcome", "status"))


def test_services_get_signed_callbacks(shop: Shop, service: FulfillmentService, warehouse: WebhookReceiver) -> None:
    with run_dispatchers():
        send_notification(service)
        send_notification(service, MerchantRequest.Kind.CANCELLATION)
        caught = warehouse.wait_for(2)
        assert wait_until_settled(shop) == {"done": 2}

    assert {delivery.path for delivery in caught} == {"/callbacks/fulfillment_order_notification"}
    bodies = [json.loads(delivery.body) for delivery in caught]
    assert sorted(body["kind"] for body in bodies) == ["CANCELLATION_REQUEST", "FULFILLMENT_REQUEST"]
    assert [delivery.verified for delivery in caught] == [{"X-Hmac-Sha256": True, "webhook-signature": True}] * 2
    assert caught[0].get_header("-Topic") == "fulfillment_order_notification"
    assert caught[0].get_header("-Shop-Domain") == shop.domain
    assert get_records() == [(1, "ok", 200), (1, "ok", 200)]


def test_failed_notifications_are_retried(shop: Shop, service: FulfillmentService, warehouse: WebhookReceiver) -> None:
    warehouse.behavior = ReceiverBehavior(status=503, failure_count=1)
    with run_dispatchers():
        send_notification(service)
        warehouse.wait_for(1)
        assert wait_until_settled(shop) == {"retry": 1}
        Delivery.objects.update(next_at=timezone.now() - timedelta(seconds=1))
        first, second = warehouse.wait_for(2)
        assert wait_until_settled(shop) == {"done": 1}

    assert (first.body, first.get_header("-Webhook-Id")) == (second.body, second.get_header("-Webhook-Id"))
    assert get_records() == [(1, "status", 503), (2, "ok", 200)]


def test_notifications_end_when_the_app_is_uninstalled(
    shop: Shop, service: FulfillmentService, warehouse: WebhookReceiver, installation: Installation
) -> None:
    send_notification(service)
    app_installation.uninstall_app(installation, actor="system", at=timezone.now())

    with run_dispatchers():
        assert wait_until_settled(shop) == {"cancelled": 1}

    assert (warehouse.requests, get_records()) == ([], [])


def test_deleted_services_get_no_callbacks(shop: Shop, service: FulfillmentService, warehouse: WebhookReceiver) -> None:
    send_notification(service)
    changes.delete_service(service, actor="system", at=timezone.now())

    with run_dispatchers():
        assert wait_until_settled(shop) == {"cancelled": 1}

    assert warehouse.requests == []
