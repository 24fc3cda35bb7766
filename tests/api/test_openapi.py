"""Tests of the OpenAPI document. ``tests/api/route_checks`` compares it with the requests and responses."""

import json
import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings as configured
from django.core.management import call_command
from django.test import Client
from jsonschema import Draft202012Validator
from pytest_django import Settings

from apps.core.rest.openapi.generators import get_document, get_latest_document
from apps.core.rest.reference import errors
from apps.core.rest.reference.pages import get_resources
from apps.core.rest.versions import get_latest_version, get_served_versions

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
INTERNAL_IN_TEXTS = re.sub(r"\|\(\?<!fulfillment \)service|\|payload|\|plan", "", INTERNAL)


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
    assert re.findall(INTERNAL_IN_TEXTS, text, re.IGNORECASE) == []


TEXT_KEYS = {"description", "example", "examples"}


def remove_texts(value: Any) -> Any:
    """Return the value without descriptions and examples, but keep properties with these names."""
    if isinstance(value, list):
        return [remove_texts(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: {key: remove_texts(item) for key, item in member.items()}
        if name == "properties"
        else remove_texts(member)
        for name, member in value.items()
        if name not in TEXT_KEYS
    }


def test_every_operation_names_its_effect_scope_and_further_reading() -> None:
    for _, _, operation in OPERATIONS:
        text = operation["description"]
        operation_name = operation["operationId"]

        assert len(text) > len(operation["summary"]) + 80, operation_name
        assert re.findall(r"`(\w+)` \(", text) == operation["x-scopes"], operation_name
        assert ("Required scope: none" in text) is (not operation["x-scopes"]), operation_name
        assert ("Deprecated: " in text) is operation.get("deprecated", False), operation_name
        assert f"#{operation_name})" in text, operation_name


def test_descriptions_speak_to_people() -> None:
    texts = [operation["description"] for _, _, operation in OPERATIONS]
    texts += [item["description"] for _, _, operation in OPERATIONS for item in operation["responses"].values()]

    assert [text for text in texts if re.search(INTERNAL_IN_TEXTS, text, re.IGNORECASE)] == []
    assert [text for text in texts if re.search(r"  |\.\.|``|\bNone\b", text)] == []


def test_links_in_descriptions_lead_to_pages_and_anchors() -> None:
    pages = {
        slug: Client().get(f"/docs/api/{get_latest_version()}/{slug}/").content.decode()
        for slug in get_resources(get_latest_version())
    } | {"errors": Client().get("/docs/api/errors/").content.decode()}
    for _, _, operation in OPERATIONS:
        links = re.findall(r"\]\(/docs/api/([^)]+)/#([^)]+)\)", operation["description"])
        assert len(links) == 2
        page, anchor = links[0]
        assert f'id="{anchor}"' in pages[page.removeprefix(f"{get_latest_version()}/")], anchor
        assert links[1][0] == "errors"
        assert links[1][1] in get_resources(get_latest_version())


def test_examples_fit_the_schemas_of_every_version() -> None:
    wrong: list[str] = []
    for version in get_served_versions():
        document = get_document(version)
        for operation in (operation for methods in document["paths"].values() for operation in methods.values()):
            name = f"{version} {operation['operationId']}"
            declarations = [item for status, item in operation["responses"].items() if status < "300"]
            declarations += [operation["requestBody"]] if "requestBody" in operation else []
            for content in (declaration["content"]["application/json"] for declaration in declarations):
                schema = {**content["schema"], "components": document["components"]}
                misfits = Draft202012Validator(schema).iter_errors(content["example"])
                wrong += [f"{name}: {item.json_path} {item.message[:120]}" for item in misfits]
            for item in operation["parameters"]:
                if "example" not in item:
                    wrong += [f"{name}: no example of {item['name']}"] if item["in"] == "path" else []
                elif not Draft202012Validator(item["schema"]).is_valid(item["example"]):
                    wrong.append(f"{name}: {item['name']}")

    assert wrong == []


def iterate_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from iterate_texts(inner)


def test_examples_keep_the_document_small() -> None:
    for _, _, operation in OPERATIONS:
        for response in operation["responses"].values():
            example = response["content"]["application/json"].get("example")
            assert all(len(text) <= 301 for text in iterate_texts(example)), operation["operationId"]
    document = get_latest_document()
    assert len(json.dumps(document)) < 3 * len(json.dumps(remove_texts(document)))


def test_the_errors_have_examples() -> None:
    schema = get_latest_document()["components"]["schemas"]["Errors"]

    assert {"errors": "Not Found"} in schema["examples"]
    assert all(Draft202012Validator(schema).is_valid(example) for example in schema["examples"])


def test_rules_are_described_where_they_apply() -> None:
    by_id = {operation["operationId"]: operation["description"] for _, _, operation in OPERATIONS}

    for rule in errors.list_rules():
        for pattern in rule.operations.split():
            single = errors.ResourceRule(rule.resource, rule.cause, rule.cure, pattern)
            assert pattern == "-" or any(single.applies_to(operation_name, "") for operation_name in by_id), pattern
    assert "A customer with orders cannot be deleted." in by_id["delete_customers_id"]
    assert "A customer with orders cannot be deleted." not in by_id["post_customers"]
    assert "Errors of this operation" not in by_id["get_customers"]


def test_the_introduction_covers_what_all_operations_share() -> None:
    text = get_latest_document()["info"]["description"]

    titles = ["Authentication", "Versions", "Pagination", "Errors", "Rate limit", "Idempotency", "More"]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == titles
    assert f"X-{configured.BRAND.capitalize()}-Access-Token" in text
    assert f"`{configured.API_VERSIONS[0]}` to `{get_latest_version()}`" in text
    assert f"{configured.RATE_LIMIT_BURST} calls" in text
    assert f'-Access-Token: $TOKEN" "https://<shop>/admin/api/{get_latest_version()}/shop.json"' in text
    assert not re.search(r"\$(?!TOKEN)", text), "a placeholder without a value"
    statuses = {int(status) for status in re.findall(r"^\| (\d{3}) \|", text, re.MULTILINE)}
    assert {int(status) for _, _, item in OPERATIONS for status in item["responses"] if status >= "4"} <= statuses


def test_each_version_describes_itself() -> None:
    oldest = get_served_versions()[0]

    assert f"/admin/api/{oldest}/" in get_document(oldest)["info"]["description"]
    image = get_document(oldest)["paths"][f"/admin/api/{oldest}/products/{{product_id}}/images.json"]["get"]
    assert f"/docs/api/{oldest}/images/" in image["description"]
    assert "Deprecated" not in image["description"], "the list is deprecated since 2025-01"
