"""Bodies that name what is not the client's to write, made from the OpenAPI document and the models."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import models

from apps.api.openapi.generators import get_latest_document
from apps.api.types import Schema
from tests.api.routes import Route
from tests.conftest import VERSION

# Values that nothing else has, so that each is found wherever it is kept.
NUMBER = 777_000_777
WORD = "forged"
MOMENT = "2001-02-03T04:05:06Z"
AMOUNT = "777000.77"
MARKS = re.compile(r"77700077|forged|2001-02-03|777000\.77")
# What every resource has and none lets be written.
ALWAYS: Mapping[str, Any] = {
    "id": NUMBER,
    "shop_id": NUMBER,
    "shop": NUMBER,
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "admin_graphql_api_id": f"gid://{WORD}/1",
    "version": NUMBER,
}
# Beside a wrapper, where an unwrapped body would have them.
TOP = {"id": NUMBER, "shop_id": NUMBER}
_MISSING = object()


def operation_of(route: Route) -> Schema:
    """What the document says of a route."""
    method, pattern = route.name.split(" ")
    path = re.sub(r"<(\w+)>", r"{\1}", pattern)
    operations: Schema = get_latest_document()["paths"][path if path[0] == "/" else f"/admin/api/{VERSION}/{path}"]
    operation: Schema = operations[method.lower()]
    return operation


def members_of(schema: Schema) -> dict[str, Schema]:
    """The members of an object, or of the objects in a list."""
    while "$ref" in schema:
        schema = get_latest_document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    for choice in schema.get("oneOf", ()):
        if choice.get("type") != "null":
            return members_of(choice)
    if "items" in schema:
        return members_of(schema["items"])
    members: dict[str, Schema] = schema.get("properties", {})
    return members


def members_taken(schema: Schema) -> dict[str, Schema]:
    """The members that a client may write."""
    return members_of(schema)


def forged(schema: Schema, truth: bool) -> Any:
    """A value that fits a schema, of marks alone; which of both a boolean is must be said."""
    inner = {name: forged(each, truth) for name, each in members_of(schema).items()}
    kinds = schema.get("type", "object")
    kind = next((each for each in ([kinds] if isinstance(kinds, str) else kinds) if each != "null"), "string")
    if kind == "array":
        return [inner or WORD]
    if kind == "object":
        return inner or {WORD: WORD}
    if kind == "string":
        return {"date-time": MOMENT, "decimal": AMOUNT}.get(schema.get("format", ""), WORD)
    return {"boolean": truth, "number": float(AMOUNT)}.get(kind, NUMBER)


def columns_of(model: type[models.Model], truth: bool) -> dict[str, Any]:
    """Each column of a table, by the names that code has for it."""
    found: dict[str, Any] = {}
    for field in model._meta.concrete_fields:
        value: Any = WORD
        if isinstance(field, models.DateTimeField):
            value = MOMENT
        elif isinstance(field, models.BooleanField):
            value = truth
        elif isinstance(field, models.IntegerField | models.ForeignKey):
            value = NUMBER
        elif isinstance(field, models.DecimalField):
            value = AMOUNT
        found |= {field.name: value, field.attname: value}
    return found


def beside(sent: Any, taken: Schema, given: Schema, truth: bool, more: Mapping[str, Any] = ALWAYS) -> Any:
    """What was sent, and all that the answer has and the body may not, down to the parts of both."""
    if isinstance(sent, list):
        return [beside(each, taken, given, truth) for each in sent]
    if not isinstance(sent, dict):
        return sent
    may, has = members_taken(taken), members_of(given)
    parts = {
        name: beside(value, may.get(name, {}), has[name], truth) if members_of(has.get(name, {})) else value
        for name, value in sent.items()
    }
    names = {**more, **{name: forged(schema, truth) for name, schema in has.items()}}
    return {**{name: value for name, value in names.items() if name not in may}, **parts}


def bodies_of(route: Route, sent: Any) -> Iterator[Any]:
    """A sample's body with all that is not the client's, in every place where it could be read."""
    operation = operation_of(route)
    answer = next(each for status, each in operation["responses"].items() if status.startswith("2"))
    taken, given = (
        each["content"]["application/json"]["schema"]
        for each in (operation.get("requestBody", {"content": {"application/json": {"schema": {}}}}), answer)
    )
    shown = [schema for schema in members_of(given).values() if members_of(schema)]
    given = shown[0] if len(shown) == 1 else given
    for truth in (True, False):
        names = {**columns_of(route.view.model, truth), **ALWAYS}
        wrappers = [name for name, value in (sent or {}).items() if isinstance(value, dict)]
        if wrappers:
            (name,) = wrappers
            yield {**TOP, name: beside(sent[name], members_of(taken)[name], given, truth, names)}
        else:
            whole = beside(sent or {}, taken, given, truth, names)
            yield whole
            yield {**(sent or {}), route.view.singular: whole}


def values_of(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value of a JSON value, with its path."""
    if isinstance(value, dict | list) and value:
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from values_of(each, f"{at}.{name}")
    else:
        yield at, value


def differences(first: Any, second: Any, other: Any) -> list[str]:
    """Where ``other`` says something else than two answers that are alike; ids and moments of now may differ."""
    one, two, three = (dict(values_of(each)) for each in (first, second, other))
    return [
        f"{path}: {one.get(path, 'nothing')!r} became {three.get(path, 'nothing')!r}"
        for path in one.keys() | three.keys()
        if three.get(path, _MISSING) != one.get(path, _MISSING)
        and one.get(path) == two.get(path)
        and not _is_now(three.get(path))
    ]


def _is_now(value: Any) -> bool:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return moment.tzinfo is not None and abs(datetime.now(UTC) - moment) < timedelta(minutes=5)
