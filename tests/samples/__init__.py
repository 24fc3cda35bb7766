"""One working request per route, from which tests are generated.

Each domain's module in this package registers its routes with ``sample``. The suite fails for a route without a sample
(``tests/api/test_permission_table.py``), so every new route gets its generated tests.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apps.shops.models import Installation, Shop

Arrange = Callable[["SampleContext"], dict[str, Any]]


@dataclass(frozen=True)
class SampleContext:
    """The shop and the app installation for which a sample creates rows."""

    shop: Shop
    installation: Installation


@dataclass(frozen=True)
class Sample:
    """A working request.

    Attributes:
        route: ``POST script_tags.json`` as the URL conf writes it below the version, or an absolute path.
        body: The request body, or a function of the arranged path arguments.
        arrange: Creates the rows that the request needs, inside the shop's scope. Returns the path arguments and, under
            other names, values for the body or the query.
        status: The status of the response.
        query: The query parameters, or a function of the arranged rows.
        bodiless: True if an empty body is valid.
        slow: True to run the request once only, without invalid input.
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


def register_sample(route: str, body: Any = None, **options: Any) -> None:
    """Register the working request of a route."""
    assert route not in SAMPLES, route
    SAMPLES[route] = Sample(route, body, **options)


def load_all_samples() -> dict[str, Sample]:
    """Return the samples of all domains."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return SAMPLES
