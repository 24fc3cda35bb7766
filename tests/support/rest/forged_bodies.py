"""Request bodies with fields that clients must not write, generated from the OpenAPI document and the models."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from django.db import models

from apps.core.rest.openapi.generators import get_latest_document
from apps.core.types import Schema
from tests.support.api_client import VERSION
from tests.support.rest.routes import Route
from tests.support.types import Json, JsonObject

# These values occur nowhere else, so a search finds every place where the server stored them.
NUMBER = 777_000_777
WORD = "forged"
MOMENT = "2001-02-03T04:05:06Z"
AMOUNT = "777000.77"
MARKS = re.compile(r"(?<![0-9a-f])77700077|forged|2001-02-03|777000\.77")
# Read-only fields of every resource.
COMMON_READ_ONLY: Mapping[str, Json] = {
    "id": NUMBER,
    "shop_id": NUMBER,
    "shop": NUMBER,
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "admin_graphql_api_id": f"gid://{WORD}/1",
    "version": NUMBER,
}
# Ids next to the wrapper object, where the server would read them from a body without a wrapper.
TOP_LEVEL_IDS = {"id": NUMBER, "shop_id": NUMBER}
_MISSING = object()


def get_operation(route: Route) -> Schema:
    method, pattern = route.name.split(" ")
    path = re.sub(r"<(\w+)>", r"{\1}", pattern)
    operations: Schema = get_latest_document()["paths"][path if path[0] == "/" else f"/admin/api/{VERSION}/{path}"]
    return operations[method.lower()]


def resolve_schema(schema: Schema, document: Schema | None = None) -> Schema:
    while "$ref" in schema:
        schema = (document or get_latest_document())["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def get_properties(schema: Schema) -> dict[str, Schema]:
    """Return the properties of an object or of the objects in a list."""
    schema = resolve_schema(schema)
    for choice in schema.get("oneOf", ()):
        if choice.get("type") != "null":
            return get_properties(choice)
    if "items" in schema:
        return get_properties(schema["items"])
    return schema.get("properties", {})


def get_writable_properties(schema: Schema) -> dict[str, Schema]:
    return get_properties(schema)


def forge_value(schema: Schema, truth: bool) -> Json:
    """Return a value that fits a schema and contains only marker values. Booleans are set to ``truth``."""
    inner = {name: forge_value(member, truth) for name, member in get_properties(schema).items()}
    kinds = schema.get("type", "object")
    kind = next((kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"), "string")
    if kind == "array":
        return [inner or WORD]
    if kind == "object":
        return inner or {WORD: WORD}
    if kind == "string":
        return {"date-time": MOMENT, "decimal": AMOUNT}.get(schema.get("format", ""), WORD)
    return {"boolean": truth, "number": float(AMOUNT)}.get(kind, NUMBER)


def forge_columns(model: type[models.Model], truth: bool) -> JsonObject:
    """Return a marker value for each field of a model, by ``name`` and by ``attname``."""
    marks: JsonObject = {}
    for field in model._meta.concrete_fields:
        value: Json = WORD
        if isinstance(field, models.DateTimeField):
            value = MOMENT
        elif isinstance(field, models.BooleanField):
            value = truth
        elif isinstance(field, models.IntegerField | models.ForeignKey):
            value = NUMBER
        elif isinstance(field, models.DecimalField):
            value = AMOUNT
        marks |= {field.name: value, field.attname: value}
    return marks


def add_read_only_properties(
    body: Json,
    request_schema: Schema,
    response_schema: Schema,
    truth: bool,
    more: Mapping[str, Json] = COMMON_READ_ONLY,
) -> Json:
    """Return ``body`` with all read-only properties of the response added, including those in nested objects."""
    if isinstance(body, list):
        return [add_read_only_properties(item, request_schema, response_schema, truth) for item in body]
    if not isinstance(body, dict):
        return body
    may, has = get_writable_properties(request_schema), get_properties(response_schema)
    parts = {
        name: add_read_only_properties(value, may.get(name, {}), has[name], truth)
        if get_properties(has.get(name, {}))
        else value
        for name, value in body.items()
    }
    names = {**more, **{name: forge_value(schema, truth) for name, schema in has.items()}}
    return {**{name: value for name, value in names.items() if name not in may}, **parts}


def forge_bodies(route: Route, body: Json) -> Iterator[Json]:
    """Yield variants of a sample's body, with read-only fields wherever the server could read them."""
    operation = get_operation(route)
    response = next(definition for status, definition in operation["responses"].items() if status < "304")
    request_schema, response_schema = (
        definition["content"]["application/json"]["schema"]
        for definition in (operation.get("requestBody", {"content": {"application/json": {"schema": {}}}}), response)
    )
    object_schemas = [schema for schema in get_properties(response_schema).values() if get_properties(schema)]
    response_schema = object_schemas[0] if len(object_schemas) == 1 else response_schema
    for truth in (True, False):
        names = {**forge_columns(route.view.model, truth), **COMMON_READ_ONLY}
        wrappers = [name for name, value in (body or {}).items() if isinstance(value, dict)]
        if wrappers:
            (name,) = wrappers
            yield {
                **TOP_LEVEL_IDS,
                name: add_read_only_properties(
                    body[name], get_properties(request_schema)[name], response_schema, truth, names
                ),
            }
        else:
            forged_body = add_read_only_properties(body or {}, request_schema, response_schema, truth, names)
            yield forged_body
            yield {**(body or {}), route.view.singular: forged_body}


def iterate_scalars(value: Json, at: str = "") -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict | list) and value:
        for name, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from iterate_scalars(child, f"{at}.{name}")
    else:
        yield at, value


def find_differences(first: Json, second: Json, other: Json) -> list[str]:
    """Return the places where ``other`` differs from ``first``, except for current timestamps.

    Values that also differ between ``first`` and ``second``, such as ids, are ignored.
    """
    first_values, second_values, other_values = (dict(iterate_scalars(value)) for value in (first, second, other))
    return [
        f"{path}: {first_values.get(path, 'nothing')!r} became {other_values.get(path, 'nothing')!r}"
        for path in first_values.keys() | other_values.keys()
        if other_values.get(path, _MISSING) != first_values.get(path, _MISSING)
        and first_values.get(path) == second_values.get(path)
        and not _is_current_time(other_values.get(path))
    ]


def _is_current_time(value: Json) -> bool:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return moment.tzinfo is not None and abs(datetime.now(UTC) - moment) < timedelta(minutes=5)
