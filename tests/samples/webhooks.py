from datetime import timedelta

from django.utils import timezone

from apps.core.types import Attrs
from apps.webhooks.domain.delivery_tests import send_test_delivery
from apps.webhooks.models import Attempt, Delivery, Subscription
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.webhooks import make_subscription

WEBHOOK = {
    "webhook": {
        "address": "https://app.example/webhooks",
        "topic": "products/update",
        "format": "json",
        "fields": ["id", "variants.price"],
        "filter": "variants.price:>=10.00",
        "metafield_namespaces": ["care"],
        "private_metafield_namespaces": [],
        "name": "cheap-products",
    }
}


def make_subscription_id(world: SampleContext) -> Attrs:
    uri = f"https://app.example/sample/{Subscription.objects.count()}"
    return {"id": make_subscription(world.installation, uri, topic="products/update").pk}


register_resource("webhooks", WEBHOOK, WEBHOOK, make_subscription_id)


def make_delivery_ids(world: SampleContext) -> Attrs:
    now, subscription = timezone.now(), Subscription.objects.get(pk=make_subscription_id(world)["id"])
    delivery = send_test_delivery(subscription, shop_id=world.shop.pk, at=now)
    Delivery.objects.filter(pk=delivery.pk).update(
        state="dead", attempts=1, first_attempt_at=now, finished_at=now, error="status_500"
    )
    Attempt.objects.create(shop=world.shop, delivery=delivery, number=1, outcome="status", status=500, total_ms=112)
    return {"subscription_id": subscription.pk, "id": delivery.pk}


def build_replay_body(rows: Attrs) -> Attrs:
    return {"replay": {"since": (timezone.now() - timedelta(days=1)).isoformat(timespec="seconds")}}


register_sample("POST webhooks/<id>/replay.json", build_replay_body, arrange=make_subscription_id, status=202)
register_sample("GET webhooks/<subscription_id>/deliveries.json", arrange=make_delivery_ids)
register_sample("GET webhooks/<subscription_id>/deliveries/<id>.json", arrange=make_delivery_ids)
register_sample(
    "POST webhooks/<subscription_id>/deliveries/<id>/resend.json", arrange=make_delivery_ids, bodiless=True, status=202
)
register_sample(
    "POST webhooks/<subscription_id>/test.json",
    bodiless=True,
    arrange=lambda world: {"subscription_id": make_subscription_id(world)["id"]},
    status=202,
)
