"""Start the servers of the measured variants, and check that all variants return the same responses."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks import load, servers
from benchmarks.databases import Database
from benchmarks.floors.create_customer import build_example
from benchmarks.servers import RunningServer

PREFIX = "/admin/api/2026-07/"
CUSTOMERS = f"{PREFIX}customers.json"
# The type of request for ``load.lua`` and the path, by scenario.
SCENARIOS = {
    "list": ("list", CUSTOMERS),
    "one": ("one", f"{PREFIX}customers/ID.json"),
    "create": ("create", CUSTOMERS),
    "products": ("list", f"{PREFIX}products.json"),
    "orders": ("list", f"{PREFIX}orders.json"),
}
CHECKED = {
    "list": CUSTOMERS,
    "one": f"{PREFIX}customers/17.json",
    "products": f"{PREFIX}products.json",
    "orders": f"{PREFIX}orders.json",
}
ROWS = 10_000


@dataclass
class Variant:
    """A measured server with its results."""

    running: RunningServer
    database: Database
    scenarios: tuple[str, ...] = ("list", "one", "create")
    figures: dict[str, list[load.Figures]] = field(default_factory=dict)

    @property
    def client(self) -> load.Client:
        return load.Client(self.running.port, self.database.token)

    def processor_seconds(self) -> tuple[float, float]:
        """Return the CPU time of the web processes and of the database so far in seconds."""
        return self.running.processor_seconds(), self.database.processor_seconds(self.running.name)

    def load(self, scenario: str, number: int, seconds: float) -> load.Figures:
        """Send the requests of a scenario for some seconds; return the results with CPU times."""
        kind, path = SCENARIOS[scenario]
        before = self.processor_seconds()
        figures = load.run_load(self.running.port, kind, self.database.token, path, number, seconds)
        web, database = (now - then for now, then in zip(self.processor_seconds(), before, strict=True))
        return replace(
            figures, web_ms=web * 1000 / figures.requests, database_ms=max(database, 0) * 1000 / figures.requests
        )


@contextlib.contextmanager
def start_variants(postgres: Database, sqlite: Database, only: frozenset[str]) -> Iterator[dict[str, Variant]]:
    """Start the servers of all variants, or of the variants in ``only``, within the block."""
    cold = {"BACKOFFICE_RENDER_CACHE_MB": "0"}
    ports = {name: servers.find_free_port() for name in ("ours", "cold", "sqlite", "floor a", "floor b", "naive")}
    plans: dict[str, tuple[list[str], dict[str, str], Database, tuple[str, ...]]] = {
        "ours": (servers.OURS, {}, postgres, tuple(SCENARIOS)),
        "cold": (servers.OURS, cold, postgres, ("list", "one", "products", "orders")),
        "floor a": (servers.run_floor("a"), {}, postgres, tuple(SCENARIOS)),
        "floor b": (servers.run_floor("b"), {}, postgres, ("list", "one", "create")),
        "naive": (servers.run_naive(ports["naive"]), {}, postgres, ("list", "one", "create")),
        "sqlite": (servers.OURS, {}, sqlite, ("list", "one", "create", "orders")),
    }
    with contextlib.ExitStack() as stack:
        results = {}
        for name, (command, extra, database, scenarios) in plans.items():
            if only and name not in only:
                continue
            environment = {**database.environment, **extra}
            server = servers.run_server(name, command, ports[name], environment, CUSTOMERS, database.token)
            results[name] = Variant(stack.enter_context(server), database, scenarios)
        yield results


def check_responses(variants_by_name: dict[str, Variant]) -> None:
    """Check that all variants return the same responses, because otherwise the results are not comparable.

    Raises:
        Unmeasurable: A variant responds differently.
    """
    for scenario, path in CHECKED.items():
        expected = variants_by_name["ours"].client.get(path)
        for name, variant in variants_by_name.items():
            if name in {"ours", "naive"} or scenario not in variant.scenarios:
                continue
            if (got := variant.client.get(path)) != expected:
                raise load.Unmeasurable(f"{name} has a different response for {path}:\n{_differences(expected, got)}")
        if (
            "naive" in variants_by_name
            and scenario in variants_by_name["naive"].scenarios
            and _shape(variants_by_name["naive"].client.get(path)) != _shape(expected)
        ):
            raise load.Unmeasurable(f"naive has different fields in the response for {path}")
    for number, variant in enumerate(variants_by_name.values()):
        if "create" in variant.scenarios:
            customer = variant.client.post(CUSTOMERS, build_example(900_000 + number))
            assert "customer" in customer or "id" in customer


def _differences(expected: Any, got: Any, path: str = "") -> str:
    if isinstance(expected, dict) and isinstance(got, dict):
        parts = [_differences(expected.get(k), got.get(k), f"{path}.{k}") for k in {**expected, **got}]
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        parts = [_differences(w, g, f"{path}[{i}]") for i, (w, g) in enumerate(zip(expected, got, strict=True))]
    else:
        return "" if expected == got else f"{path}: {expected!r} / {got!r}\n"
    return "".join(parts)


def _shape(value: Any) -> Any:
    """Return the field names in a response. For a list, return only the names of the first item."""
    if isinstance(value, dict):
        return {
            name: _shape(item) for name, item in value.items() if name != "next" and item is not None and item != ""
        }.keys()
    return [_shape(item) for item in value[:1]] if isinstance(value, list) else None
