"""Sample requests for webhook subscriptions."""

from django.utils import timezone

from apps.core.types import Attrs
from apps.webhooks.domain import subscriptions
from apps.webhooks.models import Subscription
from tests.samples import SampleContext, register_sample

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
    values = {"topic": "products/update", "uri": uri, "api_version": "2026-07"}
    subscription = subscriptions.create_subscription(world.installation, values, actor="system", at=timezone.now())
    return {"id": subscription.pk}


register_sample("GET webhooks.json", arrange=make_subscription_id)
register_sample("POST webhooks.json", WEBHOOK, status=201)
register_sample("GET webhooks/count.json", arrange=make_subscription_id)
register_sample("GET webhooks/<id>.json", arrange=make_subscription_id)
register_sample("PUT webhooks/<id>.json", WEBHOOK, arrange=make_subscription_id)
register_sample("DELETE webhooks/<id>.json", arrange=make_subscription_id)
