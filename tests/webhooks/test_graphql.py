from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.core.search_query.predicate import MISSING_FIELD
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


def post_subscription(api: ApiClient, topic: str = "PRODUCTS_UPDATE", /, **values: object) -> JsonObject:
    input_values = {"topic": topic, "webhookSubscription": {"uri": URI, **values}}
    created = get_data(api, CREATE, input_values)["webhookSubscriptionCreate"]
    assert created["userErrors"] == []
    return created["webhookSubscription"]


def test_the_life_of_a_subscription(api: ApiClient, other_shop_api: ApiClient, client_with: ClientWith) -> None:
    metafields = [{"namespace": "a", "key": "b"}]
    values = {"includeFields": ["id", "title"], "metafieldNamespaces": ["care"], "metafields": metafields}
    row = post_subscription(api, "PRODUCTS_UPDATE", filter="id:*", name="mine", **values)
    first = {"id": row["id"]}
    text = "query ($id: ID!) { webhookSubscription(id: $id) { id } node(id: $id) { __typename } }"
    strangers = [get_data(item, text, first) for item in (other_shop_api, client_with("read_products", name="Other"))]
    refusal = execute(other_shop_api, DELETE, first)["data"]["webhookSubscriptionDelete"]
    rest = api.get(f"webhooks/{row['legacyResourceId']}.json").json()["webhook"]
    changed = get_data(api, UPDATE, {**first, "webhookSubscription": {"uri": f"{URI}/2", "filter": None, "name": None}})
    matching_data = get_data(api, text, first)
    deleted_data = get_data(api, DELETE, first)
    second_data = get_data(api, DELETE, first)

    assert row["topic"] == "PRODUCTS_UPDATE"
    assert row["endpoint"] == {"__typename": "WebhookHttpEndpoint", "callbackUrl": URI}
    assert (row["uri"], row["callbackUrl"], row["format"], row["name"]) == (URI, URI, "JSON", "mine")
    assert (row["metafields"], row["apiVersion"]) == ([{"namespace": "a", "key": "b"}], {"handle": "2026-10"})
    assert (rest["address"], rest["filter"], rest["fields"], rest["name"]) == (URI, "id:*", ["id", "title"], "mine")
    assert strangers == [{"webhookSubscription": None, "node": None}] * 2
    missing = [{"field": ["id"], "message": "Webhook subscription does not exist"}]
    assert refusal == {"deletedWebhookSubscriptionId": None, "userErrors": missing}
    after = changed["webhookSubscriptionUpdate"]["webhookSubscription"]
    assert (after["uri"], after["filter"], after["name"]) == (f"{URI}/2", None, None)
    assert after["includeFields"] == ["id", "title"]
    assert matching_data == {"webhookSubscription": first, "node": {"__typename": "WebhookSubscription"}}
    assert deleted_data["webhookSubscriptionDelete"] == {"deletedWebhookSubscriptionId": row["id"], "userErrors": []}
    assert second_data["webhookSubscriptionDelete"]["userErrors"] == missing


def test_the_node_library_registers_its_webhooks(api: ApiClient) -> None:
    for version in ("2024-10", "2025-10", "2026-10"):
        client = api.at(version)
        before = get_data(client, NODE_CHECK)["webhookSubscriptions"]["edges"]
        created = get_data(client, NODE_REGISTER)["webhookSubscriptionCreate"]
        after = get_data(client, NODE_CHECK)["webhookSubscriptions"]

        assert (before, created["userErrors"]) == ([], [])
        assert [edge["node"]["endpoint"]["callbackUrl"] for edge in after["edges"]] == [URI]
        assert after["pageInfo"]["hasNextPage"] is False
        get_data(client, DELETE, {"id": created["webhookSubscription"]["id"]})


def test_the_python_library_subscribes(api: ApiClient) -> None:
    new_data = get_data(api, PYTHON_CREATE, {"topic": "ORDERS_CREATE", "callbackUrl": URI}, operationName=None)

    assert new_data["webhookSubscriptionCreate"]["webhookSubscription"]["id"].startswith("gid://platform/Webhook")


# The sentences of all rules are checked with the REST API.
WRONG = {
    "Address can't be blank": ("callbackUrl", {"uri": ""}),
    "Format 'xml' is invalid for this webhook topic. Allowed formats: json": ("format", {"uri": URI, "format": "XML"}),
    "Name is too short (minimum is 1 character)": ("name", {"uri": URI, "name": ""}),
    f"{MISSING_FIELD} (position 0)": ("filter", {"uri": URI, "filter": "mug"}),
}


def test_refusals_are_sentences_with_the_path_of_their_field(api: ApiClient) -> None:
    for message, (field, values) in WRONG.items():
        created = get_data(api, CREATE, {"topic": "PRODUCTS_UPDATE", "webhookSubscription": values})
        assert created["webhookSubscriptionCreate"] == {
            "webhookSubscription": None,
            "userErrors": [{"field": ["webhookSubscription", field], "message": message}],
        }
    assert not Subscription.objects.exists()


def test_unique_subscriptions_are_refused_the_second_time(api: ApiClient) -> None:
    first = post_subscription(api, name="mine")
    second = post_subscription(api, uri=f"{URI}/2")

    def get_user_errors(document: str, values: JsonObject, **target: str) -> list[str]:
        (data,) = get_data(api, document, {**target, "webhookSubscription": values}).values()
        return [error["message"] for error in data["userErrors"]]

    taken = ["Address for this topic has already been taken"]
    name = ["Name already exists, no duplicate allowed"]
    assert get_user_errors(CREATE, {"uri": URI}, topic="PRODUCTS_UPDATE") == taken
    assert get_user_errors(CREATE, {"uri": f"{URI}/3", "name": "mine"}, topic="PRODUCTS_UPDATE") == name
    assert get_user_errors(UPDATE, {"uri": URI}, id=second["id"]) == taken
    assert get_user_errors(UPDATE, {}, id=first["id"]) == []


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

    created, repeated = (
        get_data(api.at("2025-07"), PUBSUB, queue)["pubSubWebhookSubscriptionCreate"] for _ in range(2)
    )
    bridge = get_data(api, BRIDGE, {"input": {"arn": arn}})["eventBridgeWebhookSubscriptionCreate"]
    wrong = get_data(api, BRIDGE, {"input": {"arn": "arn:aws:s3"}})["eventBridgeWebhookSubscriptionCreate"]
    target = {"id": created["webhookSubscription"]["id"], "input": {"arn": arn, "filter": "id:1"}}
    moved = get_data(api, BRIDGE_UPDATE, target)

    assert absent["userErrors"][0] == {
        "code": "INVALID_PARAMETERS",
        "field": ["webhookSubscription", "callbackUrl"],
        "message": "Address protocol pubsub:// is not supported",
    }
    assert created["webhookSubscription"]["endpoint"] == {"pubSubProject": "my-project", "pubSubTopic": "products"}
    assert repeated["userErrors"][0]["code"] == "TAKEN"
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


def create_subscriptions(api: ApiClient, start: datetime, *hours: int) -> list[int]:
    ids = []
    for number, hour in enumerate(hours):
        values = {"topic": "products/update", "uri": f"{URI}/{number}", "api_version": "2026-10"}
        at = start + timedelta(hours=hour)
        ids.append(subscriptions.create_subscription(api.installation, values, actor="system", at=at).pk)
    return ids


@pytest.mark.usefixtures("in_shop")
def test_an_answer_may_have_many_rows_of_many_fields(api: ApiClient) -> None:
    """Check that the limit of 2,000 fields applies to the query's fields and not to the returned values."""
    create_subscriptions(api, timezone.now(), *[0] * 60)
    node = "id topic uri filter includeFields metafieldNamespaces format createdAt updatedAt"
    lists = " ".join(f"a{index}: webhookSubscriptions(first: 60) {{ nodes {{ {node} }} }}" for index in range(4))

    matching_data = get_data(api, f"{{ {lists} }}")

    assert [len(item["nodes"]) for item in matching_data.values()] == [60] * 4


@pytest.mark.usefixtures("in_shop")
def test_lists_go_by_pages_both_ways(api: ApiClient) -> None:
    start = timezone.now()
    ids = create_subscriptions(api, start, 0, 1, 2, 2, 3)
    configured = {"topic": "products/update", "uri": URI, "api_version": "2026-10"}
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
