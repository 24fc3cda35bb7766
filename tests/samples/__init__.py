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

    ``arrange`` creates the rows that the request needs, inside the shop's scope, and returns the path arguments and
    additional values. ``body`` and ``query`` may be functions of this result.
    """

    route: str  # the method and the path after the version, such as ``POST script_tags.json``, or an absolute path
    body: Any = None
    arrange: Arrange = lambda world: {}
    status: int = 200
    query: Any = None
    bodiless: bool = False  # an empty body is valid

    @property
    def method(self) -> str:
        return self.route.split(" ")[0].lower()

    @property
    def pattern(self) -> str:
        return self.route.split(" ")[1]

    def path(self, arguments: Attrs, version: str = "2026-10") -> str:
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
    assert route not in SAMPLES, route
    SAMPLES[route] = Sample(route, body, **options)


def register_resource(
    path: str,
    new: Attrs,
    change: Attrs,
    one: Arrange,
    *,
    many: Arrange | None = None,
    parent: Arrange = Sample.arrange,
    count: bool = True,
) -> None:
    """Register the samples of the list, its count, and of creating, reading, changing and deleting one row."""
    register_sample(f"GET {path}.json", arrange=many or one)
    register_sample(f"POST {path}.json", new, arrange=parent, status=201)
    if count:
        register_sample(f"GET {path}/count.json", arrange=many or one)
    register_sample(f"GET {path}/<id>.json", arrange=one)
    register_sample(f"PUT {path}/<id>.json", change, arrange=one)
    register_sample(f"DELETE {path}/<id>.json", arrange=one)


def load_all_samples() -> dict[str, Sample]:
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return SAMPLES
