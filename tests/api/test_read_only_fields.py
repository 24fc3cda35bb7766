"""Tests that clients cannot write read-only fields, internal columns or ids of other objects.

The cases are generated from the URL conf, the OpenAPI document, the models and the samples. Checks A8 and A9 of
docs/reliability.md.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from apps.api.rows import render_cache
from tests.api import forged_bodies
from tests.api.conftest import PreparedRequest, snapshot_database
from tests.api.forged_bodies import MARKS, NUMBER, find_differences, forge_bodies
from tests.api.routes import Route, get_all_routes
from tests.conftest import Response
from tests.samples import load_all_samples

SAMPLES = load_all_samples()
ROUTES = get_all_routes()
WITH_ID = [route for route in ROUTES if "<" in route.name and not route.name.startswith("GET ")]
# Exclude GraphQL, which receives documents instead of objects.
WRITES = [route for route in ROUTES if route.name.startswith(("POST ", "PUT ")) and hasattr(route.view, "model")]


def get_route_id(route: Route) -> str:
    return route.name


@contextmanager
def rolled_back() -> Iterator[None]:
    """Roll back the block's changes and clear the render cache."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    render_cache.cache.clear()


def find_marks(tables: dict[str, tuple[int, str]]) -> list[str]:
    """Return the tables that contain a marker value."""
    return [
        f"{table}: {match[0]}" for table, (_, contents) in tables.items() if (match := MARKS.search(contents or ""))
    ]


def get_counts(tables: dict[str, tuple[int, str]]) -> dict[str, int]:
    return {table: count for table, (count, _) in tables.items()}


def send_and_roll_back(case: PreparedRequest, **changes: Any) -> tuple[Response, dict[str, tuple[int, str]]]:
    """Send a request and roll back. Return the response and a snapshot from before the rollback."""
    with rolled_back():
        return case.send(**changes), snapshot_database()


def remove_rejected(rejected: Collection[str], body: Any, sample_body: Any) -> Any:
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


def find_applied_changes(case: PreparedRequest, body: Any) -> list[str]:
    """Return the changes made by ``body`` but not by the sample's own body. Rejected requests must change nothing."""
    before = snapshot_database()
    (first, contents), (second, _) = send_and_roll_back(case), send_and_roll_back(case)
    response, after = send_and_roll_back(case, body=body)
    if response.status_code == 422:
        assert after == before
        response, after = send_and_roll_back(
            case, body=remove_rejected(response.json()["errors"], body, case.sample.body_for(case.arguments))
        )
    assert response.status_code == first.status_code, response.content
    return [
        *find_differences(first.json(), second.json(), response.json()),
        *find_marks(after),
        *([] if get_counts(after) == get_counts(contents) else ["there are other rows"]),
    ]


@pytest.mark.parametrize("route", WRITES, ids=get_route_id)
def test_what_is_not_the_clients_to_write_is_not_applied(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])

    for body in forge_bodies(route, case.sample.body_for(case.arguments)):
        assert find_applied_changes(case, body) == []


@pytest.mark.parametrize("name", ["PUT blogs/<id>.json", "POST custom_collections.json"])
def test_what_would_be_applied_is_noticed(name: str, prepare_request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that applied changes are detected: treat all fields as read-only, so that every write is reported."""
    (route,) = (route for route in WRITES if route.name == name)
    case = prepare_request(SAMPLES[name])
    monkeypatch.setattr(forged_bodies, "get_writable_properties", lambda schema: {})

    changes = [
        line
        for body in forge_bodies(route, case.sample.body_for(case.arguments))
        for line in find_applied_changes(case, body)
    ]

    assert any("forged" in line for line in changes)
    assert any(line.startswith(".") for line in changes)


def get_related_paths(case: PreparedRequest, names: Collection[str]) -> list[str]:
    """Return the URLs of the object and related objects: all GET routes that need only these path arguments."""
    resource = case.sample.pattern.split("/")[0].removesuffix(".json")
    paths = []
    for route in ROUTES:
        argument_names = set(re.findall(r"<(\w+)>", route.name))
        if route.name.startswith(f"GET {resource}/") and argument_names and argument_names <= set(names):
            paths.append(SAMPLES[route.name].path(case.arguments))
    return paths


@pytest.mark.parametrize("route", WITH_ID, ids=get_route_id)
def test_ids_in_the_path_override_ids_in_the_body(
    route: Route, prepare_request: Any, assert_database_unchanged: Any
) -> None:
    sample = SAMPLES[route.name]
    mine, other = prepare_request(sample), prepare_request(sample)
    names = re.findall(r"<(\w+)>", route.name)
    assert all(mine.arguments[name] != other.arguments[name] for name in names)
    theirs = {name: other.arguments[name] for name in names}
    sample_body = mine.sample.body_for(mine.arguments) or {}
    wrapper = next((name for name, value in sample_body.items() if isinstance(value, dict)), route.view.singular)
    body = {**theirs, **sample_body, wrapper: {**sample_body.get(wrapper, {}), **theirs}}
    paths = get_related_paths(other, names)
    before = [mine.api.http.get(path).json() for path in paths]
    own = send_and_roll_back(mine)[0]

    response = mine.send(body=body, query=theirs)

    assert response.status_code == own.status_code, response.content
    after = [mine.api.http.get(path).json() for path in paths]
    # The parent object may have a new timestamp, which the comparison ignores.
    assert find_differences(before, before, after) == []
    response_object = next((value for value in response.json().values() if isinstance(value, dict)), response.json())
    # A created object has a new id.
    returned_names = [
        name for name in names if name in response_object and not (name == "id" and response.status_code == 201)
    ]
    assert {name: response_object[name] for name in returned_names} == {
        name: mine.arguments[name] for name in returned_names
    }
