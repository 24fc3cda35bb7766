"""Check that a response has all fields of the route, with the types in the wire tables.

For each route, ``tests/wire/<resource>.json`` lists the query parameters, request fields and response fields that
existing clients use. A field with only the type ``null`` is nullable, and its other type is in the specification or a
sibling route, so any type is accepted. If a route does not list an object's fields, they are under ``objects``.
"""

import json
import re
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

from apps.core.types import Attrs

FOLDER = Path(__file__).parents[1] / "wire"
MISSING = object()


@cache
def load_table(resource: str) -> Attrs:
    return json.loads((FOLDER / f"{resource}.json").read_text())


def get_routes(resource: str) -> list[str]:
    """Return the routes in a resource's table, such as ``GET /products.json``."""
    return [name for name in load_table(resource) if name != "objects"]


def get_response_fields(resource: str, route: str) -> dict[str, str]:
    """Return the types of a route's response fields by dotted path, including the fields of named objects."""
    fields = dict(load_table(resource)[route].get("response", {}))
    objects = load_table(resource).get("objects", {})
    for path, types in list(fields.items()):
        name = _find_object_name(path.split(".")[-1].removesuffix("[]"), objects)
        spelt_out = any(other.startswith(f"{path}.") for other in fields)
        if "object" in types.split("|") and name and not spelt_out:
            fields |= {f"{path}.{inner}": inner_types for inner, inner_types in objects[name].items()}
    return fields


def _find_object_name(name: str, objects: Attrs) -> str | None:
    return next((candidate for candidate in (name, name.removesuffix("s")) if candidate in objects), None)


def find_misfits(resource: str, route: str, body: object) -> list[str]:
    """Return a message for each missing field and each field with a wrong type. Empty lists and objects are skipped."""
    problems = []
    for path, types in get_response_fields(resource, route).items():
        for where, value in _get_values(body, path.split(".")):
            if value is MISSING:
                problems.append(f"{where} is missing")
            elif not any(_has_type(value, kind) for kind in types.split("|")):
                problems.append(f"{where} is {value!r}, not {types}")
    return sorted(set(problems))


def assert_fits(resource: str, route: str, body: object) -> None:
    assert find_misfits(resource, route, body) == []


def _get_values(value: object, parts: list[str], prefix: str = "") -> list[tuple[str, object]]:
    """Return all values at a path. A missing key has the value ``MISSING``; a missing parent has no value."""
    if not parts:
        return [(prefix, value)]
    name, is_list = parts[0].removesuffix("[]"), parts[0].endswith("[]")
    if not isinstance(value, dict):
        return []
    if name not in value:
        return [] if is_list else [(f"{prefix}.{name}", MISSING)] if len(parts) == 1 else []
    inner = value[name]
    if not is_list:
        return _get_values(inner, parts[1:], f"{prefix}.{name}")
    items = inner if isinstance(inner, list) else []
    return [pair for item in items for pair in _get_values(item, parts[1:], f"{prefix}.{name}[]")]


def _has_type(value: object, kind: str) -> bool:
    if kind == "null":
        return True
    if kind == "timestamp":
        return isinstance(value, str) and _is_datetime(value)
    if kind == "decimal-string":
        return isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?", value) is not None
    if kind == "float":
        return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "bool": bool, "array": list, "object": dict}[kind])


def _is_datetime(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
