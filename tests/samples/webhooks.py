from apps.core.types import Attrs
from apps.webhooks.models import Subscription
from tests.samples import SampleContext, register_resource
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
