"""Descriptions and examples of the OpenAPI document are complete, correct and short."""

import json
import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.test import Client
from jsonschema import Draft202012Validator

from apps.core.rest.openapi.generators import get_document, get_latest_document
from apps.core.rest.reference import errors
from apps.core.rest.reference.pages import get_resources
from apps.core.rest.versions import get_latest_version, get_served_versions
from tests.api.test_openapi import INTERNAL, OPERATIONS

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
    allowed = ("|(?<!fulfillment )service", "|payload", "|plan")
    internal = re.sub("|".join(map(re.escape, allowed)), "", INTERNAL)

    assert [text for text in texts if re.search(internal, text, re.IGNORECASE)] == []
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
        described = get_document(version)
        for methods in described["paths"].values():
            for operation in methods.values():
                operation_name = f"{version} {operation['operationId']}"
                declarations = [item for status, item in operation["responses"].items() if status < "300"]
                declarations += [operation["requestBody"]] if "requestBody" in operation else []
                for declaration in declarations:
                    content = declaration["content"]["application/json"]
                    schema = {**content["schema"], "components": described["components"]}
                    misfits = Draft202012Validator(schema).iter_errors(content["example"])
                    wrong += [f"{operation_name}: {item.json_path} {item.message[:120]}" for item in misfits]
                wrong += [
                    f"{operation_name}: {item['name']}"
                    for item in operation["parameters"]
                    if "example" in item and not Draft202012Validator(item["schema"]).is_valid(item["example"])
                ]
                ids = [item for item in operation["parameters"] if item["in"] == "path"]
                wrong += [f"{operation_name}: no example of {item['name']}" for item in ids if "example" not in item]

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

    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "Authentication",
        "Versions",
        "Pagination",
        "Errors",
        "Rate limit",
        "Idempotency",
        "More",
    ]
    assert f"X-{settings.BRAND.capitalize()}-Access-Token" in text
    assert f"`{settings.API_VERSIONS[0]}` to `{get_latest_version()}`" in text
    assert f"{settings.RATE_LIMIT_BURST} calls" in text
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
