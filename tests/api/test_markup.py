"""The API returns HTML in texts unchanged, as JSON that browsers never interpret as HTML."""

import pytest

from tests.support.api_client import ApiClient
from tests.support.types import JsonObject

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)></title>{{7*7}} & \"quoted\" 'text'"
MADE = [
    pytest.param("products", "product", {"title": MARKUP, "body_html": MARKUP, "vendor": MARKUP}, id="product"),
    pytest.param("custom_collections", "custom_collection", {"title": MARKUP, "body_html": MARKUP}, id="collection"),
    pytest.param("customers", "customer", {"first_name": MARKUP, "note": MARKUP}, id="customer"),
    pytest.param("blogs", "blog", {"title": MARKUP}, id="blog"),
    pytest.param(
        "orders",
        "order",
        {"note": MARKUP, "line_items": [{"title": "Mug", "price": "10.00", "quantity": 1}]},
        id="order",
    ),
]


@pytest.mark.parametrize(("plural", "singular", "body"), MADE)
def test_markup_is_given_back_as_it_came(api: ApiClient, plural: str, singular: str, body: JsonObject) -> None:
    created_response = api.post(f"{plural}.json", {singular: body})
    assert created_response.status_code == 201, created_response.content

    for response in (created_response, api.get(f"{plural}/{created_response.json()[singular]['id']}.json")):
        texts = {name: value for name, value in body.items() if isinstance(value, str)}
        assert {name: response.json()[singular][name] for name in texts} == texts
        assert response["Content-Type"] == "application/json; charset=utf-8"
        assert response["X-Content-Type-Options"] == "nosniff"
