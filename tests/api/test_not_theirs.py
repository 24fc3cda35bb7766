"""Read-only data is never written: read-only fields, columns, ids of other objects.

The cases are generated from the URL conf, the OpenAPI document, the models and the samples. Rule: reliability, A8, A9.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from apps.api.rows import render_cache
from tests.api import forgeries
from tests.api.conftest import Arranged, everything_stored
from tests.api.forgeries import MARKS, NUMBER, bodies_of, differences
from tests.api.routes import Route, all_routes
from tests.conftest import Response
from tests.samples import load_all

SAMPLES = load_all()
ROUTES = all_routes()
WITH_ID = [route for route in ROUTES if "<" in route.name and not route.name.startswith("GET ")]
# GraphQL has documents instead of objects and ignores everything that its types do not name.
WRITES = [route for route in ROUTES if route.name.startswith(("POST ", "PUT ")) and hasattr(route.view, "model")]


def ids(route: Route) -> str:
    return route.name


@contextmanager
def undone() -> Iterator[None]:
    """Roll back the block and clear the caches of the process."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    render_cache.cache.clear()


def marked(tables: dict[str, tuple[int, str]]) -> list[str]:
    """Return the tables that contain a mark."""
    return [
        f"{table}: {match[0]}" for table, (_, contents) in tables.items() if (match := MARKS.search(contents or ""))
    ]


def counts(tables: dict[str, tuple[int, str]]) -> dict[str, int]:
    return {table: count for table, (count, _) in tables.items()}


def outcome(case: Arranged, **changes: Any) -> tuple[Response, dict[str, tuple[int, str]]]:
    """Send a request, roll it back and return the response and the database contents before the rollback."""
    with undone():
        return case.send(**changes), everything_stored()


def without(rejected: Collection[str], body: Any, sample_body: Any) -> Any:
    """Return a body without the rejected fields and without forged ids in the sample's own objects."""
    if len(sample_body or {}) == 1 and not sample_body.keys() & set(rejected):
        (name,) = sample_body
        return {**body, name: without(rejected, body[name], sample_body[name])}
    stems = tuple(name.split("_")[0] for name in rejected)
    allowed = {name: value for name, value in body.items() if name in (sample_body or {}) or not name.startswith(stems)}
    for name in rejected:
        if name in (sample_body or {}):
            allowed[name] = {key: value for key, value in body[name].items() if value != NUMBER}
    return allowed


def applied(case: Arranged, body: Any) -> list[str]:
    """Return what a body changes that the sample's own body does not; a rejected request changes nothing."""
    before = everything_stored()
    (first, contents), (second, _) = outcome(case), outcome(case)
    response, after = outcome(case, body=body)
    if response.status_code == 422:
        assert after == before
        response, after = outcome(
            case, body=without(response.json()["errors"], body, case.sample.body_for(case.arguments))
        )
    assert response.status_code == first.status_code, response.content
    return [
        *differences(first.json(), second.json(), response.json()),
        *marked(after),
        *([] if counts(after) == counts(contents) else ["there are other rows"]),
    ]


@pytest.mark.parametrize("route", WRITES, ids=ids)
def test_what_is_not_the_clients_to_write_is_not_applied(route: Route, arranged: Any) -> None:
    case = arranged(SAMPLES[route.name])

    for body in bodies_of(route, case.sample.body_for(case.arguments)):
        assert applied(case, body) == []


@pytest.mark.parametrize("name", ["PUT blogs/<id>.json", "POST custom_collections.json"])
def test_what_would_be_applied_is_noticed(name: str, arranged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the detection with an empty list of writable fields, so that these count as read-only."""
    (route,) = (route for route in WRITES if route.name == name)
    case = arranged(SAMPLES[name])
    monkeypatch.setattr(forgeries, "members_taken", lambda schema: {})

    changes = [line for body in bodies_of(route, case.sample.body_for(case.arguments)) for line in applied(case, body)]

    assert any("forged" in line for line in changes)
    assert any(line.startswith(".") for line in changes)


def others_of(case: Arranged, names: Collection[str]) -> list[str]:
    """Return the URLs that show the object and related objects: all routes that these path arguments fill."""
    resource = case.sample.pattern.split("/")[0].removesuffix(".json")
    paths = []
    for route in ROUTES:
        argument_names = set(re.findall(r"<(\w+)>", route.name))
        if route.name.startswith(f"GET {resource}/") and argument_names and argument_names <= set(names):
            paths.append(SAMPLES[route.name].path(case.arguments))
    return paths


@pytest.mark.parametrize("route", WITH_ID, ids=ids)
def test_the_ids_of_the_path_count_whatever_the_body_says(route: Route, arranged: Any, unchanged: Any) -> None:
    sample = SAMPLES[route.name]
    mine, other = arranged(sample), arranged(sample)
    names = re.findall(r"<(\w+)>", route.name)
    assert all(mine.arguments[name] != other.arguments[name] for name in names)
    theirs = {name: other.arguments[name] for name in names}
    sample_body = mine.sample.body_for(mine.arguments) or {}
    wrapper = next((name for name, value in sample_body.items() if isinstance(value, dict)), route.view.singular)
    body = {**theirs, **sample_body, wrapper: {**sample_body.get(wrapper, {}), **theirs}}
    paths = others_of(other, names)
    before = [mine.api.http.get(path).json() for path in paths]
    own = outcome(mine)[0]

    response = mine.send(body=body, query=theirs)

    assert response.status_code == own.status_code, response.content
    after = [mine.api.http.get(path).json() for path in paths]
    # The parent of both may have changed just now.
    assert differences(before, before, after) == []
    response_object = next((value for value in response.json().values() if isinstance(value, dict)), response.json())
    # A created object has a new id.
    returned_names = [
        name for name in names if name in response_object and not (name == "id" and response.status_code == 201)
    ]
    assert {name: response_object[name] for name in returned_names} == {
        name: mine.arguments[name] for name in returned_names
    }
