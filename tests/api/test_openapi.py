"""Tests of the OpenAPI document. ``tests/api/route_checks`` compares it with the requests and responses."""

import re
from typing import Any

from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from apps.core.rest.openapi.generators import get_document, get_latest_document

OPERATIONS = [
    (method, path, operation)
    for path, operations in get_latest_document()["paths"].items()
    for method, operation in operations.items()
]
# The term "fulfillment service" is part of the API.
INTERNAL = (
    r"\b(rows?|viewset|serializer|(?<!fulfillment )service|plan|kit|tenant|instance|queryset|payload|wrapper|unwrapped"
    r"|caller)\b"
)


def test_every_operation_has_a_sentence_of_its_own() -> None:
    sentences = [operation["summary"] for _, _, operation in OPERATIONS]

    assert sorted({sentence for sentence in sentences if sentences.count(sentence) > 1}) == []
    assert [
        sentence for sentence in sentences if re.search(INTERNAL, sentence, re.IGNORECASE) or "``" in sentence
    ] == []
    assert all(sentence[0].isupper() and " " in sentence for sentence in sentences)


def test_every_list_says_what_is_in_it() -> None:
    """Check that every list has an item schema; otherwise client generators drop the list and all its uses."""

    def find_untyped_lists(schema: Any, where: str) -> list[str]:
        if isinstance(schema, list):
            return [
                path for index, child in enumerate(schema) for path in find_untyped_lists(child, f"{where}.{index}")
            ]
        if not isinstance(schema, dict):
            return []
        kinds = schema.get("type", ())
        own = [where] if "array" in (kinds if isinstance(kinds, list) else [kinds]) and "items" not in schema else []
        return own + [path for name, child in schema.items() for path in find_untyped_lists(child, f"{where}.{name}")]

    assert find_untyped_lists(get_latest_document(), "") == []


def test_the_committed_document_is_the_same_wherever_it_is_made(settings: Settings) -> None:
    settings.BASE_URL = "https://elsewhere.example:9999"
    get_document.cache_clear()
    try:
        call_command("openapi", check=True)
    finally:
        get_document.cache_clear()


def test_owners_of_metafields_and_customers_of_orders_are_described() -> None:
    schemas = get_latest_document()["components"]["schemas"]
    customer = schemas["OrderCreate"]["properties"]["customer"]

    assert {"owner_id", "owner_resource"} <= set(schemas["MetafieldCreate"]["properties"])
    assert {"id", "email", "phone", "first_name"} <= set(customer["properties"])
    assert "password" not in customer["properties"]


def test_docs_speak_to_people(db: None) -> None:
    page = Client().get("/docs/", follow=True)

    text = re.sub(r"<[^>]+>", " ", page.content.decode())
    assert "Send every request to" in text
    allowed = ("|(?<!fulfillment )service", "|payload", "|plan")
    internal = re.sub("|".join(map(re.escape, allowed)), "", INTERNAL)
    assert re.findall(internal, text, re.IGNORECASE) == []
