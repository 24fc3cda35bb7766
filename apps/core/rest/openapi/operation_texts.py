"""Add descriptions and examples to the operations of an OpenAPI document.

The content comes from the viewsets and from three files of the API reference: ``resources.toml`` has the introductions,
``errors.toml`` the business rules and ``examples.json`` the recorded requests and responses.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template
from urllib.parse import parse_qsl

import orjson
from django.conf import settings

from apps.core.rest.reference.errors import list_error_responses, list_rules
from apps.core.rest.reference.examples import Example, get_example
from apps.core.rest.reference.resource_texts import ResourceText, get_resource_texts_by_tag
from apps.core.rest.requests.deprecations import REASONS
from apps.core.rest.requests.throttling import PREMIUM_FACTOR
from apps.core.tenancy.access_scopes import SCOPES
from apps.core.types import Schema

_INTRODUCTION = Path(__file__).with_name("introduction.md")
# The maximum length of strings in examples. Longer strings, such as encoded files, are shortened.
_LONGEST = 300

# Sentences that describe what each standard operation does.
_EFFECTS = {
    "list": (
        "Returns one page of {noun}: 50 by default, up to 250 with `limit`. "
        "The `Link` response header contains the URLs of the next and previous pages."
    ),
    "count": "Returns the number of {plural}.{filters}",
    "get": "Returns the {noun}. Send `fields` to get only the listed fields.",
    "create": (
        "{summary} Returns the {noun} with status 201. "
        "With an `Idempotency-Key` header, you can repeat the request without creating a duplicate."
    ),
    "update": (
        "Updates the fields in the body and returns the {noun}. Fields that the body omits do not change. "
        "Unknown and read-only fields are ignored."
    ),
    "delete": "{summary} The response is {response}.",
    "": "{summary}{returns}",
}
_RESPONSES = {
    "list": "One page of {noun}.",
    "count": "The number of {plural}.",
    "get": "The {noun}.",
    "create": "The new {noun}.",
    "update": "The updated {noun}.",
    "delete": "{response}.",
    "": "The {noun}.",
}


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation of an OpenAPI document, with the data for its description and examples."""

    method: str
    path: str
    schema: Schema
    document: Schema
    version: str

    @property
    def operation_id(self) -> str:
        return str(self.schema["operationId"])

    @property
    def resource(self) -> ResourceText:
        return get_resource_texts_by_tag()[self.schema["tags"][0]]

    @property
    def success(self) -> tuple[str, Schema]:
        """Return the status and the declaration of the successful response, which can be a redirect."""
        return next((status, response) for status, response in self.schema["responses"].items() if status < "304")

    @property
    def success_schema(self) -> Schema:
        return self.success[1]["content"]["application/json"]["schema"]

    @property
    def noun(self) -> str:
        """Return the name of the object or list in the response, or an empty string for other responses."""
        names = self.success_schema.get("required", ())
        return names[0].replace("_", " ") if names else ""

    @property
    def query_names(self) -> frozenset[str]:
        return frozenset(parameter["name"] for parameter in self.schema["parameters"] if parameter["in"] == "query")

    @property
    def required_fields(self) -> list[str]:
        """Return the required fields of the body, or of the object that the body wraps."""
        content = self.schema.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            return []
        schema = self._resolve(content["schema"])
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if len(properties) == 1 and required:
            return list(self._resolve(properties[required[0]]).get("required", []))
        return list(required)

    def _resolve(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        if reference is None:
            return schema
        return self.document["components"]["schemas"][reference.rsplit("/", 1)[1]]


def add_operation_texts(document: Schema, version: str) -> None:
    """Add the introduction to the document, and a description and examples to each operation."""
    document["info"]["description"] = _render_introduction(version)
    document["components"]["schemas"]["Errors"]["examples"] = [
        orjson.loads(response.body) for response in list_error_responses() if response.status >= 400
    ]
    operations = [
        _Operation(method, path, schema, document, version)
        for path, methods in document["paths"].items()
        for method, schema in methods.items()
    ]
    first = _find_first_operations(operations)
    for operation in operations:
        example = get_example(operation.operation_id, version)
        with_intro = first[operation.resource.slug] is operation
        operation.schema["description"] = "\n\n".join(_paragraphs(operation, example, with_intro=with_intro))
        operation.success[1]["description"] = _describe_success(operation)
        if example is not None:
            _add_example(operation, example)


def _render_introduction(version: str) -> str:
    """Return the text of ``introduction.md`` with this installation's brand, versions and rate limits."""
    return (
        Template(_INTRODUCTION.read_text())
        .safe_substitute(
            brand=settings.BRAND.capitalize(),
            version=version,
            oldest=settings.API_VERSIONS[0],
            newest=settings.API_VERSIONS[-1],
            rate_size=settings.RATE_LIMIT_BURST,
            rate_leak=f"{settings.RATE_LIMIT_PER_SECOND:g}",
            premium_factor=PREMIUM_FACTOR,
        )
        .strip()
    )


def _find_first_operations(operations: list[_Operation]) -> dict[str, _Operation]:
    """Return the first operation of each resource. Its description begins with the introduction of the resource."""
    first: dict[str, _Operation] = {}
    for operation in sorted(operations, key=lambda operation: (operation.path.count("/"), operation.path.count("{"))):
        current = first.setdefault(operation.resource.slug, operation)
        if operation.path == current.path and operation.method == "get":
            first[operation.resource.slug] = operation
    return first


def _paragraphs(operation: _Operation, example: Example | None, *, with_intro: bool) -> Iterator[str]:
    if with_intro:
        yield operation.resource.intro
    yield _describe_effect(operation)
    if operation.required_fields:
        names = ", ".join(f"`{name}`" for name in operation.required_fields)
        yield f"Required fields: {names}."
    if query := _find_undeclared_query(operation, example):
        yield f"Example query: `{query}`."
    if operation.schema.get("deprecated"):
        title, reason = REASONS[operation.schema["externalDocs"]["url"].partition("#")[2]]
        yield f"Deprecated: {title}. {reason}"
    yield _describe_scopes(operation.schema["x-scopes"])
    refusals = [
        f"- {rule.cause} {rule.cure}"
        for rule in list_rules()
        if rule.applies_to(operation.operation_id, operation.resource.slug)
    ]
    if refusals:
        yield "Errors of this operation:\n\n" + "\n".join(dict.fromkeys(refusals))
    slug = operation.resource.slug
    yield (
        f"[Reference](/docs/api/{operation.version}/{slug}/#{operation.operation_id}) · "
        f"[Errors](/docs/api/errors/#{slug})"
    )


def _get_kind(operation: _Operation) -> str:
    """Return the kind of a standard operation (a key of ``_EFFECTS``), or an empty string for other operations."""
    method, is_single = operation.method, operation.path.endswith("{id}.json")
    kinds = {
        "list": method == "get" and "page_info" in operation.query_names,
        "count": method == "get" and operation.path.endswith("/count.json"),
        "get": method == "get" and "fields" in operation.query_names,
        "create": method == "post" and operation.success[0] == "201",
        "update": method == "put" and is_single,
        "delete": method == "delete" and is_single,
    }
    return next((kind for kind, is_kind in kinds.items() if is_kind), "")


def _describe_effect(operation: _Operation) -> str:
    noun = operation.noun or "object"
    summary = f"{operation.schema['summary']}."
    is_changed = operation.noun and operation.method != "get" and not summary.startswith("Return ")
    return _EFFECTS[_get_kind(operation)].format(
        noun=noun,
        plural=_get_plural(operation),
        filters=" Accepts the same filters as the list." if operation.query_names else "",
        response=_name_deletion_response(operation),
        summary=summary,
        returns=f" Returns the {noun}." if is_changed else "",
    )


def _describe_success(operation: _Operation) -> str:
    text = _RESPONSES[_get_kind(operation)] if operation.noun or operation.method == "delete" else "Success."
    response = _name_deletion_response(operation).capitalize()
    return text.format(noun=operation.noun or "object", plural=_get_plural(operation), response=response)


def _name_deletion_response(operation: _Operation) -> str:
    return "an empty object" if operation.success_schema.get("maxProperties") == 0 else "the deleted object"


def _get_plural(operation: _Operation) -> str:
    """Return the plural name of the objects that a count operation counts, taken from its path."""
    return operation.path.removesuffix("/count.json").rsplit("/", 1)[1].replace("_", " ")


def _describe_scopes(scopes: list[str]) -> str:
    names = [f"`{scope}` ({SCOPES[scope]})" for scope in scopes]
    if not names:
        return "Required scope: none. Every access token of the shop is accepted."
    return f"Required scope: {'one of ' if names[1:] else ''}{', '.join(names)}."


def _add_example(operation: _Operation, example: Example) -> None:
    operation.success[1]["content"]["application/json"]["example"] = _shorten(example["answer"])
    if "requestBody" in operation.schema:
        # If no body was recorded, the operation has no required fields, so an empty object is a valid body.
        operation.schema["requestBody"]["content"]["application/json"]["example"] = _shorten(example["body"] or {})
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>\\d+)", re.escape(operation.path))
    prefix = "" if example["path"].startswith("/") else f"/admin/api/{operation.version}/"
    match = re.fullmatch(pattern, prefix + example["path"])
    values = {**(match.groupdict() if match else {}), **dict(parse_qsl(example["query"]))}
    for parameter in operation.schema["parameters"]:
        if (value := values.get(parameter["name"])) is not None:
            parameter["example"] = int(value) if parameter["schema"].get("type") == "integer" else value


def _find_undeclared_query(operation: _Operation, example: Example | None) -> str:
    """Return an example's query parameters that the operation does not declare, such as search fields."""
    pairs = parse_qsl(example["query"]) if example else []
    return "&".join(f"{name}={value}" for name, value in pairs if name not in operation.query_names | {"limit"})


def _shorten(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    if isinstance(value, list):
        return [_shorten(item) for item in value]
    if isinstance(value, dict):
        return {name: _shorten(item) for name, item in value.items()}
    return value
