"""What is not the client's to write is never applied: read-only fields, columns, the ids of other objects.

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
# GraphQL takes a document instead of an object, and nothing that its types do not name.
WRITES = [route for route in ROUTES if route.name.startswith(("POST ", "PUT ")) and hasattr(route.view, "model")]


def ids(route: Route) -> str:
    return route.name


@contextmanager
def undone() -> Iterator[None]:
    """What is written meanwhile is taken back, and what was kept of it forgotten."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    render_cache.cache.clear()


def marked(stored: dict[str, tuple[int, str]]) -> list[str]:
    """The tables in which a mark stands."""
    return [f"{table}: {found[0]}" for table, (_, said) in stored.items() if (found := MARKS.search(said or ""))]


def counts(stored: dict[str, tuple[int, str]]) -> dict[str, int]:
    return {table: count for table, (count, _) in stored.items()}


def outcome(case: Arranged, **changes: Any) -> tuple[Response, dict[str, tuple[int, str]]]:
    """What is answered and stored, and taken back."""
    with undone():
        return case.send(**changes), everything_stored()


def without(refused: Collection[str], body: Any, sent: Any) -> Any:
    """A body without what was refused, and what goes with it; of an object of the sample without its forged ids."""
    if len(sent or {}) == 1 and not sent.keys() & set(refused):
        (name,) = sent
        return {**body, name: without(refused, body[name], sent[name])}
    stems = tuple(name.split("_")[0] for name in refused)
    kept = {name: value for name, value in body.items() if name in (sent or {}) or not name.startswith(stems)}
    for name in refused:
        if name in (sent or {}):
            kept[name] = {key: value for key, value in body[name].items() if value != NUMBER}
    return kept


def applied(case: Arranged, body: Any) -> list[str]:
    """What a body changes that the sample's own does not change; what is refused changes nothing at all."""
    before = everything_stored()
    (first, stored), (second, _) = outcome(case), outcome(case)
    answer, after = outcome(case, body=body)
    if answer.status_code == 422:
        assert after == before
        answer, after = outcome(case, body=without(answer.json()["errors"], body, case.sample.body_for(case.arguments)))
    assert answer.status_code == first.status_code, answer.content
    return [
        *differences(first.json(), second.json(), answer.json()),
        *marked(after),
        *([] if counts(after) == counts(stored) else ["there are other rows"]),
    ]


@pytest.mark.parametrize("route", WRITES, ids=ids)
def test_what_is_not_the_clients_to_write_is_not_applied(route: Route, arranged: Any) -> None:
    case = arranged(SAMPLES[route.name])

    for body in bodies_of(route, case.sample.body_for(case.arguments)):
        assert applied(case, body) == []


@pytest.mark.parametrize("name", ["PUT blogs/<id>.json", "POST custom_collections.json"])
def test_what_would_be_applied_is_noticed(name: str, arranged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing were the client's: what it may write stands among what it may not."""
    (route,) = (route for route in WRITES if route.name == name)
    case = arranged(SAMPLES[name])
    monkeypatch.setattr(forgeries, "members_taken", lambda schema: {})

    found = [line for body in bodies_of(route, case.sample.body_for(case.arguments)) for line in applied(case, body)]

    assert any("forged" in line for line in found)
    assert any(line.startswith(".") for line in found)


def others_of(case: Arranged, names: Collection[str]) -> list[str]:
    """The addresses that show the object and its neighbours: all that these path arguments lead to."""
    resource = case.sample.pattern.split("/")[0].removesuffix(".json")
    found = []
    for route in ROUTES:
        wanted = set(re.findall(r"<(\w+)>", route.name))
        if route.name.startswith(f"GET {resource}/") and wanted and wanted <= set(names):
            found.append(SAMPLES[route.name].path(case.arguments))
    return found


@pytest.mark.parametrize("route", WITH_ID, ids=ids)
def test_the_ids_of_the_path_count_whatever_the_body_says(route: Route, arranged: Any, unchanged: Any) -> None:
    sample = SAMPLES[route.name]
    mine, other = arranged(sample), arranged(sample)
    names = re.findall(r"<(\w+)>", route.name)
    assert all(mine.arguments[name] != other.arguments[name] for name in names)
    theirs = {name: other.arguments[name] for name in names}
    sent = mine.sample.body_for(mine.arguments) or {}
    wrapper = next((name for name, value in sent.items() if isinstance(value, dict)), route.view.singular)
    body = {**theirs, **sent, wrapper: {**sent.get(wrapper, {}), **theirs}}
    seen = others_of(other, names)
    before = [mine.api.http.get(path).json() for path in seen]
    own = outcome(mine)[0]

    answer = mine.send(body=body, query=theirs)

    assert answer.status_code == own.status_code, answer.content
    after = [mine.api.http.get(path).json() for path in seen]
    # What both belong to may have changed just now.
    assert differences(before, before, after) == []
    shown = next((value for value in answer.json().values() if isinstance(value, dict)), answer.json())
    # What was made has an id of its own.
    told = [name for name in names if name in shown and not (name == "id" and answer.status_code == 201)]
    assert {name: shown[name] for name in told} == {name: mine.arguments[name] for name in told}
