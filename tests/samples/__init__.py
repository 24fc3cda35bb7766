"""One working request per route: what the generated tests start from.

A domain's module in this folder registers its routes with ``sample``. A route of the interface that has no sample fails
the suite (``tests/api/test_permission_table.py``), so none can be added without its checks.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apps.shops.models import Installation, Shop

Arrange = Callable[["World"], dict[str, Any]]


@dataclass(frozen=True)
class World:
    """The shop and the app for which a sample is arranged."""

    shop: Shop
    installation: Installation


@dataclass(frozen=True)
class Sample:
    """A request that works.

    Attributes:
        route: ``POST script_tags.json`` as the URL conf writes it below the version, or an absolute path.
        body: What is sent; may be made out of the arranged path arguments.
        arrange: Makes the rows that the request needs, inside the shop's scope; returns the path's arguments, and under
            other names whatever the body or the query is made of.
        status: What it answers.
        query: What the query says; may be made out of the arranged rows.
        bodiless: Whether an empty body is fine.
        slow: Whether one run is enough: no bad input is tried on it.
    """

    route: str
    body: Any = None
    arrange: Arrange = lambda world: {}
    status: int = 200
    query: Any = None
    bodiless: bool = False

    @property
    def method(self) -> str:
        return self.route.split(" ")[0].lower()

    @property
    def pattern(self) -> str:
        return self.route.split(" ")[1]

    def path(self, arguments: dict[str, Any], version: str = "2026-07") -> str:
        below = self.pattern
        for name, value in arguments.items():
            below = below.replace(f"<{name}>", str(value))
        return below if below.startswith("/") else f"/admin/api/{version}/{below}"

    def body_for(self, arguments: dict[str, Any]) -> Any:
        return self.body(arguments) if callable(self.body) else self.body

    def query_for(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return (self.query(arguments) if callable(self.query) else self.query) or {}


SAMPLES: dict[str, Sample] = {}


def sample(route: str, body: Any = None, **options: Any) -> None:
    """Register the working request of a route."""
    assert route not in SAMPLES, route
    SAMPLES[route] = Sample(route, body, **options)


def load_all() -> dict[str, Sample]:
    """Every sample of every domain."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return SAMPLES
