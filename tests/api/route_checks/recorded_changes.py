"""Checks that the audit log names each change of a written field with its old and its new value."""

from collections.abc import Iterator

from apps.core.events.models import Event
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Schema
from tests.api.route_checks import RouteCase, has_body, is_get, route_check
from tests.api.route_checks.blanks import get_body_schema
from tests.support.databases.snapshots import rolled_back
from tests.support.recorded_changes import Rows, find_unrecorded, read_rows
from tests.support.rest.forged_bodies import get_properties, resolve_schema
from tests.support.rest.routes import Route
from tests.support.subtests import Subtests
from tests.support.types import Json

_TEXTS: dict[str, list[Json]] = {"date-time": ["2025-02-03T04:05:06Z"], "decimal": ["7.25"]}
_OTHER_TEXTS: list[Json] = ["Other text", "other@example.com", "DE", "https://other.example/x", "7.25"]
# The event about a move belongs to the new fulfillment order, and the event about a cancellation to the fulfillment.
# The lines move from one fulfillment order to another.
EXCEPTIONS = {
    "POST fulfillment_orders/<id>/move.json",
    "POST fulfillments/<id>/cancel.json",
    "POST orders/<order_id>/fulfillments/<id>/cancel.json",
}


@route_check(lambda route: not is_get(route) and route.name not in EXCEPTIONS)
def check_changes_of_the_sample_are_recorded(case: RouteCase) -> None:
    before = read_rows(case.shop)
    names = {*_collect_names(case.body)}

    assert _send_and_compare(case, before, case.body, names) == []


def updates_fields(route: Route) -> bool:
    return route.name.startswith("PUT ") and has_body(route) and hasattr(route.view, "singular")


@route_check(updates_fields)
def check_changes_of_each_field_are_recorded(case: RouteCase) -> None:
    """Send each field of the request alone with other values, and compare what changed if the value is accepted."""
    wrapper = case.wrapper if isinstance(case.body.get(case.wrapper), dict) else ""
    identity = {name: value for name, value in (case.body[wrapper] if wrapper else case.body).items() if name == "id"}
    properties = get_properties(get_body_schema(case.route, wrapper))
    if not properties:
        return
    before = read_rows(case.shop)
    with Subtests() as subtest:
        for name, schema in sorted(properties.items()):
            for value in _build_values(schema):
                fields = {**identity, name: value}
                with subtest(name, repr(value)), rolled_back():
                    body = {wrapper: fields} if wrapper else fields
                    assert _send_and_compare(case, before, body, {name, *_collect_names(value)}) == []


def _send_and_compare(case: RouteCase, before: Rows, body: Json, names: set[str]) -> list[str]:
    with shop_scope(case.shop):
        last = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    if case.send(body=body).status_code >= 300:
        return []
    with shop_scope(case.shop):
        events = list(Event.objects.filter(pk__gt=last).order_by("pk"))
    return find_unrecorded(before, read_rows(case.shop), events, names)


def _collect_names(value: Json) -> Iterator[str]:
    """Return the names of all fields in a body."""
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _collect_names(item)


def _build_values(schema: Schema) -> list[Json]:
    """Return values of the right type. The server refuses values that do not fit the field."""
    schema = resolve_schema(schema)
    for choice in (choice for choice in schema.get("oneOf", ()) if choice.get("type") != "null"):
        return _build_values(choice)
    if "enum" in schema:
        return [value for value in schema["enum"] if value is not None]
    kinds = schema.get("type", "object")
    kind = next((kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"), "string")
    if kind in {"object", "array"}:
        members = {name: _build_values(member) for name, member in get_properties(schema).items() if name != "id"}
        inner: dict[str, Json] = {name: values[0] for name, values in members.items() if values}
        item = inner or "Other"
        return [[item]] if kind == "array" else [inner] if inner else []
    if kind == "string":
        return _TEXTS.get(schema.get("format", ""), _OTHER_TEXTS)
    return [True, False] if kind == "boolean" else [7]
