"""The real client: webhook subscriptions of a shop, over REST and over GraphQL."""

import json

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from tests.client.conftest import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

ADDRESS = "https://hooks.example/orders"
# As the clients' own documentation writes them.
CREATE = """
mutation webhookSubscriptionCreate($topic: WebhookSubscriptionTopic!, $webhookSubscription: WebhookSubscriptionInput!) {
  webhookSubscriptionCreate(topic: $topic, webhookSubscription: $webhookSubscription) {
    webhookSubscription { id topic uri }
    userErrors { field message }
  }
}
"""
LIST = "{ webhookSubscriptions(first: 5) { edges { node { id topic format } } } }"


def test_subscriptions_are_made_found_changed_counted_and_deleted(connect: Connect) -> None:
    connect()

    made = shopify.Webhook.create({"topic": "orders/create", "address": ADDRESS, "format": "json"})
    assert made.errors.full_messages() == []
    found = shopify.Webhook.find(made.id)
    found.address = f"{ADDRESS}/2"
    saved = found.save()
    again = shopify.Webhook.find(made.id)
    listed = shopify.Webhook.find(topic="orders/create")

    assert saved, found.errors.full_messages()
    assert (again.topic, again.address, again.format) == ("orders/create", f"{ADDRESS}/2", "json")
    assert [each.id for each in listed] == [made.id]
    assert shopify.Webhook.count() == 1
    again.destroy()
    with pytest.raises(ResourceNotFound):
        shopify.Webhook.find(made.id)


def test_what_does_not_fit_is_told_by_field(connect: Connect) -> None:
    connect()

    refused = shopify.Webhook.create({"topic": "no/topic", "address": "nowhere", "format": "json"})

    assert refused.id is None
    assert {"topic", "address"} <= set(refused.errors.errors)


def test_subscriptions_are_made_and_listed_over_graphql(connect: Connect) -> None:
    connect()
    variables = {"topic": "ORDERS_CREATE", "webhookSubscription": {"uri": ADDRESS, "format": "JSON"}}

    made = json.loads(shopify.GraphQL().execute(CREATE, variables))["data"]["webhookSubscriptionCreate"]
    listed = json.loads(shopify.GraphQL().execute(LIST))["data"]["webhookSubscriptions"]["edges"]

    assert made["userErrors"] == []
    assert made["webhookSubscription"]["uri"] == ADDRESS
    assert [(edge["node"]["id"], edge["node"]["topic"]) for edge in listed] == [
        (made["webhookSubscription"]["id"], "ORDERS_CREATE")
    ]
