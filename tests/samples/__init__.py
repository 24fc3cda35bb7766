"""One valid request per route. Tests are generated from these requests.

Each domain's module in this package registers requests with ``register_sample``. A route without a sample fails
``tests/api/test_routes.py``, which runs all checks of ``tests/api/route_checks`` for every route.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apps.core.tenancy.models import Installation, Shop
from apps.core.types import Attrs

Arrange = Callable[["SampleContext"], Attrs]


@dataclass(frozen=True)
class SampleContext:
    """The shop and the app installation in which a sample creates rows."""

    shop: Shop
    installation: Installation


@dataclass(frozen=True)
class Sample:
    """A valid request for a route.

    Attributes:
        route: The method and the path after the version, such as ``POST script_tags.json``, or an absolute path.
        body: The request body, or a function that returns the body for the result of ``arrange``.
        arrange: Creates the rows that the request needs, inside the shop's scope. Returns the path arguments and
            additional values for the body or the query.
        status: The status of the response.
        query: The query parameters, or a function that returns the parameters for the result of ``arrange``.
        bodiless: True if an empty body is valid.
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

    def path(self, arguments: Attrs, version: str = "2026-07") -> str:
        below = self.pattern
        for name, value in arguments.items():
            below = below.replace(f"<{name}>", str(value))
        return below if below.startswith("/") else f"/admin/api/{version}/{below}"

    def body_for(self, arguments: Attrs) -> Any:
        return self.body(arguments) if callable(self.body) else self.body

    def query_for(self, arguments: Attrs) -> Attrs:
        return (self.query(arguments) if callable(self.query) else self.query) or {}


SAMPLES: dict[str, Sample] = {}


def register_sample(route: str, body: Any = None, **options: Any) -> None:
    """Register the sample of a route."""
    assert route not in SAMPLES, route
    SAMPLES[route] = Sample(route, body, **options)


def load_all_samples() -> dict[str, Sample]:
    """Return the samples of all domains."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return SAMPLES
