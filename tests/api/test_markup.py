"""Markup in texts: the interface gives back what it took, as JSON that no browser takes for a page."""

from typing import Any

import pytest

from tests.conftest import ApiClient

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
def test_markup_is_given_back_as_it_came(api: ApiClient, plural: str, singular: str, body: dict[str, Any]) -> None:
    made = api.post(f"{plural}.json", {singular: body})
    assert made.status_code == 201, made.content

    for answer in (made, api.get(f"{plural}/{made.json()[singular]['id']}.json")):
        texts = {name: value for name, value in body.items() if isinstance(value, str)}
        assert {name: answer.json()[singular][name] for name in texts} == texts
        assert answer["Content-Type"] == "application/json; charset=utf-8"
        assert answer["X-Content-Type-Options"] == "nosniff"
