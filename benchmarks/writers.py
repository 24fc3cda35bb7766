"""Many writers on SQLite, with the gate and without it: ``python -m benchmarks.writers [--rounds 5] [--seconds 4]``.

Two servers on one database file take creates from 16 connections in turn, so that the machine's moods meet both alike.
Fair means that the slowest in a hundred wait no longer than five times the median; ends with 1 where they do.
"""

import argparse
import contextlib
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks import databases, load, servers
from benchmarks.run import progress
from benchmarks.variants import CUSTOMERS

GATE, NONE = "with the gate", "without"
SETTINGS = {GATE: "backoffice.settings", NONE: "benchmarks.ungated"}
FAIR = 5
ROWS = 1_000


def measured(folder: Path, rounds: int, seconds: float) -> dict[str, list[load.Figures]]:
    """The figures of each round; a first, short one warms both up and does not count."""
    database = databases.sqlite(folder)
    database.prepare(ROWS)
    found: dict[str, list[load.Figures]] = {name: [] for name in SETTINGS}
    with contextlib.ExitStack() as stack:
        ports = {name: servers.free_port() for name in SETTINGS}
        for name, settings in SETTINGS.items():
            environment = {**database.environment, "DJANGO_SETTINGS_MODULE": settings}
            server = servers.started(name, servers.OURS, ports[name], environment, CUSTOMERS, database.token)
            stack.enter_context(server)
        for turn in range(rounds + 1):
            for place, (name, port) in enumerate(ports.items()):
                number = (2 * turn + place + 1) * 1_000_000
                figures = load.run(port, "create", database.token, CUSTOMERS, number, seconds if turn else 1)
                if turn:
                    found[name].append(figures)
                    progress(f"{name:14} {figures.rate:6,.0f}/s  p50 {figures.p50:.1f}  p99 {figures.p99:.1f} ms")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    load.need_wrk()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), options.rounds, options.seconds)
    print("| creates, 16 connections | per second | p50 | p99 | p99 / p50 |\n|---|---|---|---|---|")
    spread = {}
    for name, rounds in found.items():
        rate, p50, p99 = (
            statistics.median(values) for values in zip(*((one.rate, one.p50, one.p99) for one in rounds), strict=True)
        )
        spread[name] = statistics.median(one.p99 / one.p50 for one in rounds)
        print(f"| {name} | {rate:,.0f} | {p50:.0f} ms | {p99:.0f} ms | {spread[name]:.1f} |")
    ratios = [gated.rate / free.rate for gated, free in zip(found[GATE], found[NONE], strict=True)]
    print(f"\nrate with the gate / without: {statistics.median(ratios):.2f} (each round: {ratios_of(ratios)})")
    sys.exit(spread[GATE] > FAIR)


def ratios_of(ratios: list[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


if __name__ == "__main__":
    main()
