from tests.samples import register_sample

CREATE = """
mutation webhookSubscriptionCreate(
  $topic: WebhookSubscriptionTopic!, $webhookSubscription: WebhookSubscriptionInput!
) {
  webhookSubscriptionCreate(topic: $topic, webhookSubscription: $webhookSubscription) {
    webhookSubscription { id topic uri }
    userErrors { field message }
  }
}
"""

register_sample(
    "POST graphql.json",
    {
        "query": CREATE,
        "variables": {
            "topic": "PRODUCTS_UPDATE",
            "webhookSubscription": {"uri": "https://app.example/webhooks", "format": "JSON"},
        },
        "operationName": "webhookSubscriptionCreate",
    },
)
