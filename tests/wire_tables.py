"""The wire tables as a check: does an answer have every field of its route, each of a type that the table names?

``tests/wire/<resource>.json`` lists, per route, the query parameters, request fields and response fields of existing
clients. A bare ``null`` means nullable with the type that the specification or a sibling route gives, so any type fits
it; an object that a route does not spell out is the one of that name under ``objects``.
"""

import json
import re
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "wire"
MISSING = object()


@cache
def table(resource: str) -> dict[str, Any]:
    """One resource's table."""
    return json.loads((FOLDER / f"{resource}.json").read_text())


def routes(resource: str) -> list[str]:
    """The routes of a table, e.g. ``GET /products.json``."""
    return [name for name in table(resource) if name != "objects"]


def response_fields(resource: str, route: str) -> dict[str, str]:
    """``{dotted path: types}`` of a route's answer, with named objects spelt out."""
    fields = dict(table(resource)[route].get("response", {}))
    objects = table(resource).get("objects", {})
    for path, types in list(fields.items()):
        name = _singular(path.split(".")[-1].removesuffix("[]"), objects)
        spelt_out = any(other.startswith(f"{path}.") for other in fields)
        if "object" in types.split("|") and name and not spelt_out:
            fields |= {f"{path}.{inner}": inner_types for inner, inner_types in objects[name].items()}
    return fields


def _singular(name: str, objects: dict[str, Any]) -> str | None:
    return next((found for found in (name, name.removesuffix("s")) if found in objects), None)


def misfits(resource: str, route: str, body: Any) -> list[str]:
    """What is missing from an answer or of a wrong type; lists and objects that are empty are not looked into."""
    found = []
    for path, types in response_fields(resource, route).items():
        for where, value in _values(body, path.split(".")):
            if value is MISSING:
                found.append(f"{where} is missing")
            elif not any(_fits(value, kind) for kind in types.split("|")):
                found.append(f"{where} is {value!r}, not {types}")
    return sorted(set(found))


def assert_fits(resource: str, route: str, body: Any) -> None:
    """Fail with every misfit of an answer."""
    assert misfits(resource, route, body) == []


def _values(value: Any, parts: list[str], where: str = "") -> list[tuple[str, Any]]:
    """All values at a path; an absent key is ``MISSING``, an absent parent is nothing."""
    if not parts:
        return [(where, value)]
    name, many = parts[0].removesuffix("[]"), parts[0].endswith("[]")
    if not isinstance(value, dict):
        return []
    if name not in value:
        return [] if many else [(f"{where}.{name}", MISSING)] if len(parts) == 1 else []
    inner = value[name]
    if not many:
        return _values(inner, parts[1:], f"{where}.{name}")
    items = inner if isinstance(inner, list) else []
    return [pair for item in items for pair in _values(item, parts[1:], f"{where}.{name}[]")]


def _fits(value: Any, kind: str) -> bool:
    if kind == "null":
        return True
    if kind == "timestamp":
        return isinstance(value, str) and _is_moment(value)
    if kind == "decimal-string":
        return isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?", value) is not None
    if kind == "float":
        return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "bool": bool, "array": list, "object": dict}[kind])


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
