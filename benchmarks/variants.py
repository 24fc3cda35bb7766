"""What is measured: every variant with its server, and the check that all give the same answers."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks import load, servers
from benchmarks.databases import Database
from benchmarks.floors.creating import example
from benchmarks.servers import Running

PREFIX = "/admin/api/2026-07/"
CUSTOMERS = f"{PREFIX}customers.json"
# By scenario, what the load generator does and where.
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
    """Something that is measured, and what was found."""

    running: Running
    database: Database
    scenarios: tuple[str, ...] = ("list", "one", "create")
    figures: dict[str, list[load.Figures]] = field(default_factory=dict)

    @property
    def client(self) -> load.Client:
        return load.Client(self.running.port, self.database.token)

    def processor_seconds(self) -> tuple[float, float]:
        """What web processes and database have taken so far."""
        return self.running.processor_seconds(), self.database.processor_seconds(self.running.name)

    def load(self, scenario: str, number: int, seconds: float) -> load.Figures:
        """Load it once."""
        kind, path = SCENARIOS[scenario]
        before = self.processor_seconds()
        figures = load.run(self.running.port, kind, self.database.token, path, number, seconds)
        web, database = (now - then for now, then in zip(self.processor_seconds(), before, strict=True))
        return replace(
            figures, web_ms=web * 1000 / figures.requests, database_ms=max(database, 0) * 1000 / figures.requests
        )


@contextlib.contextmanager
def variants(postgres: Database, sqlite: Database, only: frozenset[str]) -> Iterator[dict[str, Variant]]:
    """All servers, started and answering."""
    cold = {"BACKOFFICE_RENDER_CACHE_MB": "0"}
    ports = {name: servers.free_port() for name in ("ours", "cold", "sqlite", "floor a", "floor b", "naive")}
    plans: dict[str, tuple[list[str], dict[str, str], Database, tuple[str, ...]]] = {
        "ours": (servers.OURS, {}, postgres, tuple(SCENARIOS)),
        "cold": (servers.OURS, cold, postgres, ("list", "one", "products", "orders")),
        "floor a": (servers.floor("a"), {}, postgres, tuple(SCENARIOS)),
        "floor b": (servers.floor("b"), {}, postgres, ("list", "one", "create")),
        "naive": (servers.naive(ports["naive"]), {}, postgres, ("list", "one", "create")),
        "sqlite": (servers.OURS, {}, sqlite, ("list", "one", "create", "orders")),
    }
    with contextlib.ExitStack() as stack:
        found = {}
        for name, (command, extra, database, scenarios) in plans.items():
            if only and name not in only:
                continue
            environment = {**database.environment, **extra}
            server = servers.started(name, command, ports[name], environment, CUSTOMERS, database.token)
            found[name] = Variant(stack.enter_context(server), database, scenarios)
        yield found


def check_answers(found: dict[str, Variant]) -> None:
    """Every variant must answer the same; only then are their speeds comparable.

    Raises:
        Unmeasurable: One does not.
    """
    for scenario, path in CHECKED.items():
        wanted = found["ours"].client.get(path)
        for name, variant in found.items():
            if name in {"ours", "naive"} or scenario not in variant.scenarios:
                continue
            if (got := variant.client.get(path)) != wanted:
                raise load.Unmeasurable(f"{name} answers {path} otherwise:\n{_differences(wanted, got)}")
        if (
            "naive" in found
            and scenario in found["naive"].scenarios
            and _shape(found["naive"].client.get(path)) != _shape(wanted)
        ):
            raise load.Unmeasurable(f"naive answers {path} in another shape")
    for number, variant in enumerate(found.values()):
        if "create" in variant.scenarios:
            made = variant.client.post(CUSTOMERS, example(900_000 + number))
            assert "customer" in made or "id" in made


def _differences(wanted: Any, got: Any, place: str = "") -> str:
    if isinstance(wanted, dict) and isinstance(got, dict):
        parts = [_differences(wanted.get(k), got.get(k), f"{place}.{k}") for k in {**wanted, **got}]
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        parts = [_differences(w, g, f"{place}[{i}]") for i, (w, g) in enumerate(zip(wanted, got, strict=True))]
    else:
        return "" if wanted == got else f"{place}: {wanted!r} / {got!r}\n"
    return "".join(parts)


def _shape(value: Any) -> Any:
    """The names in an answer: objects by their keys, lists by their first item."""
    if isinstance(value, dict):
        return {
            name: _shape(item) for name, item in value.items() if name != "next" and item is not None and item != ""
        }.keys()
    return [_shape(item) for item in value[:1]] if isinstance(value, list) else None
