"""Writing back what was read changes nothing: no row, timestamp, version or event.

Some apps write an object back whenever they receive its update webhook. If the write recorded an event, the app would
receive another webhook, in an endless loop. ``tests/api/route_checks`` checks the samples of every route.
"""

import pytest

from apps.core.tenancy.models import Shop
from tests.samples.catalog import PRODUCT, SMART
from tests.samples.content import ARTICLE
from tests.samples.orders import ORDER
from tests.support.api_client import ApiClient
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.factories.catalog import ATTACHMENT
from tests.support.subtests import Subtests
from tests.support.types import JsonObject


def build_full_bodies() -> list[tuple[str, JsonObject]]:
    """Return pairs of a creation path and a body with all nested objects."""
    picture = {"attachment": ATTACHMENT, "filename": "a.png", "alt": "A"}
    rows = {"metafields": [{"namespace": "n", "key": "k", "type": "number_decimal", "value": "1.0"}]}
    product = {
        "options": [{"name": "Colour", "values": ["Sand", "Olive"]}],
        "variants": [
            {"option1": "Sand", "price": "19.90", "weight": 1.5, "weight_unit": "lb", "sku": "a"},
            {"option1": "Olive", "price": "9", "grams": 333, "compare_at_price": "10.5"},
        ],
        "images": [picture, picture],
    }
    customer = {
        "email": "Ann@Example.com",
        "first_name": "Ann Marie",
        "last_name": "van Dyke",
        "phone": "+16135550135",
        "addresses": [
            {"address1": "1 Main St", "country": "Canada", "province": "ON", "name": "Ann van Dyke"},
            {"address1": "2 Main St", "address2": "", "country_code": "US", "company": "Acme"},
        ],
        "email_marketing_consent": {"state": "subscribed", "consent_updated_at": "2024-01-01T00:00:00Z"},
        "sms_marketing_consent": {"state": "pending"},
        "tags": "b, a",
        "tax_exemptions": ["CA_BC_RESELLER_EXEMPTION"],
    }
    return [
        ("products.json", {"product": PRODUCT["product"] | rows | product}),
        ("custom_collections.json", {"custom_collection": {"title": "Bags", "image": picture, "published": False}}),
        ("smart_collections.json", {"smart_collection": SMART["smart_collection"] | {"image": picture}}),
        ("blogs/{blog}/articles.json", {"article": ARTICLE["article"] | rows | {"image": picture, "tags": "b, a"}}),
        ("customers.json", {"customer": customer}),
        ("orders.json", ORDER),
    ]


@pytest.mark.parametrize("index", range(6))
def test_a_filled_object_sent_back_as_it_was_read_changes_nothing(shop: Shop, api: ApiClient, index: int) -> None:
    # The oldest version returns the most fields.
    client = api.at("2024-10")
    blog = client.post("blogs.json", {"blog": {"title": "News"}}).json()["blog"]["id"]
    path, body = build_full_bodies()[index]
    path = path.format(blog=blog)
    created = client.post(path, body)
    assert created.status_code == 201, created.content
    own = f"{path.removesuffix('.json')}/{next(iter(created.json().values()))['id']}.json"
    response_body = client.get(own).json()
    ((name, attributes),) = response_body.items()
    bodies = (
        {"all": response_body}
        | {field: {name: {field: value}} for field, value in attributes.items()}
        | {f"sent {field}": {name: {field: value}} for field, value in body[name].items()}
    )
    # These fields always create new rows.
    for field in ("images", "image", "addresses", "variants"):
        bodies.pop(f"sent {field}", None)

    with Subtests() as subtest:
        for field, change in bodies.items():
            with subtest(field), assert_database_unchanged():
                response = client.put(own, change)
                assert response.status_code == 200, response.content
