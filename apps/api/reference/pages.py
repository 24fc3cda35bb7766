"""The pages of the reference, as data: resources, operations, parameters and fields of one version.

One source: the OpenAPI document of the version. Nothing here asks the database.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from apps.api.reference.examples import Example, example_of
from apps.api.shapes import Schema
from apps.shops.models.scopes import SCOPES

_RESOURCES = Path(__file__).with_name("resources.toml")
_MONEY = {"shop_money", "presentment_money"}
_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of an object.

    Attributes:
        name: Its name; of a field within a field, the whole way to it with dots.
        kind: What kind of value it is, in a word or two.
        says: What it means.
        words: The words that it can be, where it is one of some.
        href: The page of the resource that stands in it.
    """

    name: str
    kind: str
    says: str
    required: bool = False
    words: tuple[str, ...] = ()
    href: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be done with a resource."""

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
        """Whether it changes the shop."""
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class Resource:
    """A page of the reference."""

    slug: str
    title: str
    group: str
    intro: str
    tags: tuple[str, ...]
    operations: list[Operation] = field(default_factory=list)
    objects: list[tuple[str, tuple[Field, ...]]] = field(default_factory=list)


@cache
def _shelves() -> list[Resource]:
    """The pages without what stands on them."""
    given = tomllib.loads(_RESOURCES.read_text())
    return [
        Resource(slug, each["title"], each["group"], each["intro"], tuple(each.get("tags", [slug])))
        for slug, each in given.items()
    ]


def slugs() -> frozenset[str]:
    """The pages of all versions."""
    return frozenset(page.slug for page in _shelves())


@lru_cache(maxsize=16)
def resources_of(version: str) -> dict[str, Resource]:
    """The pages of a version by their slugs; a resource that the version does not have is none.

    Raises:
        KeyError: The document has a tag that stands on no page.
    """
    # The generator takes a tenth of a web process's start to import, and most processes never need it.
    from apps.api.openapi.documents import document

    described = document(version)
    pages = {page.slug: Resource(page.slug, page.title, page.group, page.intro, page.tags) for page in _shelves()}
    by_tag = {tag: page for page in pages.values() for tag in page.tags}
    reader = _Reader(described, version)
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            page = by_tag[operation["tags"][0]]
            page.operations.append(reader.operation(path, method, operation))
            for name in reader.shown(operation):
                if name not in {known for known, _ in page.objects}:
                    page.objects.append((name, reader.fields(described["components"]["schemas"][name])))
    for page in pages.values():
        page.operations.sort(key=_place)
    return {slug: page for slug, page in pages.items() if page.operations}


def _place(operation: Operation) -> tuple[int, int, str, str]:
    """The order of a page: what most apps look for first, single ones behind lists, reading before writing."""
    methods = ("GET", "POST", "PUT", "DELETE")
    return operation.path.count("/"), operation.path.count("{"), operation.path, str(methods.index(operation.method))


def search_index(version: str) -> list[dict[str, str]]:
    """What the search looks through: pages, operations and fields, each with where it leads."""
    found = []
    for page in resources_of(version).values():
        found.append({"t": page.title, "s": page.intro, "u": f"{page.slug}/", "k": "Resource"})
        found += [
            {"t": each.summary, "s": f"{each.method} {each.path}", "u": f"{page.slug}/#{each.anchor}", "k": "Route"}
            for each in page.operations
        ]
        for name, fields in page.objects:
            found += [
                {"t": f"{name}.{each.name}", "s": each.says, "u": f"{page.slug}/#{name}.{each.name}", "k": "Field"}
                for each in fields
            ]
    return found


class _Reader:
    """Reads one document."""

    def __init__(self, described: Schema, version: str) -> None:
        self.schemas: dict[str, Schema] = described["components"]["schemas"]
        self.version = version
        self.pages = {page.slug: page for page in _shelves()}

    def operation(self, path: str, method: str, operation: Schema) -> Operation:
        parameters = operation["parameters"]
        status, success = next((key, each) for key, each in operation["responses"].items() if key.startswith("2"))
        example = example_of(operation["operationId"], self.version)
        return Operation(
            anchor=operation["operationId"],
            method=method.upper(),
            path=path,
            summary=operation["summary"],
            scopes=tuple((scope, SCOPES.get(scope, "")) for scope in operation["x-scopes"]),
            path_parameters=tuple(self._parameter(each) for each in parameters if each["in"] == "path"),
            parameters=tuple(self._parameter(each) for each in parameters if each["in"] == "query"),
            body=self._body(operation),
            takes_body="requestBody" in operation,
            success=status,
            shows=self.fields(_content(success), depth=-1) if not _refs(_content(success)) else (),
            deprecated=operation.get("externalDocs", {}).get("url", "") if operation.get("deprecated") else "",
            example=example,
            sent=_curl(method.upper(), path, example, self.version) if example else "",
            sent_body=_pretty(example["body"]) if example and example["body"] is not None else "",
            answered=_pretty(example["answer"]) if example else "",
        )

    def shown(self, operation: Schema) -> list[str]:
        """The objects that an operation answers with."""
        return [
            name
            for key, answer in operation["responses"].items()
            if key.startswith("2")
            for name in _refs(_content(answer))
        ]

    def fields(self, schema: Schema, prefix: str = "", depth: int = 0) -> tuple[Field, ...]:
        return tuple(self._fields(schema, prefix, depth))

    def _fields(self, schema: Schema, prefix: str, depth: int) -> Iterator[Field]:
        schema = self._resolved(schema)
        required = set(schema.get("required", ()))
        for name, given in schema.get("properties", {}).items():
            inner = _inner(self._resolved(given))
            href = self._page_of(name, prefix) if depth >= 0 else ""
            words = tuple(str(word) for word in given.get("enum", ()) if word is not None)
            says = given.get("description", "")
            yield Field(f"{prefix}{name}", _kind(given), says, name in required, words, href)
            members = self._resolved(inner).get("properties", {}) if inner else {}
            if members and not href and not members.keys() >= _MONEY and depth < _DEEPEST:
                yield from self._fields(inner, f"{prefix}{name}.", depth + 1)

    def _page_of(self, name: str, prefix: str) -> str:
        """The page of what stands in a field, where it is a resource that has one."""
        plural = name if name in self.pages else f"{name}s"
        return f"../{plural}/" if plural in self.pages and plural != "shop" and not prefix else ""

    def _body(self, operation: Schema) -> tuple[Field, ...]:
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        return self.fields(content["schema"], depth=-1) if content else ()

    def _resolved(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        return self.schemas[reference.rsplit("/", 1)[1]] if reference else schema

    def _parameter(self, given: Schema) -> Field:
        schema = given["schema"]
        words = tuple(map(str, schema.get("enum", ())))
        says = given.get("description") or schema.get("description", "")
        return Field(given["name"], _kind(schema), says, given.get("required", False), words)


def _content(answer: Schema) -> Schema:
    schema: Schema = answer["content"]["application/json"]["schema"]
    return schema


def _refs(schema: Any) -> list[str]:
    """The objects that a schema refers to, each once, as far as they are not within another."""
    if isinstance(schema, list):
        return list(dict.fromkeys(name for each in schema for name in _refs(each)))
    if not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return [schema["$ref"].rsplit("/", 1)[1]]
    return list(dict.fromkeys(name for each in schema.values() for name in _refs(each)))


def _inner(schema: Schema) -> Schema:
    """The object that a field holds, alone or in a list."""
    if "items" in schema:
        items: Schema = schema["items"]
        return items
    either = [each for each in schema.get("oneOf", ()) if "properties" in each or "$ref" in each]
    return either[0] if either else schema


_KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "array": "list"}
_FORMATS = {"date-time": "moment", "date": "date", "decimal": "amount", "email": "e-mail address"}


def _kind(schema: Schema) -> str:
    """What kind of value a schema describes, for people."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if "oneOf" in schema:
        kinds = [kind for each in schema["oneOf"] for kind in [each.get("type", "object")] if isinstance(kind, str)]
    words = [_FORMATS.get(schema.get("format", ""), _KINDS.get(kind, kind)) for kind in kinds if kind != "null"]
    if _inner(schema).get("properties", {}).keys() >= _MONEY:
        words = ["amount in two currencies"]
    elif schema.get("type") == "array" and _inner(schema).get("type") == "object":
        words = ["list of objects"]
    said = " or ".join(dict.fromkeys(words)) or ("object" if "$ref" in schema else "any value")
    limit = f", at most {schema['maxLength']} characters" if schema.get("maxLength") else ""
    return said + limit + (" or null" if "null" in kinds else "")


def _curl(method: str, path: str, example: Example, version: str) -> str:
    """The request as one types it."""
    below = example["path"]
    address = below if below.startswith("/") else f"/admin/api/{version}/{below}"
    query = f"?{example['query']}" if example["query"] else ""
    lines = [f'curl -H "X-{settings.BRAND.capitalize()}-Access-Token: $TOKEN"']
    if method != "GET":
        lines[0] = lines[0].replace("curl", f"curl -X {method}", 1)
    if example["body"] is not None:
        # A quote within single quotes ends them, stands for itself, and begins them again.
        body = _pretty(example["body"]).replace("'", "'\\''")
        lines += ['-H "Content-Type: application/json"', f"-d '{body}'"]
    return " \\\n  ".join([*lines, f'"$BACKOFFICE{address}{query}"'])


def _pretty(value: object) -> str:
    """JSON for people; of long texts, such as files, the beginning."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return re.sub(r'"([^"\\]{300})[^"\\]+"', r'"\1…"', text)
