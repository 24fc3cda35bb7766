"""Documents in GraphQL, and an app that leaves a shop."""

from benchmarks.bodies.bench import Bench
from benchmarks.bodies.setting import Goods, client_of

# A mutation with what it shows costs twelve points, of which a document has a thousand.
MUTATIONS, ROWS = 83, 240
NODE = "id topic uri filter includeFields metafieldNamespaces format createdAt updatedAt"


def send_all(bench: Bench, goods: Goods, number: int) -> None:
    """Send all, as an app that then leaves."""
    client = client_of(goods.shop, f"Leaving {number}")
    made = bench.send(f"POST graphql, {MUTATIONS} mutations", "POST", "graphql.json", _creations(number), client)
    assert not made.get("errors"), str(made)[:500]
    assert not any(each["userErrors"] for each in made["data"].values()), str(made)[:500]
    lists = " ".join(f"a{place}: webhookSubscriptions(first: {ROWS}) {{ nodes {{ {NODE} }} }}" for place in range(4))
    read = bench.send(f"POST graphql, {4 * ROWS} rows", "POST", "graphql.json", {"query": f"{{ {lists} }}"}, client)
    assert not read.get("errors"), str(read)[:500]
    bench.send(
        f"DELETE api_permissions, {MUTATIONS} subscriptions", "DELETE", "api_permissions/current.json", None, client
    )


def _creations(number: int) -> dict[str, str]:
    """As many subscriptions as a document may make."""
    fields = [
        f"a{place}: webhookSubscriptionCreate(topic: PRODUCTS_UPDATE, webhookSubscription: {{uri:"
        f' "https://leaving.example/{number}/{place}"}}) {{ webhookSubscription {{ id }} userErrors {{ message }} }}'
        for place in range(MUTATIONS)
    ]
    return {"query": f"mutation {{ {' '.join(fields)} }}"}
