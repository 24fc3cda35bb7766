"""Requests with GraphQL documents, and a request that uninstalls an app."""

from benchmarks.bodies.runner import Bench
from benchmarks.bodies.shop_data import BenchRows, create_client
from benchmarks.scale import scale

# A mutation and its result cost twelve points. A document may cost at most 1,000 points.
MUTATIONS, ROWS = scale(83), 240
NODE = "id topic uri filter includeFields metafieldNamespaces format createdAt updatedAt"


def send_documents(bench: Bench, goods: BenchRows, number: int) -> None:
    """Send all requests from a new app. The last request uninstalls the app."""
    client = create_client(goods.shop, f"Leaving {number}")
    body = bench.send(f"POST graphql, {MUTATIONS} mutations", "POST", "graphql.json", _creations(number), client)
    assert not body.get("errors"), str(body)[:500]
    assert not any(result["userErrors"] for result in body["data"].values()), str(body)[:500]
    lists = " ".join(f"a{index}: webhookSubscriptions(first: {ROWS}) {{ nodes {{ {NODE} }} }}" for index in range(4))
    loaded = bench.send(f"POST graphql, {4 * ROWS} rows", "POST", "graphql.json", {"query": f"{{ {lists} }}"}, client)
    assert not loaded.get("errors"), str(loaded)[:500]
    bench.send(
        f"DELETE api_permissions, {MUTATIONS} subscriptions", "DELETE", "api_permissions/current.json", None, client
    )


def _creations(number: int) -> dict[str, str]:
    """Return a document that creates the maximum number of subscriptions."""
    fields = [
        f"a{index}: webhookSubscriptionCreate(topic: PRODUCTS_UPDATE, webhookSubscription: {{uri:"
        f' "https://leaving.example/{number}/{index}"}}) {{ webhookSubscription {{ id }} userErrors {{ message }} }}'
        for index in range(MUTATIONS)
    ]
    return {"query": f"mutation {{ {' '.join(fields)} }}"}
