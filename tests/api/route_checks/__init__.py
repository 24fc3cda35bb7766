"""Checks that every route of the REST API passes.

Each module in this package registers checks with ``route_check``. ``tests/api/test_routes.py`` creates the rows of a
route's sample request once and runs all checks of the route. Each check runs in a savepoint, so no check sees the
changes of another check.
"""

import importlib
import pkgutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pytest
from django.test import Client
from django.utils import timezone

from apps.core.tenancy.models import AccessToken, Installation, Shop, hash_token
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.shops.domain import app_installation, tokens
from tests.samples import SAMPLES, SampleContext
from tests.support import factories, services
from tests.support.api_client import ApiClient, Response
from tests.support.databases.snapshots import assert_database_unchanged, rolled_back, snapshot_database
from tests.support.rest.routes import Route
from tests.support.types import Json


class Tokens(NamedTuple):
    """The access tokens that the checks use. They are created once for all routes."""

    installation_id: int
    token: str
    reading_token: str
    other_shop_token: str
    bad_tokens: dict[str, str]

    @classmethod
    def create(cls, shop: Shop) -> "Tokens":
        """Create the tokens, one bad token for each reason to reject a token, and a second shop."""
        installation = factories.make_installation(shop)
        token, revoked, expired = (factories.make_token(installation) for _ in range(3))
        uninstalled = factories.make_installation(shop)
        uninstalled_token = factories.make_token(uninstalled)
        app_installation.uninstall_app(uninstalled, actor="system", at=timezone.now())
        with shop_scope(shop):
            tokens.revoke_token(get_access_token(revoked), actor="x", at=timezone.now())
            AccessToken.objects.filter(pk=get_access_token(expired).pk).update(expires_at=timezone.now())
        reading = factories.make_installation(
            shop, [scope for scope in factories.ALL_SCOPES if scope.startswith("read_")]
        )
        other_shop = factories.make_shop(domain="stranger.example", name="Stranger")
        bad_tokens = {
            "empty": "",
            "wrong": "bko_" + "x" * 43,
            "trailing blank inside": f"{token}%20",
            "long": "x" * 10_000,
            "not ascii": "bko_ü",
            "revoked": revoked,
            "uninstalled": uninstalled_token,
            "expired": expired,
        }
        other_shop_token = factories.make_token(factories.make_installation(other_shop))
        return cls(installation.pk, token, factories.make_token(reading), other_shop_token, bad_tokens)


def get_access_token(token: str) -> AccessToken:
    return AccessToken.objects.get(digest=hash_token(token))


class RouteCase:
    """A route with its sample request and the rows that the request needs."""

    def __init__(self, route: Route, shop: Shop, tokens: Tokens) -> None:
        with all_shops_scope():
            installation = Installation.objects.select_related("app", "shop").get(pk=tokens.installation_id)
        self.route = route
        self.sample = SAMPLES[route.name]
        self.api = ApiClient(tokens.token, installation)
        self.shop = shop
        self.tokens = tokens
        with shop_scope(shop):
            self.arguments = self.sample.arrange(SampleContext(shop, installation))
        self.path = self.sample.path(self.arguments)
        self.body = self.sample.body_for(self.arguments)
        self._before = snapshot_database()

    def send(self, http: Client | None = None, **changes: Json) -> Response:
        """Send the sample request, with changes such as another path or body."""
        http = http or self.api.http
        path = changes.pop("path", self.path)
        body = changes.pop("body", self.body)
        if self.sample.method == "get":
            return http.get(path, {**self.sample.query_for(self.arguments), **changes.pop("query", {})}, **changes)
        data = body if isinstance(body, bytes) else b"" if body is None else factories.to_json(body)
        kind = changes.pop("content_type", "application/json")
        query = "&".join(f"{k}={v}" for k, v in self.sample.query_for(self.arguments).items())
        method = self.sample.method.upper()
        return http.generic(method, path, data, content_type=kind, QUERY_STRING=query, **changes)

    @property
    def wrapper(self) -> str:
        """Return the name of the object in the sample's body."""
        return next(iter(self.body or {}), "")

    @cached_property
    def sample_response(self) -> Response:
        """Return the response to the sample request. Its changes are rolled back."""
        with rolled_back():
            return self.send()

    def unchanged(self) -> AbstractContextManager[None]:
        """Return a context manager that fails if its block changes the rows that the sample request needs."""
        return assert_database_unchanged(self._before)


@dataclass(frozen=True)
class RouteCheck:
    """A check of one promise.

    Attributes:
        run: Checks a route.
        covers: Returns True for the routes that the check applies to.
        both_databases: True if the result can differ between SQLite and PostgreSQL.
        needs_postgres: True if the check works on PostgreSQL only.
    """

    run: Callable[[RouteCase], None]
    covers: Callable[[Route], bool]
    both_databases: bool
    needs_postgres: bool

    @property
    def title(self) -> str:
        return self.run.__name__.removeprefix("check_").replace("_", " ")

    def is_selected(self, config: pytest.Config) -> bool:
        """Return True if this run includes the check."""
        if self.needs_postgres:
            return services.is_postgres()
        return self.both_databases or not config.getoption("second_database")


CHECKS: list[RouteCheck] = []


def route_check(
    covers: Callable[[Route], bool] = lambda route: True, *, both_databases: bool = False, needs_postgres: bool = False
) -> Callable[[Callable[[RouteCase], None]], Callable[[RouteCase], None]]:
    """Register a check of the routes for which ``covers`` returns True."""

    def register(run: Callable[[RouteCase], None]) -> Callable[[RouteCase], None]:
        CHECKS.append(RouteCheck(run, covers, both_databases, needs_postgres))
        return run

    return register


def load_all_checks() -> list[RouteCheck]:
    """Return the checks of all modules in this package."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return CHECKS


def assert_refusal(response: Response, *statuses: int) -> None:
    """Check the status of a refusal, and that the response is an error in the API's format."""
    assert response.status_code in statuses, (response.status_code, response.content[:300])
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert response["X-Request-Id"]
    assert set(response.json()) <= {"errors", "detail"}
    assert response.json()["errors"]


def has_body(route: Route) -> bool:
    return SAMPLES[route.name].body is not None


def has_argument(route: Route) -> bool:
    return "<" in route.name


def is_get(route: Route) -> bool:
    return route.name.startswith("GET ")


def is_list(route: Route) -> bool:
    return route.action == "list" and hasattr(route.view, "filterset_class")
