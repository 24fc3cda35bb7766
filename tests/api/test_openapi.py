"""The interface's description of itself is true: what every route takes and gives fits what the document says."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import resolve
from jsonschema import Draft202012Validator

from apps.api.openapi.generators import get_document, get_latest_document
from tests.api.routes import Route, all_routes
from tests.conftest import VERSION
from tests.samples import load_all

SAMPLES = load_all()
ROUTES = [route for route in all_routes() if route.name in SAMPLES]


def described(route: Route) -> dict[str, Any]:
    method, pattern = route.name.split(" ")
    path = re.sub(r"<(\w+)>", r"{\1}", pattern)
    operation: dict[str, Any] = get_latest_document()["paths"][
        path if path[0] == "/" else f"/admin/api/{VERSION}/{path}"
    ][method.lower()]
    return operation


def misfits(schema: dict[str, Any], value: Any) -> list[str]:
    """Where a value does not fit a schema of the document."""
    whole = {**schema, "components": get_latest_document()["components"]}
    return [f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(whole).iter_errors(value)]


def unnamed(schema: dict[str, Any], value: Any, at: str = "$") -> list[str]:
    """Where a value has members that its schema does not name; of an object without any, nothing is said."""
    if "$ref" in schema:
        schema = get_latest_document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, list):
        return [
            found
            for index, each in enumerate(value)
            for found in unnamed(schema.get("items", {}), each, f"{at}.{index}")
        ]
    members = schema.get("properties")
    if not isinstance(value, dict) or not members:
        return []
    inner = [found for name in value.keys() & members for found in unnamed(members[name], value[name], f"{at}.{name}")]
    return inner + [f"{at}.{name}" for name in value.keys() - members]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_takes_and_gives_what_the_document_says(route: Route, arranged: Any) -> None:
    case = arranged(SAMPLES[route.name])
    operation = described(route)
    body = case.sample.body_for(case.arguments)

    response = case.send()

    assert str(response.status_code) in operation["responses"]
    given = operation["responses"][str(response.status_code)]["content"]["application/json"]["schema"]
    assert given != {"type": "object"}, "nothing is said of the answer"
    assert not misfits(given, response.json()), "\n".join(misfits(given, response.json()))
    if body is not None:
        taken = operation["requestBody"]["content"]["application/json"]["schema"]
        assert not misfits(taken, body), "\n".join(misfits(taken, body))
        assert unnamed(taken, body) == [], "typed clients could not send it"
    if where := response.headers.get("Location"):
        assert resolve(urlsplit(where).path), "what was made is found there"


OPERATIONS = [
    (method, path, operation)
    for path, operations in get_latest_document()["paths"].items()
    for method, operation in operations.items()
]
# A fulfillment service is a thing of the interface.
INTERNAL = (
    r"\b(rows?|viewset|serializer|(?<!fulfillment )service|plan|kit|tenant|instance|queryset|payload|wrapper|unwrapped"
    r"|caller)\b"
)


def test_every_operation_has_a_sentence_of_its_own() -> None:
    sentences = [operation["summary"] for _, _, operation in OPERATIONS]

    assert sorted({each for each in sentences if sentences.count(each) > 1}) == []
    assert [each for each in sentences if re.search(INTERNAL, each, re.IGNORECASE) or "``" in each] == []
    assert all(each[0].isupper() and " " in each for each in sentences)


def test_every_list_says_what_is_in_it() -> None:
    """Generators of clients leave out, with all that refers to it, a list of which nothing is said."""

    def silent(schema: Any, where: str) -> list[str]:
        if isinstance(schema, list):
            return [found for index, each in enumerate(schema) for found in silent(each, f"{where}.{index}")]
        if not isinstance(schema, dict):
            return []
        kinds = schema.get("type", ())
        own = [where] if "array" in (kinds if isinstance(kinds, list) else [kinds]) and "items" not in schema else []
        return own + [found for name, each in schema.items() for found in silent(each, f"{where}.{name}")]

    assert silent(get_latest_document(), "") == []


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
    assert "Every call goes to" in text
    allowed = ("|(?<!fulfillment )service", "|payload", "|plan")
    internal = re.sub("|".join(map(re.escape, allowed)), "", INTERNAL)
    assert re.findall(internal, text, re.IGNORECASE) == []
