"""AMQP endpoints: an app chooses neither a server nor credentials. ``test_queues.py`` tests the routing keys."""

import pytest
from pytest_django import Settings

from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.webhooks.models import Subscription
from tests.support import factories
from tests.support.api_client import ApiClient, get_errors
from tests.support.graphql_client import get_data
from tests.support.panel.client import Panel
from tests.support.webhooks import make_delivery

SECRET = "pw-of-the-broker"
BROKER = f"amqp://operator:{SECRET}@127.0.0.1:1/hooks?exchange=shop-events"
URI = "amqp://warehouse/orders.new"


@pytest.fixture(autouse=True)
def _broker(settings: Settings) -> None:
    settings.WEBHOOK_BROKERS = {"warehouse": BROKER}


@pytest.fixture
def client(installation: Installation) -> ApiClient:
    return ApiClient(factories.make_token(installation), installation)


REFUSED = (
    "amqp://127.0.0.1/orders",
    "amqp://169.254.169.254/latest",
    "amqp://mq.internal:5672/orders",
    "amqp://operator:pw@warehouse/orders",
    "amqp://warehouse:5672/orders",
    "amqp://warehouse@evil.example/orders",
    "amqp://warehouse/orders?exchange=other",
    "amqp://warehouse/orders#x",
    "amqp://warehouse/a/b",
    "amqp://warehouse/*",
    "amqp://warehouse/" + "x" * 201,
    "amqp://WAREHOUSE/orders",
    "amqp://warehouse/\r\norders",
    "amqps://warehouse/orders",
    "AMQP://warehouse/orders",
)


@pytest.mark.parametrize("uri", REFUSED)
def test_an_app_names_neither_a_host_nor_credentials_nor_an_exchange(client: ApiClient, uri: str) -> None:
    by_rest = client.post("webhooks.json", {"webhook": {"topic": "blogs/create", "address": uri}})
    document = """
    mutation ($uri: String!) {
      webhookSubscriptionCreate(topic: BLOGS_CREATE, webhookSubscription: {uri: $uri}) {
        webhookSubscription { id } userErrors { message }
      }
    }
    """
    by_graphql = get_data(client, document, {"uri": uri})["webhookSubscriptionCreate"]

    assert list(get_errors(by_rest)) == ["address"]
    assert by_graphql["webhookSubscription"] is None
    assert by_graphql["userErrors"]
    assert not Subscription._base_manager.exists()


def test_credentials_are_shown_to_no_app_and_no_staff(client: ApiClient, shop: Shop) -> None:
    created = client.post("webhooks.json", {"webhook": {"topic": "blogs/create", "address": URI}})
    subscription_id = created.json()["webhook"]["id"]
    with shop_scope(shop):
        delivery = make_delivery(client.installation, Subscription.objects.get())
    panel = Panel(factories.make_member(shop, owner=True), shop)

    pages = [
        created,
        client.get(f"webhooks/{subscription_id}.json"),
        client.get(f"webhooks/{subscription_id}/deliveries/{delivery.pk}.json"),
        panel.get("webhooks_subscription_change", subscription_id),
        panel.get("webhooks_delivery_change", delivery.pk),
        panel.get("webhooks_delivery_changelist"),
    ]

    assert created.status_code == 201
    assert [page.status_code for page in pages[1:]] == [200] * 5
    for page in pages:
        for secret in (SECRET, "operator", "shop-events", "127.0.0.1:1"):
            assert secret not in page.content.decode()
