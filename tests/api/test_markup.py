"""The API returns HTML in texts unchanged, as JSON that browsers never interpret as HTML."""

import pytest

from tests.support.api_client import ApiClient
from tests.support.types import JsonObject

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)></title>{{7*7}} & \"quoted\" 'text'"
BODIES: dict[str, JsonObject] = {
    "product": {"title": MARKUP, "body_html": MARKUP, "vendor": MARKUP},
    "custom_collection": {"title": MARKUP, "body_html": MARKUP},
    "customer": {"first_name": MARKUP, "note": MARKUP},
    "blog": {"title": MARKUP},
    "order": {"note": MARKUP, "line_items": [{"title": "Mug", "price": "10.00", "quantity": 1}]},
}


@pytest.mark.parametrize("name", BODIES)
def test_markup_is_given_back_as_it_came(api: ApiClient, name: str) -> None:
    created = api.post(f"{name}s.json", {name: BODIES[name]})
    assert created.status_code == 201, created.content

    for response in (created, api.get(f"{name}s/{created.json()[name]['id']}.json")):
        texts = {field: value for field, value in BODIES[name].items() if isinstance(value, str)}
        assert {field: response.json()[name][field] for field in texts} == texts
        assert response["Content-Type"] == "application/json; charset=utf-8"
        assert response["X-Content-Type-Options"] == "nosniff"
