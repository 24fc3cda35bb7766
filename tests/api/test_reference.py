"""The reference for apps: complete, in words, with examples that are current, public and cacheable.

What it says of requests and answers is made of the OpenAPI document, which ``test_openapi.py`` proves true.
"""

import ast
import html
import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.test import Client
from jsonschema import Draft202012Validator

from apps.api.exceptions import ApiError
from apps.api.openapi.generators import get_document
from apps.api.reference import errors
from apps.api.reference.examples import get_example
from apps.api.reference.pages import build_search_index, get_resources
from apps.api.versions import get_latest_version, get_served_versions
from apps.ground import error_messages
from apps.ground.exceptions import DomainError

REFUSALS = {"BadRequest", "Unprocessable", "ApiError", "PermissionDenied", "Conflict"}


def operations(version: str) -> Iterator[dict[str, Any]]:
    for methods in get_document(version)["paths"].values():
        yield from methods.values()


def undescribed(schema: dict[str, Any], at: str) -> list[str]:
    """The fields of which a schema does not say what they mean."""
    found = [f"{at}.{name}" for name, field in schema.get("properties", {}).items() if not field.get("description")]
    for name, field in schema.get("properties", {}).items():
        found += undescribed(field, f"{at}.{name}")
    for part in (schema.get("items"), *schema.get("oneOf", ())):
        if isinstance(part, dict):
            found += undescribed(part, at)
    return found


def test_every_field_and_parameter_of_every_version_has_words() -> None:
    silent: list[str] = []
    for version in get_served_versions():
        for name, schema in get_document(version)["components"]["schemas"].items():
            silent += undescribed(schema, f"{version} {name}")
        for operation in operations(version):
            known = operation["operationId"]
            silent += [f"{known} ?{each['name']}" for each in operation["parameters"] if not each.get("description")]
            for answer in [*operation["responses"].values(), operation.get("requestBody", {})]:
                for content in answer.get("content", {}).values():
                    silent += undescribed(content["schema"], f"{version} {known}")

    assert silent == []


# --- examples ---


def plain(schema: Any, whole: dict[str, Any]) -> dict[str, Any]:
    """A schema without its references."""
    if isinstance(schema, dict) and "$ref" in schema:
        found: dict[str, Any] = whole["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return found
    return schema if isinstance(schema, dict) else {}


def differing(schema: Any, value: Any, whole: dict[str, Any], at: str = "$") -> list[str]:
    """Where an answer has members that its schema does not name, or lacks one that it names."""
    schema = plain(schema, whole)
    either = [each for each in schema.get("oneOf", ()) if plain(each, whole).get("properties")]
    if either:
        schema = plain(either[0], whole)
    if isinstance(value, list):
        items = schema.get("items", {})
        return [found for place, each in enumerate(value) for found in differing(items, each, whole, f"{at}.{place}")]
    members = schema.get("properties")
    if not isinstance(value, dict) or not members:
        return []
    found = [f"{at}.{name}" for name in value.keys() - members.keys()]
    for name in value.keys() & members:
        found += differing(members[name], value[name], whole, f"{at}.{name}")
    return found


def test_every_operation_has_an_example() -> None:
    lacking = [
        operation["operationId"]
        for version in get_served_versions()
        for operation in operations(version)
        if get_example(operation["operationId"], version) is None
    ]

    assert lacking == []


def test_metafields_of_all_owners_have_examples_of_their_own() -> None:
    example = get_example("get_blogs_blog_id_articles_owner_id_metafields_count", get_latest_version())
    listed = get_example("get_smart_collections_owner_id_metafields", get_latest_version())

    assert example is not None
    assert re.fullmatch(r"blogs/\d+/articles/\d+/metafields/count\.json", example["path"])
    assert listed is not None
    assert re.fullmatch(r"smart_collections/\d+/metafields\.json", listed["path"])
    assert '"owner_resource": "collection"' in json.dumps(listed["answer"])


def test_examples_fit_the_operations_of_every_version() -> None:
    wrong: list[str] = []
    for version in get_served_versions():
        whole = get_document(version)
        for operation in operations(version):
            known = f"{version} {operation['operationId']}"
            example = get_example(operation["operationId"], version)
            if example is None:
                continue
            answer = operation["responses"].get(str(example["status"]))
            if answer is None or example["status"] >= 300:
                wrong.append(f"{known}: answers {example['status']}")
                continue
            schema = answer["content"]["application/json"]["schema"]
            validator = Draft202012Validator({**schema, "components": whole["components"]})
            misfits = validator.iter_errors(example["answer"])
            wrong += [f"{known}: {each.json_path} {each.message[:120]}" for each in misfits]
            wrong += [f"{known}: {each}" for each in differing(schema, example["answer"], whole)]

    assert wrong == []


def test_examples_hold_no_secret() -> None:
    text = Path(settings.BASE_DIR, "apps/api/reference/examples.json").read_text()

    assert re.findall(r"bk[os]_[\w-]{20,}", text) == []
    assert "/tmp/" not in text


# --- errors ---


def refusals(kind: type[Exception]) -> Iterator[type[Exception]]:
    for each in kind.__subclasses__():
        yield each
        yield from refusals(each)


def test_every_refusal_has_its_cause_and_cure() -> None:
    # Some are imported only by a command, or by the first request that needs them.
    for path in Path(settings.BASE_DIR, "apps").glob("*/domain/**/*.py"):
        importlib.import_module(".".join(path.relative_to(settings.BASE_DIR).with_suffix("").parts))
    Client().get("/docs/api/errors/")
    named = set(errors.load_entries()["refusal"]) | set(errors.load_entries()["elsewhere"]["classes"])

    found = {f"{each.__module__}.{each.__qualname__}" for each in refusals(DomainError) if "apps." in each.__module__}

    assert found - named == set(), "say in errors.toml when it comes and what to do about it"
    assert named - found == set(), "no such class"
    assert {rule.resource for rule in errors.list_rules()} <= get_resources(get_latest_version()).keys()


def test_every_phrase_has_its_cause_and_cure() -> None:
    fixed = {name for name, value in vars(error_messages).items() if name[0].isupper() and isinstance(value, str)}
    made = {
        name
        for name, value in vars(error_messages).items()
        if callable(value) and getattr(value, "__module__", "") == error_messages.__name__
    }

    assert set(errors.load_entries()["phrase"]) == fixed | made


def test_every_message_of_a_single_route_has_its_cause_and_cure() -> None:
    """Messages that are written where they are raised."""
    found: set[str] = set()
    for path in Path(settings.BASE_DIR, "apps").rglob("*.py"):
        if {"migrations", "panel", "admin"} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in REFUSALS and node.args:
                found |= texts(node.args[0])

    assert found == set(errors.load_entries()["text"])


def texts(node: ast.AST) -> set[str]:
    """The sentences in an expression, with ``{}`` for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return {"".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)}
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) and " " in node.value else set()
    return {text for child in ast.iter_child_nodes(node) for text in texts(child)}


def test_every_status_of_the_interface_is_among_the_errors() -> None:
    told = {each.status for each in errors.list_error_responses()}
    described = {
        int(status)
        for operation in operations(get_latest_version())
        for status in operation["responses"]
        if status >= "4"
    }
    raised = {status for each in refusals(ApiError) if isinstance(status := getattr(each, "status", None), int)}

    assert described | raised | {405, 406, 408, 409, 411, 413, 415, 500, 503} <= told


# --- pages ---


def test_every_page_is_public_cacheable_and_needs_no_database(django_assert_num_queries: Any, db: None) -> None:
    paths = [f"/docs/api/{get_latest_version()}/", "/docs/api/errors/", "/docs/api/deprecations/"]
    paths += [f"/docs/api/{get_latest_version()}/{slug}/" for slug in get_resources(get_latest_version())]
    for path in paths:
        with django_assert_num_queries(0):
            page = Client().get(path)
        again = Client().get(path, headers={"if-none-match": page["ETag"]})

        assert (page.status_code, again.status_code, again.content) == (200, 304, b""), path
        assert page["Cache-Control"] == "public, max-age=300"
        assert not page.cookies
        policy = page["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "script-src http://testserver/static/;" in f"{policy};"
        text = page.content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|<style", text), path


def test_a_page_tells_what_each_route_takes_and_gives() -> None:
    text = html.unescape(Client().get(f"/docs/api/{get_latest_version()}/products/").content.decode())

    for said in (
        "List products",
        "Only products of this vendor.",
        "read_products",
        "See products, variants, images and collections",
        "at most 255 characters",
    ):
        assert said in text, said


def test_versions_have_pages_of_their_own() -> None:
    oldest = settings.API_VERSIONS[0]

    assert Client().get("/docs/", follow=True).redirect_chain == [(f"/docs/api/{get_latest_version()}/", 302)]
    assert Client().get("/docs/api/", {"version": oldest})["Location"] == f"/docs/api/{oldest}/"
    assert f"REST interface {oldest}" in Client().get(f"/docs/api/{oldest}/").content.decode()
    for path in ("2020-01/", f"{get_latest_version()}/none/", "2020-01/products/", "none/search.json"):
        assert Client().get(f"/docs/api/{path}").status_code == 404, path
    assert Client().post(f"/docs/api/{get_latest_version()}/").status_code == 405


def test_the_search_leads_to_what_is_there() -> None:
    entries = Client().get(f"/docs/api/{get_latest_version()}/search.json").json()
    pages = {
        slug: Client().get(f"/docs/api/{get_latest_version()}/{slug}/").content.decode()
        for slug in ("products", "orders", "fulfillment_orders")
    }

    assert entries == build_search_index(get_latest_version())
    assert {each["k"] for each in entries} == {"Resource", "Route", "Field"}
    for each in entries:
        slug, _, anchor = each["u"].partition("/")
        if slug in pages and anchor:
            assert f'id="{anchor.removeprefix("#")}"' in pages[slug], each["u"]
