"""Checks of ``null`` and "" in optional fields, which clients in typed languages send for all fields."""

from functools import cache

from apps.core.types import Schema
from tests.api.route_checks import RouteCase, has_body, route_check
from tests.support.databases.snapshots import rolled_back
from tests.support.rest.forged_bodies import get_operation, get_properties, resolve_schema
from tests.support.rest.routes import Route, get_all_routes
from tests.support.subtests import Subtests

BLANKS = (None, "")
# Fields of a PUT route that are required although another field can replace them in the POST route.
REQUIRED: dict[str, set[str]] = {"PUT webhooks/<id>.json": {"address"}}


def takes_fields(route: Route) -> bool:
    return has_body(route) and hasattr(route.view, "singular")


def get_body_schema(route: Route, wrapper: str) -> Schema:
    schema = get_operation(route)["requestBody"]["content"]["application/json"]["schema"]
    return resolve_schema(get_properties(schema)[wrapper] if wrapper else schema)


@cache
def get_required_fields(route: Route, wrapper: str) -> set[str]:
    """Return the required fields of the route. An update must not empty the fields that a create requires."""
    names = {route.name, route.name.replace("PUT ", "POST ").replace("/<id>.json", ".json")}
    creating = [other for other in get_all_routes() if other.name in names and has_body(other)]
    if route.name.startswith("PUT ") and not any(other.name.startswith("POST ") for other in creating):
        creating += [other for other in get_all_routes() if other.view is route.view and other.action == "create"]
    schemas = [get_body_schema(other, wrapper) for other in creating]
    return REQUIRED.get(route.name, set()).union(*(schema.get("required", ()) for schema in schemas))


@route_check(takes_fields)
def check_null_and_blank_are_accepted_in_optional_fields(case: RouteCase) -> None:
    """A refusal is right only if the field is required, or if a create without the field is also refused."""
    wrapper = case.wrapper if isinstance(case.body.get(case.wrapper), dict) else ""
    fields = case.body[wrapper] if wrapper else case.body
    optional = get_properties(get_body_schema(case.route, wrapper)).keys() - get_required_fields(case.route, wrapper)
    if not optional:
        return
    with Subtests() as subtest:
        for name in sorted(optional):
            absent = {other: value for other, value in fields.items() if other != name}
            with rolled_back():
                expected = case.send(body={wrapper: absent} if wrapper else absent)
            for blank in BLANKS:
                changed = {**absent, name: blank}
                with subtest(name, repr(blank)), rolled_back():
                    response = case.send(body={wrapper: changed} if wrapper else changed)
                    assert response.status_code in {case.sample.status, expected.status_code}, response.content
