import ast
import html
import importlib
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from django.conf import settings
from django.test import Client
from jsonschema import Draft202012Validator
from pytest_django import DjangoAssertNumQueries

from apps.core.exceptions import DomainError
from apps.core.i18n import error_messages
from apps.core.rest.exceptions import ApiError
from apps.core.rest.openapi.generators import get_document
from apps.core.rest.reference import errors
from apps.core.rest.reference.examples import get_example
from apps.core.rest.reference.pages import build_search_index, get_resources
from apps.core.rest.versions import get_latest_version, get_served_versions
from apps.core.types import Attrs
from tests.api.route_checks.writes import find_unnamed_properties
from tests.support.types import JsonObject

LATEST = get_latest_version()
REFUSALS = {"BadRequest", "Unprocessable", "ApiError", "PermissionDenied", "Conflict"}


def iterate_operations(version: str) -> Iterator[Attrs]:
    for methods in get_document(version)["paths"].values():
        yield from methods.values()


def find_undescribed_fields(schema: JsonObject, at: str) -> list[str]:
    """Return the fields of a schema that have no description."""
    paths = [f"{at}.{name}" for name, field in schema.get("properties", {}).items() if not field.get("description")]
    for name, field in schema.get("properties", {}).items():
        paths += find_undescribed_fields(field, f"{at}.{name}")
    for part in (schema.get("items"), *schema.get("oneOf", ())):
        if isinstance(part, dict):
            paths += find_undescribed_fields(part, at)
    return paths


def test_every_field_and_parameter_of_every_version_has_words() -> None:
    silent: list[str] = []
    for version in get_served_versions():
        for name, schema in get_document(version)["components"]["schemas"].items():
            silent += find_undescribed_fields(schema, f"{version} {name}")
        for operation in iterate_operations(version):
            operation_name = operation["operationId"]
            silent += [
                f"{operation_name} ?{item['name']}" for item in operation["parameters"] if not item.get("description")
            ]
            for response in [*operation["responses"].values(), operation.get("requestBody", {})]:
                for content in response.get("content", {}).values():
                    silent += find_undescribed_fields(content["schema"], f"{version} {operation_name}")

    assert silent == []


# --- examples ---


def test_metafields_of_all_owners_have_examples_of_their_own() -> None:
    example = get_example("get_blogs_blog_id_articles_owner_id_metafields_count", LATEST)
    metafields_example = get_example("get_smart_collections_owner_id_metafields", LATEST)

    assert example
    assert metafields_example
    assert re.fullmatch(r"blogs/\d+/articles/\d+/metafields/count\.json", example["path"])
    assert re.fullmatch(r"smart_collections/\d+/metafields\.json", metafields_example["path"])
    assert '"owner_resource": "collection"' in json.dumps(metafields_example["answer"])


def test_every_operation_has_an_example_that_fits_in_every_version() -> None:
    wrong: list[str] = []
    for version in get_served_versions():
        document = get_document(version)
        for operation in iterate_operations(version):
            operation_name = f"{version} {operation['operationId']}"
            example = get_example(operation["operationId"], version)
            response = example and operation["responses"].get(str(example["status"]))
            if example is None or response is None or example["status"] >= 304:
                wrong.append(f"{operation_name}: {example and example['status']}")
                continue
            schema = response["content"]["application/json"]["schema"]
            validator = Draft202012Validator({**schema, "components": document["components"]})
            misfits = validator.iter_errors(example["answer"])
            wrong += [f"{operation_name}: {item.json_path} {item.message[:120]}" for item in misfits]
            unnamed = find_unnamed_properties(schema, example["answer"], document)
            wrong += [f"{operation_name}: {item}" for item in unnamed]

    assert wrong == []


def test_examples_hold_no_secret() -> None:
    text = Path(settings.BASE_DIR, "apps/core/rest/reference/examples.json").read_text()

    assert re.findall(r"bk[os]_[\w-]{20,}", text) == []
    assert "/tmp/" not in text


# --- errors ---


def iterate_subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from iterate_subclasses(subclass)


def test_every_refusal_has_its_cause_and_cure() -> None:
    # Import all modules: some are otherwise imported only by a command or a later request.
    folder = Path(settings.BASE_DIR, "apps")
    for path in chain(folder.glob("*/domain/**/*.py"), folder.glob("core/tenancy/**/*.py")):
        importlib.import_module(".".join(path.relative_to(settings.BASE_DIR).with_suffix("").parts))
    Client().get("/docs/api/errors/")
    documented = set(errors.load_entries()["refusal"]) | set(errors.load_entries()["elsewhere"]["classes"])

    names = {
        f"{item.__module__}.{item.__qualname__}"
        for item in iterate_subclasses(DomainError)
        if "apps." in item.__module__
    }

    assert names - documented == set(), "say in errors.toml when it comes and what to do about it"
    assert documented - names == set(), "no such class"
    assert {rule.resource for rule in errors.list_rules()} <= get_resources(LATEST).keys()


def test_every_phrase_has_its_cause_and_cure() -> None:
    fixed = {name for name, value in vars(error_messages).items() if name[0].isupper() and isinstance(value, str)}
    examples = {
        name
        for name, value in vars(error_messages).items()
        if callable(value) and getattr(value, "__module__", "") == error_messages.__name__
    }

    assert set(errors.load_entries()["phrase"]) == fixed | examples


def test_every_message_of_a_single_route_has_its_cause_and_cure() -> None:
    """Check messages that are written as literals where an error is raised."""
    names: set[str] = set()
    for path in Path(settings.BASE_DIR, "apps").rglob("*.py"):
        if {"migrations", "panel", "admin"} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in REFUSALS and node.args:
                names |= get_sentences(node.args[0])

    assert names == set(errors.load_entries()["text"])


def get_sentences(node: ast.AST) -> set[str]:
    """Return the sentences in an expression, with ``{}`` in place of each placeholder."""
    if isinstance(node, ast.JoinedStr):
        return {"".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)}
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) and " " in node.value else set()
    return {text for child in ast.iter_child_nodes(node) for text in get_sentences(child)}


def test_every_status_of_the_interface_is_among_the_errors() -> None:
    documented_statuses = {item.status for item in errors.list_error_responses()}
    described = {
        int(status) for operation in iterate_operations(LATEST) for status in operation["responses"] if status >= "4"
    }
    raised = {
        status for item in iterate_subclasses(ApiError) if isinstance(status := getattr(item, "status", None), int)
    }

    assert described | raised | {405, 406, 408, 409, 411, 413, 415, 500, 503} <= documented_statuses


# --- pages ---


def test_every_page_is_public_cacheable_and_needs_no_database(
    django_assert_num_queries: DjangoAssertNumQueries, db: None
) -> None:
    paths = [f"/docs/api/{LATEST}/", "/docs/api/errors/", "/docs/api/deprecations/"]
    paths += [f"/docs/api/{LATEST}/{slug}/" for slug in get_resources(LATEST)]
    for path in paths:
        with django_assert_num_queries(0):
            page = Client().get(path)
        not_modified = Client().get(path, headers={"if-none-match": page["ETag"]})

        assert (page.status_code, not_modified.status_code, not_modified.content) == (200, 304, b""), path
        assert page["Cache-Control"] == "public, max-age=300"
        assert not page.cookies
        policy = page["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "script-src http://testserver/static/;" in f"{policy};"
        text = page.content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|<style", text), path


def test_a_page_tells_what_each_route_takes_and_gives() -> None:
    text = html.unescape(Client().get(f"/docs/api/{LATEST}/products/").content.decode())

    sentences = ["List products", "Only products of this vendor.", "read_products", "at most 255 characters"]
    sentences += ["See products, variants, images and collections"]
    assert [sentence for sentence in sentences if sentence not in text] == []


def test_versions_have_pages_of_their_own() -> None:
    oldest = settings.API_VERSIONS[0]

    assert Client().get("/docs/", follow=True).redirect_chain == [(f"/docs/api/{LATEST}/", 302)]
    assert Client().get("/docs/api/", {"version": oldest})["Location"] == f"/docs/api/{oldest}/"
    assert f"REST API {oldest}" in Client().get(f"/docs/api/{oldest}/").content.decode()
    for path in ("2020-01/", f"{LATEST}/none/", "2020-01/products/", "none/search.json"):
        assert Client().get(f"/docs/api/{path}").status_code == 404, path
    assert Client().post(f"/docs/api/{LATEST}/").status_code == 405


def test_the_search_leads_to_what_is_there() -> None:
    entries = Client().get(f"/docs/api/{LATEST}/search.json").json()
    pages = {
        slug: Client().get(f"/docs/api/{LATEST}/{slug}/").content.decode()
        for slug in ("products", "orders", "fulfillment_orders")
    }

    assert entries == build_search_index(LATEST)
    assert {item["k"] for item in entries} == {"Resource", "Route", "Field"}
    for item in entries:
        slug, _, anchor = item["u"].partition("/")
        if slug in pages and anchor:
            assert f'id="{anchor.removeprefix("#")}"' in pages[slug], item["u"]
