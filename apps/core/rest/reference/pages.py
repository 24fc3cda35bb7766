"""Build the data of the reference pages: resources, operations, parameters and fields of one version.

The only source is the version's OpenAPI document. This module does not query the database.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings

from apps.core.rest.reference.examples import Example, get_example
from apps.core.rest.reference.resource_texts import ResourceText, list_resource_texts
from apps.core.tenancy.access_scopes import SCOPES
from apps.core.types import Schema

_MONEY = {"shop_money", "presentment_money"}
_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of an object.

    ``name`` is the full path with dots, ``words`` are the allowed values, if only certain values are allowed, and
    ``href`` is the URL of the page that describes the field's resource.
    """

    name: str
    kind: str
    says: str
    required: bool = False
    words: tuple[str, ...] = ()
    href: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a resource, as a reference page shows it."""

    anchor: str
    method: str
    path: str
    summary: str
    scopes: tuple[tuple[str, str], ...]
    path_parameters: tuple[Field, ...]
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    takes_body: bool
    success: str
    shows: tuple[Field, ...]
    deprecated: str
    example: Example | None
    sent: str = ""
    sent_body: str = ""
    answered: str = ""

    @property
    def writes(self) -> bool:
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class ResourcePage(ResourceText):
    """A reference page about one resource."""

    operations: list[Operation] = field(default_factory=list)
    objects: list[tuple[str, tuple[Field, ...]]] = field(default_factory=list)


def get_slugs() -> frozenset[str]:
    """Return the page slugs of all versions."""
    return frozenset(text.slug for text in list_resource_texts())


@lru_cache(maxsize=16)
def get_resources(version: str) -> dict[str, ResourcePage]:
    """Return the pages of a version, keyed by slug. Pages without operations in the version are omitted.

    Raises:
        KeyError: A tag in the document does not belong to any page.
    """
    # Import the generator here, because the import is rarely needed and slows the start of a web process by 10%.
    from apps.core.rest.openapi.generators import get_document

    described = get_document(version)
    pages = {
        text.slug: ResourcePage(text.slug, text.title, text.group, text.intro, text.tags)
        for text in list_resource_texts()
    }
    by_tag = {tag: page for page in pages.values() for tag in page.tags}
    reader = _Reader(described, version)
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            page = by_tag[operation["tags"][0]]
            page.operations.append(reader.operation(path, method, operation))
            for name in reader.list_response_objects(operation):
                if name not in {object_name for object_name, _ in page.objects}:
                    page.objects.append((name, reader.fields(described["components"]["schemas"][name])))
    for page in pages.values():
        page.operations.sort(key=_sort_key)
    return {slug: page for slug, page in pages.items() if page.operations}


def _sort_key(operation: Operation) -> tuple[int, int, str, str]:
    """Return the sort key of an operation: lists before single objects, reads before writes."""
    methods = ("GET", "POST", "PUT", "DELETE")
    return operation.path.count("/"), operation.path.count("{"), operation.path, str(methods.index(operation.method))


def build_search_index(version: str) -> list[dict[str, str]]:
    """Return the search index: pages, operations and fields, each with its URL."""
    index = []
    for page in get_resources(version).values():
        index.append({"t": page.title, "s": page.intro, "u": f"{page.slug}/", "k": "Resource"})
        index += [
            {"t": item.summary, "s": f"{item.method} {item.path}", "u": f"{page.slug}/#{item.anchor}", "k": "Route"}
            for item in page.operations
        ]
        for name, fields in page.objects:
            index += [
                {"t": f"{name}.{item.name}", "s": item.says, "u": f"{page.slug}/#{name}.{item.name}", "k": "Field"}
                for item in fields
            ]
    return index


class _Reader:
    """Reads the operations and objects of one OpenAPI document."""

    def __init__(self, described: Schema, version: str) -> None:
        self.schemas: dict[str, Schema] = described["components"]["schemas"]
        self.version = version
        self.slugs = get_slugs()

    def operation(self, path: str, method: str, operation: Schema) -> Operation:
        parameters = operation["parameters"]
        status, success = next((key, item) for key, item in operation["responses"].items() if key < "304")
        example = get_example(operation["operationId"], self.version)
        return Operation(
            anchor=operation["operationId"],
            method=method.upper(),
            path=path,
            summary=operation["summary"],
            scopes=tuple((scope, SCOPES.get(scope, "")) for scope in operation["x-scopes"]),
            path_parameters=tuple(self._parameter(item) for item in parameters if item["in"] == "path"),
            parameters=tuple(self._parameter(item) for item in parameters if item["in"] == "query"),
            body=self._body(operation),
            takes_body="requestBody" in operation,
            success=status,
            shows=self.fields(_content(success), depth=-1) if not _find_references(_content(success)) else (),
            deprecated=operation.get("externalDocs", {}).get("url", "") if operation.get("deprecated") else "",
            example=example,
            sent=_format_curl(method.upper(), path, example, self.version) if example else "",
            sent_body=_format_json(example["body"]) if example and example["body"] is not None else "",
            answered=_format_json(example["answer"]) if example else "",
        )

    def list_response_objects(self, operation: Schema) -> list[str]:
        return [
            name
            for key, response in operation["responses"].items()
            if key < "304"
            for name in _find_references(_content(response))
        ]

    def fields(self, schema: Schema, prefix: str = "", depth: int = 0) -> tuple[Field, ...]:
        return tuple(self._fields(schema, prefix, depth))

    def _fields(self, schema: Schema, prefix: str, depth: int) -> Iterator[Field]:
        schema = self._resolved(schema)
        required = set(schema.get("required", ()))
        for name, property_schema in schema.get("properties", {}).items():
            inner = _inner(self._resolved(property_schema))
            href = self._page_of(name, prefix) if depth >= 0 else ""
            words = tuple(str(word) for word in property_schema.get("enum", ()) if word is not None)
            says = property_schema.get("description", "")
            yield Field(f"{prefix}{name}", _describe_type(property_schema), says, name in required, words, href)
            members = self._resolved(inner).get("properties", {}) if inner else {}
            if members and not href and not members.keys() >= _MONEY and depth < _DEEPEST:
                yield from self._fields(inner, f"{prefix}{name}.", depth + 1)

    def _page_of(self, name: str, prefix: str) -> str:
        """Return the URL of the page that describes a field's resource, or an empty string if there is no such page."""
        plural = name if name in self.slugs else f"{name}s"
        return f"../{plural}/" if plural in self.slugs and plural != "shop" and not prefix else ""

    def _body(self, operation: Schema) -> tuple[Field, ...]:
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        return self.fields(content["schema"], depth=-1) if content else ()

    def _resolved(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        return self.schemas[reference.rsplit("/", 1)[1]] if reference else schema

    def _parameter(self, parameter: Schema) -> Field:
        schema = parameter["schema"]
        words = tuple(map(str, schema.get("enum", ())))
        says = parameter.get("description") or schema.get("description", "")
        return Field(parameter["name"], _describe_type(schema), says, parameter.get("required", False), words)


def _content(response: Schema) -> Schema:
    return response["content"]["application/json"]["schema"]


def _find_references(schema: Any) -> list[str]:
    """Return the names of the objects that a schema refers to, without nested references."""
    if isinstance(schema, list):
        return list(dict.fromkeys(name for part in schema for name in _find_references(part)))
    if not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return [schema["$ref"].rsplit("/", 1)[1]]
    return list(dict.fromkeys(name for part in schema.values() for name in _find_references(part)))


def _inner(schema: Schema) -> Schema:
    """Return the schema of the object in a field, or of the items if the field is a list."""
    if "items" in schema:
        return schema["items"]
    either = [option for option in schema.get("oneOf", ()) if "properties" in option or "$ref" in option]
    return either[0] if either else schema


_KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "array": "list"}
_FORMATS = {"date-time": "date and time", "date": "date", "decimal": "amount", "email": "email address"}


def _describe_type(schema: Schema) -> str:
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if "oneOf" in schema:
        kinds = [kind for option in schema["oneOf"] for kind in [option.get("type", "object")] if isinstance(kind, str)]
    words = [_FORMATS.get(schema.get("format", ""), _KINDS.get(kind, kind)) for kind in kinds if kind != "null"]
    if _inner(schema).get("properties", {}).keys() >= _MONEY:
        words = ["amount in two currencies"]
    elif schema.get("type") == "array" and _inner(schema).get("type") == "object":
        words = ["list of objects"]
    text = " or ".join(dict.fromkeys(words)) or ("object" if "$ref" in schema else "any value")
    limit = f", at most {schema['maxLength']} characters" if schema.get("maxLength") else ""
    return text + limit + (" or null" if "null" in kinds else "")


def _format_curl(method: str, path: str, example: Example, version: str) -> str:
    below = example["path"]
    address = below if below.startswith("/") else f"/admin/api/{version}/{below}"
    query = f"?{example['query']}" if example["query"] else ""
    lines = [f'curl -H "X-{settings.BRAND.capitalize()}-Access-Token: $TOKEN"']
    if method != "GET":
        lines[0] = lines[0].replace("curl", f"curl -X {method}", 1)
    if example["body"] is not None:
        # A single-quoted shell string cannot contain a quote. End the string, add an escaped quote and start a new
        # string.
        body = _format_json(example["body"]).replace("'", "'\\''")
        lines += ['-H "Content-Type: application/json"', f"-d '{body}'"]
    return " \\\n  ".join([*lines, f'"$BACKOFFICE{address}{query}"'])


def _format_json(value: object) -> str:
    """Format JSON with indentation; long strings, such as encoded files, are shortened."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return re.sub(r'"([^"\\]{300})[^"\\]+"', r'"\1…"', text)
