"""Tests that every route of the REST API keeps its promises, read from the URL conf.

One test per route creates the rows of the route's sample request and runs all checks of ``tests/api/route_checks``.
"""

from collections import Counter
from operator import attrgetter

import pytest
from pytest_django import Settings

from apps.core.tenancy.access_scopes import SCOPES
from apps.core.tenancy.models import Shop
from tests.api.route_checks import RouteCase, Tokens, load_all_checks
from tests.api.route_checks.writes import find_applied_changes
from tests.conftest import use_empty_caches
from tests.samples import load_all_samples
from tests.support.databases.snapshots import rolled_back
from tests.support.rest import forged_bodies
from tests.support.rest.routes import Route, get_all_routes

SAMPLES = load_all_samples()
CHECKS = load_all_checks()
ROUTES = get_all_routes()
with_tokens = pytest.mark.shop_with(fill=Tokens.create)


@pytest.fixture
def case(route: Route, shop: Shop, shared_rows: Tokens) -> RouteCase:
    """Return the route with the rows that its sample request needs."""
    return RouteCase(route, shop, shared_rows)


@pytest.mark.both_databases
@with_tokens
@pytest.mark.parametrize("route", [route for route in ROUTES if route.name in SAMPLES], ids=attrgetter("name"))
def test_route_passes_all_checks(
    case: RouteCase, settings: Settings, subtests: pytest.Subtests, pytestconfig: pytest.Config
) -> None:
    for check in CHECKS:
        if check.covers(case.route) and check.is_selected(pytestconfig):
            with subtests.test(check.title), rolled_back():
                use_empty_caches(settings)
                check.run(case)


def test_every_route_has_a_sample_and_every_sample_a_route() -> None:
    assert {route.name for route in ROUTES} == SAMPLES.keys()


def test_every_check_covers_routes() -> None:
    counts = Counter(check.title for check in CHECKS for route in ROUTES if check.covers(route))

    assert counts.keys() == {check.title for check in CHECKS}
    assert counts.total() >= 3200


def test_every_scope_of_a_route_can_be_granted() -> None:
    route_scopes = {route.view.scope for route in ROUTES if route.view.scope}

    assert [word for word in sorted(route_scopes) if not {f"read_{word}", f"write_{word}"} & SCOPES.keys()] == []


WRITTEN = {"PUT blogs/<id>.json", "POST custom_collections.json"}


@with_tokens
@pytest.mark.parametrize("route", [route for route in ROUTES if route.name in WRITTEN], ids=attrgetter("name"))
def test_written_read_only_fields_are_reported(case: RouteCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat all fields as read-only, so that every write is reported."""
    monkeypatch.setattr(forged_bodies, "get_writable_properties", lambda schema: {})

    bodies = forged_bodies.forge_bodies(case.route, case.body)
    changes = [line for body in bodies for line in find_applied_changes(case, body)]

    assert any("forged" in line for line in changes)
    assert any(line.startswith(".") for line in changes)
