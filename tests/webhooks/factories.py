"""Factories for webhook subscriptions and deliveries."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from apps.ground.tenancy import shop_scope
from apps.shops.models import Installation, Shop
from apps.webhooks.domain.delivery_tests import send_test_delivery
from apps.webhooks.models import Attempt, Delivery, Subscription
from tests.webhooks.scenarios import make_subscription

URI = "https://apps.example.com/hooks"


def make_delivery(
    installation: Installation, subscription: Subscription | None = None, *, at: datetime | None = None, **values: Any
) -> Delivery:
    """Create a delivery with these values, and also a subscription if none is passed."""
    reported_subscription = subscription or make_subscription(installation, URI, topic="shop/update")
    with shop_scope(Shop.objects.get(pk=installation.shop_id)):
        delivery = send_test_delivery(reported_subscription, shop_id=installation.shop_id, at=at or timezone.now())
        Delivery.objects.filter(pk=delivery.pk).update(**values)
        delivery.refresh_from_db()
    return delivery


def make_attempt(delivery: Delivery, **values: Any) -> Attempt:
    """Create a delivery attempt."""
    attempt: dict[str, Any] = {"number": 1, "outcome": "ok", "status": 200, "total_ms": 12, **values}
    with shop_scope(Shop.objects.get(pk=delivery.shop_id)):
        return Attempt.objects.create(delivery=delivery, shop_id=delivery.shop_id, **attempt)
