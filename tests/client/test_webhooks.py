"""Tests with the real client: webhook subscriptions of a shop, over REST and GraphQL."""

import json

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from tests.client.conftest import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

ADDRESS = "https://hooks.example/orders"
# The mutation as it appears in the documentation of existing clients.
CREATE = """
mutation webhookSubscriptionCreate($topic: WebhookSubscriptionTopic!, $webhookSubscription: WebhookSubscriptionInput!) {
  webhookSubscriptionCreate(topic: $topic, webhookSubscription: $webhookSubscription) {
    webhookSubscription { id topic uri }
    userErrors { field message }
  }
}
"""
LIST = "{ webhookSubscriptions(first: 5) { edges { node { id topic format } } } }"


def test_subscriptions_are_made_found_changed_counted_and_deleted(api_client_factory: Connect) -> None:
    api_client_factory()

    webhook = shopify.Webhook.create({"topic": "orders/create", "address": ADDRESS, "format": "json"})
    assert webhook.errors.full_messages() == []
    matching_webhook = shopify.Webhook.find(webhook.id)
    matching_webhook.address = f"{ADDRESS}/2"
    saved = matching_webhook.save()
    second_webhook = shopify.Webhook.find(webhook.id)
    webhooks = shopify.Webhook.find(topic="orders/create")

    assert saved, matching_webhook.errors.full_messages()
    assert (second_webhook.topic, second_webhook.address, second_webhook.format) == (
        "orders/create",
        f"{ADDRESS}/2",
        "json",
    )
    assert [item.id for item in webhooks] == [webhook.id]
    assert shopify.Webhook.count() == 1
    second_webhook.destroy()
    with pytest.raises(ResourceNotFound):
        shopify.Webhook.find(webhook.id)


def test_errors_are_reported_by_field(api_client_factory: Connect) -> None:
    api_client_factory()

    refused = shopify.Webhook.create({"topic": "no/topic", "address": "nowhere", "format": "json"})

    assert refused.id is None
    assert {"topic", "address"} <= set(refused.errors.errors)


def test_subscriptions_are_made_and_listed_over_graphql(api_client_factory: Connect) -> None:
    api_client_factory()
    variables = {"topic": "ORDERS_CREATE", "webhookSubscription": {"uri": ADDRESS, "format": "JSON"}}

    webhook_subscription_create = json.loads(shopify.GraphQL().execute(CREATE, variables))["data"][
        "webhookSubscriptionCreate"
    ]
    edges = json.loads(shopify.GraphQL().execute(LIST))["data"]["webhookSubscriptions"]["edges"]

    assert webhook_subscription_create["userErrors"] == []
    assert webhook_subscription_create["webhookSubscription"]["uri"] == ADDRESS
    assert [(edge["node"]["id"], edge["node"]["topic"]) for edge in edges] == [
        (webhook_subscription_create["webhookSubscription"]["id"], "ORDERS_CREATE")
    ]
