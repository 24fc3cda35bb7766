"""The OpenAPI document matches the interface: requests and responses of every route fit their schemas."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import resolve
from jsonschema import Draft202012Validator

from apps.api.openapi.generators import get_document, get_latest_document
from tests.api.routes import Route, get_all_routes
from tests.conftest import VERSION
from tests.samples import load_all_samples

SAMPLES = load_all_samples()
ROUTES = [route for route in get_all_routes() if route.name in SAMPLES]


def get_operation(route: Route) -> dict[str, Any]:
    method, pattern = route.name.split(" ")
    path = re.sub(r"<(\w+)>", r"{\1}", pattern)
    operation: dict[str, Any] = get_latest_document()["paths"][
        path if path[0] == "/" else f"/admin/api/{VERSION}/{path}"
    ][method.lower()]
    return operation


def find_misfits(schema: dict[str, Any], value: Any) -> list[str]:
    """Return the places where a value does not fit a schema of the document."""
    full_schema = {**schema, "components": get_latest_document()["components"]}
    return [
        f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(full_schema).iter_errors(value)
    ]


def find_unnamed_properties(schema: dict[str, Any], value: Any, at: str = "$") -> list[str]:
    """Return a value's properties that the schema lacks, except in objects without named properties."""
    if "$ref" in schema:
        schema = get_latest_document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, list):
        return [
            path
            for index, item in enumerate(value)
            for path in find_unnamed_properties(schema.get("items", {}), item, f"{at}.{index}")
        ]
    members = schema.get("properties")
    if not isinstance(value, dict) or not members:
        return []
    inner = [
        path
        for name in value.keys() & members
        for path in find_unnamed_properties(members[name], value[name], f"{at}.{name}")
    ]
    return inner + [f"{at}.{name}" for name in value.keys() - members]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_takes_and_gives_what_the_document_says(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])
    operation = get_operation(route)
    body = case.sample.body_for(case.arguments)

    response = case.send()

    assert str(response.status_code) in operation["responses"]
    response_schema = operation["responses"][str(response.status_code)]["content"]["application/json"]["schema"]
    assert response_schema != {"type": "object"}, "nothing is said of the answer"
    assert not find_misfits(response_schema, response.json()), "\n".join(find_misfits(response_schema, response.json()))
    if body is not None:
        request_schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert not find_misfits(request_schema, body), "\n".join(find_misfits(request_schema, body))
        assert find_unnamed_properties(request_schema, body) == [], "typed clients could not send it"
    if where := response.headers.get("Location"):
        assert resolve(urlsplit(where).path), "what was made is found there"


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


def test_the_committed_document_is_the_same_wherever_it_is_made(settings: Any) -> None:
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
