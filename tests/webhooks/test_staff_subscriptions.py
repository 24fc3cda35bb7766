"""Webhooks that staff add are sent and signed like the webhooks of apps."""

import json

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.webhook_receiver import WebhookReceiver, verify_signatures
from apps.shops.domain.app_installation import ensure_shop_app
from apps.webhooks.domain import topics
from apps.webhooks.domain.errors import SubscriptionRefused
from apps.webhooks.domain.subscriptions import create_staff_subscription
from apps.webhooks.models import Subscription
from tests.support.webhooks import create_blogs, run_dispatchers, wait_until_settled


def add_webhook(shop: Shop, topic: str, uri: str = "https://erp.example.com/hooks") -> Subscription:
    values = {"topic": topic, "uri": uri, "api_version": "2026-10"}
    with shop_scope(shop):
        return create_staff_subscription(shop, values, actor="system", at=timezone.now())


@pytest.mark.django_db
def test_the_own_app_may_receive_every_topic_for_staff(shop: Shop) -> None:
    with shop_scope(shop):
        granted = ensure_shop_app(shop, at=timezone.now()).all_scopes

    names = [topic.name for topic in topics.get_offered_topics() if topics.is_for_staff(topic.name)]

    assert [name for name in names if topics.get_missing_scope(name, granted)] == []
    assert {"orders/create", "products/update", "themes/publish"} <= {*names}
    assert not {"app/uninstalled", "shop/redact", "product_listings/add"} & {*names}


@pytest.mark.django_db
@pytest.mark.parametrize("topic", ["app/uninstalled", "app_subscriptions/update", "shop/redact", "no/topic", ""])
def test_topics_about_apps_are_refused(shop: Shop, topic: str) -> None:
    with pytest.raises(SubscriptionRefused) as refused:
        add_webhook(shop, topic)

    assert [*refused.value.errors] == ["topic"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("allow_loopback")
def test_an_event_arrives_signed_with_the_shops_own_secret(shop: Shop) -> None:
    with WebhookReceiver() as catcher, run_dispatchers():
        subscription = add_webhook(shop, "blogs/create", catcher.url)
        create_blogs(shop, title="Hello")
        (caught,) = catcher.wait_for(1)
        assert wait_until_settled(shop) == {"done": 1}

    assert json.loads(caught.body)["title"] == "Hello 0"
    verified = verify_signatures(caught.headers, caught.body, [subscription.app.api_secret])
    assert verified == {"X-Hmac-Sha256": True, "webhook-signature": True}
