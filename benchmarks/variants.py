"""Start the servers of the measured variants, and check that all variants return the same responses."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks import load, servers
from benchmarks.databases import Database
from benchmarks.floors.create_customer import build_example
from benchmarks.scale import scale
from benchmarks.servers import RunningServer
from tests.support.servers.ports import find_free_port

PREFIX = "/admin/api/2026-10/"
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
ROWS = scale(10_000, least=200)
# A variant may lack a few fields that the product got later. With more missing fields, the results are not comparable.
MAX_MISSING_FIELDS = 3


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
    ports = {name: find_free_port() for name in ("ours", "cold", "sqlite", "floor a", "floor b", "naive")}
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

    The naive program only needs the same fields.

    Raises:
        Unmeasurable: A variant responds differently, or does not have more than ``MAX_MISSING_FIELDS`` fields.
    """
    for scenario, path in CHECKED.items():
        expected = variants_by_name["ours"].client.get(path)
        for name, variant in variants_by_name.items():
            if name == "ours" or scenario not in variant.scenarios:
                continue
            got = variant.client.get(path)
            if missing := find_missing_fields(expected, got):
                print(f"{name} has no {', '.join(sorted(missing))} in the response for {path}", file=sys.stderr)
            if len(missing) > MAX_MISSING_FIELDS:
                raise load.Unmeasurable(f"{name} does not have {len(missing)} fields of the response for {path}")
            if name != "naive" and (differences := find_differences(expected, got)):
                raise load.Unmeasurable(f"{name} has a different response for {path}:\n{differences}")
    for number, variant in enumerate(variants_by_name.values()):
        if "create" in variant.scenarios:
            customer = variant.client.post(CUSTOMERS, build_example(900_000 + number))
            assert "customer" in customer or "id" in customer


def find_missing_fields(expected: Any, got: Any, path: str = "") -> set[str]:
    """Return the dotted paths of the fields that only the expected response has."""
    if isinstance(expected, dict) and isinstance(got, dict):
        missing = {f"{path}{name}" for name in expected.keys() - got.keys()}
        return missing.union(*(find_missing_fields(expected[k], got[k], f"{path}{k}.") for k in expected.keys() & got))
    if isinstance(expected, list) and isinstance(got, list):
        return set().union(*(find_missing_fields(w, g, path) for w, g in zip(expected, got, strict=False)))
    return set()


def find_differences(expected: Any, got: Any, path: str = "") -> str:
    """Return a line for each field with different values. Fields that only the expected response has are skipped."""
    if isinstance(expected, dict) and isinstance(got, dict):
        parts = [find_differences(expected.get(name), got[name], f"{path}.{name}") for name in got]
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        parts = [find_differences(w, g, f"{path}[{i}]") for i, (w, g) in enumerate(zip(expected, got, strict=True))]
    else:
        return "" if expected == got else f"{path}: {expected!r} / {got!r}\n"
    return "".join(parts)
