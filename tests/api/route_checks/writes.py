"""Checks of what requests write and return: schemas, read-only fields, ids, repeated requests and locks."""

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from django.urls import resolve
from jsonschema import Draft202012Validator

from apps.core.rest.openapi.generators import get_latest_document
from apps.core.types import Schema
from tests.api.route_checks import RouteCase, has_argument, is_get, route_check
from tests.samples import SAMPLES
from tests.support.api_client import Response
from tests.support.databases.lock_order import ROOTS, find_breaches, watch_locks
from tests.support.databases.snapshots import Snapshot, assert_database_unchanged, rolled_back, snapshot_database
from tests.support.rest.forged_bodies import (
    MARKS,
    NUMBER,
    find_differences,
    forge_bodies,
    get_operation,
    resolve_schema,
)
from tests.support.rest.routes import Route, get_all_routes
from tests.support.subtests import Subtests
from tests.support.types import Json

# PUT routes for a single action. A check repeats the request instead of writing back the object.
REPEATED_ACTIONS = {
    "PUT smart_collections/<id>/order.json",
    "PUT customers/<customer_id>/addresses/<id>/default.json",
    "PUT themes/<theme_id>/assets.json",
    "PUT recurring_application_charges/<id>/customize.json",
}
# This route deletes the addresses in the request.
DESTROYS = {"PUT customers/<customer_id>/addresses/set.json"}
# This action is refused the second time (tests/draft_orders/test_completion.py).
ONCE = {"PUT draft_orders/<id>/complete.json"}


@route_check()
def check_document_describes_request_and_response(case: RouteCase) -> None:
    operation = get_operation(case.route)
    response = case.sample_response

    assert str(response.status_code) in operation["responses"]
    response_schema = operation["responses"][str(response.status_code)]["content"]["application/json"]["schema"]
    assert response_schema != {"type": "object"}, "nothing is said of the answer"
    assert find_misfits(response_schema, response.json()) == []
    if case.body is not None:
        request_schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert find_misfits(request_schema, case.body) == []
        assert find_unnamed_properties(request_schema, case.body) == [], "typed clients could not send it"
    if where := response.headers.get("Location"):
        assert resolve(urlsplit(where).path), "what was made is found there"


def find_misfits(schema: Schema, value: object) -> list[str]:
    """Return the places where a value does not fit a schema of the document."""
    full_schema = {**schema, "components": get_latest_document()["components"]}
    return [
        f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(full_schema).iter_errors(value)
    ]


def find_unnamed_properties(schema: Schema, value: object, document: Schema | None = None, at: str = "$") -> list[str]:
    """Return a value's properties that the schema lacks, except in objects without named properties."""
    schema = resolve_schema(schema, document)
    choices = [resolve_schema(choice, document) for choice in schema.get("oneOf", ())]
    schema = next((choice for choice in choices if choice.get("properties")), schema)
    if isinstance(value, list):
        return [
            path
            for index, item in enumerate(value)
            for path in find_unnamed_properties(schema.get("items", {}), item, document, f"{at}.{index}")
        ]
    members = schema.get("properties")
    if not isinstance(value, dict) or not members:
        return []
    inner = [
        path
        for name in value.keys() & members
        for path in find_unnamed_properties(members[name], value[name], document, f"{at}.{name}")
    ]
    return inner + [f"{at}.{name}" for name in value.keys() - members]


def takes_object(route: Route) -> bool:
    """Return True for writes of objects, unlike GraphQL, which receives documents."""
    return route.name.startswith(("POST ", "PUT ")) and hasattr(route.view, "model")


@route_check(takes_object)
def check_read_only_fields_are_not_written(case: RouteCase) -> None:
    """Check A8 of docs/reliability.md."""
    with Subtests() as subtest:
        for number, body in enumerate(forge_bodies(case.route, case.body)):
            with subtest("body", number):
                assert find_applied_changes(case, body) == []


def find_applied_changes(case: RouteCase, body: Json) -> list[str]:
    """Return the changes made by ``body`` but not by the sample's own body. Rejected requests must change nothing."""
    before = snapshot_database()
    (first, contents), (second, _) = send_and_roll_back(case), send_and_roll_back(case)
    response, after = send_and_roll_back(case, body=body)
    if response.status_code == 422:
        assert after == before
        allowed_body = remove_rejected(response.json()["errors"], body, case.body)
        response, after = send_and_roll_back(case, body=allowed_body)
    assert response.status_code == first.status_code, response.content
    return [
        *find_differences(first.json(), second.json(), response.json()),
        *(f"{table}: {match[0]}" for table, (_, text) in after.items() if (match := MARKS.search(text or ""))),
        *(f"{table} has other rows" for table, (count, _) in after.items() if count != contents[table][0]),
    ]


def send_and_roll_back(case: RouteCase, **changes: Json) -> tuple[Response, Snapshot]:
    """Send a request and roll back. Return the response and a snapshot from before the rollback."""
    with rolled_back():
        return case.send(**changes), snapshot_database()


def remove_rejected(rejected: Collection[str], body: Json, sample_body: Json) -> Json:
    """Return ``body`` without rejected fields, and without forged ids in the sample's own objects."""
    if len(sample_body or {}) == 1 and not sample_body.keys() & set(rejected):
        (name,) = sample_body
        return {**body, name: remove_rejected(rejected, body[name], sample_body[name])}
    stems = tuple(name.split("_")[0] for name in rejected)
    allowed = {name: value for name, value in body.items() if name in (sample_body or {}) or not name.startswith(stems)}
    for name in rejected:
        if name in (sample_body or {}):
            allowed[name] = {key: value for key, value in body[name].items() if value != NUMBER}
    return allowed


@route_check(lambda route: has_argument(route) and not is_get(route))
def check_ids_in_the_path_override_ids_in_the_body(case: RouteCase) -> None:
    """Check A9 of docs/reliability.md."""
    other = RouteCase(case.route, case.shop, case.tokens)
    names = re.findall(r"<(\w+)>", case.route.name)
    assert all(case.arguments[name] != other.arguments[name] for name in names)
    theirs = {name: other.arguments[name] for name in names}
    wrapper = next((name for name, value in (case.body or {}).items() if isinstance(value, dict)), None)
    wrapper = wrapper or case.route.view.singular
    body = {**theirs, **(case.body or {}), wrapper: {**(case.body or {}).get(wrapper, {}), **theirs}}
    paths = get_related_paths(other, names)
    before = [case.api.http.get(path).json() for path in paths]

    response = case.send(body=body, query=theirs)

    assert response.status_code == case.sample_response.status_code, response.content
    after = [case.api.http.get(path).json() for path in paths]
    # The parent object may have a new timestamp, which the comparison ignores.
    assert find_differences(before, before, after) == []
    response_object = next((value for value in response.json().values() if isinstance(value, dict)), response.json())
    # A created object has a new id.
    returned = [name for name in names if name in response_object and (name != "id" or response.status_code != 201)]
    assert {name: response_object[name] for name in returned} == {name: case.arguments[name] for name in returned}


def get_related_paths(case: RouteCase, names: Collection[str]) -> list[str]:
    """Return the URLs of the object and related objects: all GET routes that need only these path arguments.

    Arguments of the same name can refer to different objects. For example, ``products/<id>.json`` is not related to
    ``products/<product_id>/images/<id>.json``: the ID of an image may be the ID of any product.
    """
    resource = case.sample.pattern.split("/")[0].removesuffix(".json")
    paths = []
    for route in get_all_routes():
        argument_names = set(re.findall(r"<(\w+)>", route.name))
        same_objects = all(_get_collection(route, name) == _get_collection(case.route, name) for name in argument_names)
        is_related = route.name.startswith(f"GET {resource}/") and argument_names <= set(names) and same_objects
        if is_related and argument_names:
            paths.append(SAMPLES[route.name].path(case.arguments))
    return paths


def _get_collection(route: Route, argument: str) -> str:
    """Return the part of the route's path before an argument."""
    return route.name.partition(" ")[2].partition(f"<{argument}>")[0]


def writes_back(route: Route) -> bool:
    return route.name.startswith("PUT ") and route.name not in REPEATED_ACTIONS | DESTROYS | ONCE


@route_check(writes_back)
def check_object_sent_back_as_it_was_read_changes_nothing(case: RouteCase) -> None:
    # Send the sample's own change first, so that the response to write back contains the changed values.
    assert case.send().status_code == 200
    whole_object = case.api.http.get(case.path).json()
    ((name, attributes),) = whole_object.items()
    bodies = {"all": whole_object} | {field: {name: {field: value}} for field, value in attributes.items()}

    with assert_database_unchanged(), Subtests() as subtest:
        for field, body in bodies.items():
            with subtest(field):
                response = case.send(body=body)
                assert response.status_code == 200, response.content


@route_check(lambda route: route.name in REPEATED_ACTIONS)
def check_repeated_action_happens_once(case: RouteCase) -> None:
    first = case.send()

    # Uploading the same file again updates the time of the content's last use.
    with assert_database_unchanged(ignored_tables={"content.FileContent"}):
        second = case.send()

    assert (first.status_code, second.status_code) == (200, 200)
    assert second.content == first.content


@route_check(lambda route: not is_get(route), needs_postgres=True)
def check_rows_are_locked_in_order(case: RouteCase) -> None:
    with watch_locks(ROOTS) as watch:
        response = case.send()

    assert response.status_code == case.sample.status
    assert find_breaches(watch) == []
