"""Tests for webhook subscriptions in GraphQL, including the queries of public Python and Node clients."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.core.tenancy.scope import all_shops_scope
from apps.core.types import Attrs
from apps.webhooks.domain import endpoints, subscriptions
from apps.webhooks.models import Subscription
from tests.support.api_client import ApiClient, ClientWith
from tests.support.graphql_client import execute, get_data, get_error_codes
from tests.support.types import JsonObject

URI = "https://app.example/hooks"
FIELDS = """
  id legacyResourceId topic uri format filter includeFields metafieldNamespaces metafields { namespace key } name
  apiVersion { handle } createdAt updatedAt callbackUrl privateMetafieldNamespaces
  endpoint { __typename ... on WebhookHttpEndpoint { callbackUrl } }
"""
CREATE = f"""
mutation webhookSubscriptionCreate(
  $topic: WebhookSubscriptionTopic!, $webhookSubscription: WebhookSubscriptionInput!
) {{
  webhookSubscriptionCreate(topic: $topic, webhookSubscription: $webhookSubscription) {{
    webhookSubscription {{ {FIELDS} }}
    userErrors {{ field message }}
  }}
}}
"""
UPDATE = f"""
mutation WebhookSubscriptionUpdate($id: ID!, $webhookSubscription: WebhookSubscriptionInput!) {{
  webhookSubscriptionUpdate(id: $id, webhookSubscription: $webhookSubscription) {{
    webhookSubscription {{ {FIELDS} }}
    userErrors {{ field message }}
  }}
}}
"""
DELETE = """
mutation webhookSubscriptionDelete($id: ID!) {
  webhookSubscriptionDelete(id: $id) { deletedWebhookSubscriptionId userErrors { field message } }
}
"""
# The Node library registers webhooks with these queries. First it reads the existing subscriptions.
NODE_CHECK = """query shopifyApiReadWebhookSubscriptions {
  webhookSubscriptions(first: 250, after: null) {
    edges { node { id topic includeFields metafieldNamespaces filter
      endpoint { __typename
        ... on WebhookHttpEndpoint { callbackUrl }
        ... on WebhookEventBridgeEndpoint { arn }
        ... on WebhookPubSubEndpoint { pubSubProject pubSubTopic }
      } } }
    pageInfo { endCursor hasNextPage }
  }
}"""
NODE_REGISTER = """mutation shopifyApiCreateWebhookSubscription {
  webhookSubscriptionCreate(topic: PRODUCTS_UPDATE,
    webhookSubscription: { callbackUrl: "https://app.example/hooks", includeFields: ["id"] }
  ) { webhookSubscription { id } userErrors { field message } }
}"""
# The Python library uses this older form, with the address as a variable.
PYTHON_CREATE = """
mutation($topic: WebhookSubscriptionTopic!, $callbackUrl: URL!) {
  webhookSubscriptionCreate(topic: $topic, webhookSubscription: {callbackUrl: $callbackUrl, format: JSON}) {
    userErrors { field message } webhookSubscription { id }
  }
}
"""


def post_subscription(api: ApiClient, topic: str = "PRODUCTS_UPDATE", **values: object) -> JsonObject:
    input_values = {"topic": topic, "webhookSubscription": {"uri": URI, **values}}
    webhook_subscription_create = get_data(api, CREATE, input_values)["webhookSubscriptionCreate"]
    assert webhook_subscription_create["userErrors"] == []
    row: Attrs = webhook_subscription_create["webhookSubscription"]
    return row


def test_the_life_of_a_subscription(api: ApiClient, other_shop_api: ApiClient, client_with: ClientWith) -> None:
    row = post_subscription(
        api,
        filter="id:*",
        includeFields=["id", "title"],
        metafieldNamespaces=["care"],
        metafields=[{"namespace": "a", "key": "b"}],
        name="mine",
    )
    first = {"id": row["id"]}
    text = "query ($id: ID!) { webhookSubscription(id: $id) { id } node(id: $id) { __typename } }"
    strangers = [get_data(item, text, first) for item in (other_shop_api, client_with("read_products", name="Other"))]
    refusals = [execute(item, DELETE, first)["data"]["webhookSubscriptionDelete"] for item in (other_shop_api,)]
    rest = api.get(f"webhooks/{row['legacyResourceId']}.json").json()["webhook"]
    changed = get_data(api, UPDATE, {**first, "webhookSubscription": {"uri": f"{URI}/2", "filter": None, "name": None}})
    matching_data = get_data(api, text, first)
    deleted_data = get_data(api, DELETE, first)
    second_data = get_data(api, DELETE, first)

    assert row["topic"] == "PRODUCTS_UPDATE"
    assert row["endpoint"] == {"__typename": "WebhookHttpEndpoint", "callbackUrl": URI}
    assert (row["uri"], row["callbackUrl"], row["format"], row["name"]) == (URI, URI, "JSON", "mine")
    assert (row["metafields"], row["apiVersion"]) == ([{"namespace": "a", "key": "b"}], {"handle": "2026-07"})
    assert (rest["address"], rest["filter"], rest["fields"], rest["name"]) == (URI, "id:*", ["id", "title"], "mine")
    assert strangers == [{"webhookSubscription": None, "node": None}] * 2
    missing = [{"field": ["id"], "message": "Webhook subscription does not exist"}]
    assert refusals == [{"deletedWebhookSubscriptionId": None, "userErrors": missing}]
    after = changed["webhookSubscriptionUpdate"]["webhookSubscription"]
    assert (after["uri"], after["filter"], after["name"], after["includeFields"]) == (
        f"{URI}/2",
        None,
        None,
        ["id", "title"],
    )
    assert matching_data == {"webhookSubscription": first, "node": {"__typename": "WebhookSubscription"}}
    assert deleted_data["webhookSubscriptionDelete"] == {"deletedWebhookSubscriptionId": row["id"], "userErrors": []}
    assert second_data["webhookSubscriptionDelete"]["userErrors"] == missing


def test_the_node_library_registers_its_webhooks(api: ApiClient) -> None:
    for version in ("2024-10", "2025-10", "2026-07"):
        client = api.at(version)
        before = get_data(client, NODE_CHECK)["webhookSubscriptions"]["edges"]
        webhook_subscription_create = get_data(client, NODE_REGISTER)["webhookSubscriptionCreate"]
        after = get_data(client, NODE_CHECK)["webhookSubscriptions"]

        assert (before, webhook_subscription_create["userErrors"]) == ([], [])
        assert [edge["node"]["endpoint"]["callbackUrl"] for edge in after["edges"]] == [URI]
        assert after["pageInfo"]["hasNextPage"] is False
        get_data(client, DELETE, {"id": webhook_subscription_create["webhookSubscription"]["id"]})


def test_the_python_library_subscribes(api: ApiClient) -> None:
    new_data = get_data(api, PYTHON_CREATE, {"topic": "ORDERS_CREATE", "callbackUrl": URI}, operationName=None)

    assert new_data["webhookSubscriptionCreate"]["webhookSubscription"]["id"].startswith("gid://platform/Webhook")


WRONG = {
    "Address can't be blank": ("callbackUrl", {"uri": ""}),
    "Address is not a valid URL": ("callbackUrl", {"uri": "hello"}),
    "Address protocol http:// is not supported": ("callbackUrl", {"uri": "http://app.example/"}),
    "Address is too long (maximum is 4096 bytes)": ("callbackUrl", {"uri": "https://app.example/" + "a" * 4096}),
    "Address cannot be a Platform or an internal domain": ("callbackUrl", {"uri": "https://127.0.0.1/"}),
    "Format 'xml' is invalid for this webhook topic. Allowed formats: json": ("format", {"uri": URI, "format": "XML"}),
    "Name is too short (minimum is 1 character)": ("name", {"uri": URI, "name": ""}),
    "Name is too long (maximum is 50 characters)": ("name", {"uri": URI, "name": "a" * 51}),
    "Name name field can only contain alphanumeric characters, underscores, and hyphens": (
        "name",
        {"uri": URI, "name": "a b"},
    ),
    "The specified filter is invalid, please ensure you specify the field(s) you wish to filter on. (position 0)": (
        "filter",
        {"uri": URI, "filter": "mug"},
    ),
}


def test_refusals_are_sentences_with_the_path_of_their_field(api: ApiClient) -> None:
    results = {}
    for field, values in WRONG.values():
        server_data = get_data(api, CREATE, {"topic": "PRODUCTS_UPDATE", "webhookSubscription": values})
        webhook_subscription_create = server_data["webhookSubscriptionCreate"]
        assert webhook_subscription_create["webhookSubscription"] is None
        results[webhook_subscription_create["userErrors"][0]["message"]] = (
            webhook_subscription_create["userErrors"][0]["field"],
            values,
        )
        assert len(webhook_subscription_create["userErrors"]) == 1, field

    assert results == {text: (["webhookSubscription", field], values) for text, (field, values) in WRONG.items()}
    assert not Subscription.objects.exists()


def test_unique_subscriptions_are_refused_the_second_time(api: ApiClient) -> None:
    first = post_subscription(api, name="mine")
    second = post_subscription(api, uri=f"{URI}/2")

    def get_user_errors(document: str, values: JsonObject) -> Any:
        server_data = get_data(api, document, values)
        return next(iter(server_data.values()))["userErrors"]

    topic = {"topic": "PRODUCTS_UPDATE"}
    durations = [
        {"field": ["webhookSubscription", "callbackUrl"], "message": "Address for this topic has already been taken"}
    ]
    name = [{"field": ["webhookSubscription", "name"], "message": "Name already exists, no duplicate allowed"}]
    assert get_user_errors(CREATE, {**topic, "webhookSubscription": {"uri": URI}}) == durations
    assert get_user_errors(CREATE, {**topic, "webhookSubscription": {"uri": f"{URI}/3", "name": "mine"}}) == name
    assert get_user_errors(UPDATE, {"id": second["id"], "webhookSubscription": {"uri": URI}}) == durations
    assert get_user_errors(UPDATE, {"id": first["id"], "webhookSubscription": {}}) == []


def test_a_topic_needs_its_scope(client_with: ClientWith) -> None:
    poor = client_with("read_orders")
    reply = execute(poor, CREATE, {"topic": "PRODUCTS_UPDATE", "webhookSubscription": {"uri": URI}})

    assert get_error_codes(reply) == ["ACCESS_DENIED"]
    assert reply["errors"][0]["extensions"]["requiredAccess"] == "`read_products` access scope."
    assert reply["errors"][0]["path"] == ["webhookSubscriptionCreate"]
    post_subscription(poor, "ORDERS_CREATE")


PUBSUB = """mutation ($input: PubSubWebhookSubscriptionInput!) {
  pubSubWebhookSubscriptionCreate(topic: PRODUCTS_UPDATE, webhookSubscription: $input) {
    webhookSubscription { id endpoint { ... on WebhookPubSubEndpoint { pubSubProject pubSubTopic } } }
    userErrors { code field message }
  }
}"""
BRIDGE = """mutation ($input: EventBridgeWebhookSubscriptionInput!) {
  eventBridgeWebhookSubscriptionCreate(topic: PRODUCTS_UPDATE, webhookSubscription: $input) {
    webhookSubscription { id endpoint { ... on WebhookEventBridgeEndpoint { arn } } }
    userErrors { field message }
  }
}"""
BRIDGE_UPDATE = BRIDGE.replace("Create(topic: PRODUCTS_UPDATE", "Update(id: $id").replace(
    "($input", "($id: ID!, $input"
)


def test_queues_have_mutations_of_their_own(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = {"input": {"pubSubProject": "my-project", "pubSubTopic": "products"}}
    arn = f"arn:aws:events:eu-west-1::event-source/aws.partner/backoffice/{api.installation.app_id}/mine"
    absent = get_data(api, PUBSUB, queue)["pubSubWebhookSubscriptionCreate"]
    monkeypatch.setattr(endpoints, "get_enabled_schemes", lambda: ["pubsub", "arn"])

    created_row, errors = (
        get_data(api.at("2025-07"), PUBSUB, queue)["pubSubWebhookSubscriptionCreate"] for _ in range(2)
    )
    bridge = get_data(api, BRIDGE, {"input": {"arn": arn}})["eventBridgeWebhookSubscriptionCreate"]
    wrong = get_data(api, BRIDGE, {"input": {"arn": "arn:aws:s3"}})["eventBridgeWebhookSubscriptionCreate"]
    moved = get_data(
        api, BRIDGE_UPDATE, {"id": created_row["webhookSubscription"]["id"], "input": {"arn": arn, "filter": "id:1"}}
    )

    assert absent["userErrors"][0] == {
        "code": "INVALID_PARAMETERS",
        "field": ["webhookSubscription", "callbackUrl"],
        "message": "Address protocol pubsub:// is not supported",
    }
    assert created_row["webhookSubscription"]["endpoint"] == {"pubSubProject": "my-project", "pubSubTopic": "products"}
    assert errors["userErrors"][0]["code"] == "TAKEN"
    assert bridge["webhookSubscription"]["endpoint"] == {"arn": arn}
    assert wrong["userErrors"][0]["message"] == "Address is not a valid AWS ARN"
    assert moved["eventBridgeWebhookSubscriptionUpdate"]["webhookSubscription"]["endpoint"] == {"arn": arn}


LIST = """query ($first: Int, $after: String, $last: Int, $before: String, $reverse: Boolean,
  $sortKey: WebhookSubscriptionSortKeys, $query: String, $topics: [WebhookSubscriptionTopic!], $uri: String,
  $format: WebhookSubscriptionFormat, $callbackUrl: URL) {
  webhookSubscriptions(first: $first, after: $after, last: $last, before: $before, reverse: $reverse, sortKey: $sortKey,
    query: $query, topics: $topics, uri: $uri, format: $format, callbackUrl: $callbackUrl) {
    edges { cursor node { id } } nodes { uri }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}"""


def create_five_subscriptions(api: ApiClient) -> tuple[datetime, list[int]]:
    """Create five subscriptions, an hour apart except the third and fourth; return the start time and the ids."""
    start, ids = timezone.now(), []
    for number, hour in enumerate((0, 1, 2, 2, 3)):
        values = {"topic": "products/update", "uri": f"{URI}/{number}", "api_version": "2026-07"}
        at = start + timedelta(hours=hour)
        ids.append(subscriptions.create_subscription(api.installation, values, actor="system", at=at).pk)
    return start, ids


@pytest.mark.usefixtures("in_shop")
def test_an_answer_may_have_many_rows_of_many_fields(api: ApiClient) -> None:
    """Check that the limit of 2,000 fields applies to the query's fields and not to the returned values."""
    for number in range(60):
        values = {"topic": "products/update", "uri": f"{URI}/{number}", "api_version": "2026-07"}
        subscriptions.create_subscription(api.installation, values, actor="system", at=timezone.now())
    node = "id topic uri filter includeFields metafieldNamespaces format createdAt updatedAt"
    lists = " ".join(f"a{index}: webhookSubscriptions(first: 60) {{ nodes {{ {node} }} }}" for index in range(4))

    matching_data = get_data(api, f"{{ {lists} }}")

    assert [len(item["nodes"]) for item in matching_data.values()] == [60] * 4


@pytest.mark.usefixtures("in_shop")
def test_lists_go_by_pages_both_ways(api: ApiClient) -> None:
    start, ids = create_five_subscriptions(api)
    configured = {"topic": "products/update", "uri": URI, "api_version": "2026-07"}
    subscriptions.create_configured_subscription(api.installation.app, configured, at=start)

    def page(**arguments: Any) -> tuple[str, Attrs]:
        webhook_subscriptions = get_data(api, LIST, arguments)["webhookSubscriptions"]
        return "".join(node["uri"][-1] for node in webhook_subscriptions["nodes"]), webhook_subscriptions["pageInfo"]

    def walk(size: str, cursor: str, end: str, more: str, **arguments: Any) -> list[str]:
        pages: list[str] = []
        index: Attrs = {}
        while True:
            rows, info = page(**{size: 2}, **index, **arguments)
            pages.append(rows)
            if not info[more]:
                return pages
            index = {cursor: info[end]}

    forward = ("first", "after", "endCursor", "hasNextPage")
    backward = ("last", "before", "startCursor", "hasPreviousPage")
    assert walk(*forward) == ["01", "23", "4"]
    assert walk(*forward, reverse=True) == ["43", "21", "0"]
    assert walk(*backward) == ["34", "12", "0"]
    assert walk(*backward, reverse=True, sortKey="ID") == ["10", "32", "4"]
    second = page(first=2)[1]["endCursor"]
    assert page(last=1, after=second)[0] == "4"
    assert page(first=5, after=second, before=page(last=1)[1]["startCursor"])[0] == "23"
    assert get_error_codes(execute(api, LIST, {"first": 1, "after": second, "sortKey": "ID"})) == ["BAD_REQUEST"]
    assert page(first=0)[0] == ""

    assert page(first=9, query=f"id:>{ids[2]}")[0] == "34"
    assert page(first=9, query=f'created_at:>="{(start + timedelta(hours=2)).isoformat()}"')[0] == "234"
    assert page(first=9, topics=["ORDERS_CREATE"])[0] == ""
    assert page(first=9, topics=["ORDERS_CREATE", "PRODUCTS_UPDATE"])[0] == "01234"
    assert page(first=9, uri=f"{URI}/1")[0] == page(first=9, callbackUrl=f"{URI}/1")[0] == "1"
    assert page(first=9, format="XML")[0] == ""
    count = """query ($limit: Int, $query: String) {
      webhookSubscriptionsCount(limit: $limit, query: $query) { count precision }
    }"""
    assert get_data(api, count, {"limit": 3})["webhookSubscriptionsCount"] == {"count": 3, "precision": "AT_LEAST"}
    assert get_data(api, count, {"query": f"id:{ids[0]}"})["webhookSubscriptionsCount"]["count"] == 1


def test_another_apps_subscriptions_are_not_listed(api: ApiClient, client_with: ClientWith) -> None:
    post_subscription(api)
    other = client_with("read_products", name="Other")

    assert get_data(other, LIST, {"first": 5})["webhookSubscriptions"]["nodes"] == []
    with all_shops_scope():
        assert Subscription.objects.count() == 1
