"""The interface's description of itself is true: what every route takes and gives fits what the document says."""

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from apps.api.openapi.documents import newest_document
from tests.api.routes import Route, all_routes
from tests.conftest import VERSION
from tests.samples import load_all

SAMPLES = load_all()
ROUTES = [route for route in all_routes() if route.name in SAMPLES]


def described(route: Route) -> dict[str, Any]:
    method, pattern = route.name.split(" ")
    path = re.sub(r"<(\w+)>", r"{\1}", pattern)
    operation: dict[str, Any] = newest_document()["paths"][path if path[0] == "/" else f"/admin/api/{VERSION}/{path}"][
        method.lower()
    ]
    return operation


def misfits(schema: dict[str, Any], value: Any) -> list[str]:
    """Where a value does not fit a schema of the document."""
    whole = {**schema, "components": newest_document()["components"]}
    return [f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(whole).iter_errors(value)]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_takes_and_gives_what_the_document_says(route: Route, arranged: Any) -> None:
    case = arranged(SAMPLES[route.name])
    operation = described(route)
    body = case.sample.body_for(case.arguments)

    response = case.send()

    assert str(response.status_code) in operation["responses"]
    given = operation["responses"][str(response.status_code)]["content"]["application/json"]["schema"]
    assert given != {"type": "object"}, "nothing is said of the answer"
    assert not misfits(given, response.json()), "\n".join(misfits(given, response.json()))
    if body is not None:
        taken = operation["requestBody"]["content"]["application/json"]["schema"]
        assert not misfits(taken, body), "\n".join(misfits(taken, body))
