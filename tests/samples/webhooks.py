"""Requests for webhook subscriptions."""

from typing import Any

from django.utils import timezone

from apps.webhooks.domain import subscriptions
from apps.webhooks.models import Subscription
from tests.samples import World, sample

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


def one_subscription(world: World) -> dict[str, Any]:
    uri = f"https://app.example/sample/{Subscription.objects.count()}"
    values = {"topic": "products/update", "uri": uri, "api_version": "2026-07"}
    subscription = subscriptions.create_subscription(world.installation, values, actor="system", at=timezone.now())
    return {"id": subscription.pk}


sample("GET webhooks.json", arrange=one_subscription)
sample("POST webhooks.json", WEBHOOK, status=201)
sample("GET webhooks/count.json", arrange=one_subscription)
sample("GET webhooks/<id>.json", arrange=one_subscription)
sample("PUT webhooks/<id>.json", WEBHOOK, arrange=one_subscription)
sample("DELETE webhooks/<id>.json", arrange=one_subscription)
