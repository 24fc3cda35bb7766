"""Measure concurrent writers on SQLite: ``python -m benchmarks.writers [--rounds 5]``.

Two servers use the same database file: one with the product's SQLite backend, in which writers retry soon, and one
with Django's backend, in which writers wait in SQLite. The servers take turns receiving requests to create customers,
sent over 16 connections, so that other load affects both servers equally. Waiting is fair if the 99th percentile of the
response time is at most five times the median. Otherwise the exit code is 1.
"""

import argparse
import contextlib
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks import databases, load, servers
from benchmarks.run import print_progress
from benchmarks.scale import get_exit_code, scale
from benchmarks.variants import CUSTOMERS
from tests.support.servers.ports import find_free_port

OURS, PLAIN = "product", "Django's backend"
SETTINGS = {OURS: "backoffice.settings", PLAIN: "benchmarks.plain_sqlite_settings"}
FAIR = 5
ROWS = scale(1_000, least=100)


def measure_rounds(folder: Path, rounds: int, seconds: float) -> dict[str, list[load.Figures]]:
    """Return the results of each round, except a short first round that warms up both servers."""
    database = databases.create_sqlite(folder)
    database.prepare(ROWS)
    matching_figures: dict[str, list[load.Figures]] = {name: [] for name in SETTINGS}
    with contextlib.ExitStack() as stack:
        ports = {name: find_free_port() for name in SETTINGS}
        for name, settings in SETTINGS.items():
            environment = {**database.environment, "DJANGO_SETTINGS_MODULE": settings}
            server = servers.run_server(name, servers.OURS, ports[name], environment, CUSTOMERS, database.token)
            stack.enter_context(server)
        for turn in range(rounds + 1):
            for index, (name, port) in enumerate(ports.items()):
                number = (2 * turn + index + 1) * 1_000_000
                figures = load.run_load(
                    port, "create", database.token, CUSTOMERS, number, seconds if turn else min(seconds, 1)
                )
                if turn:
                    matching_figures[name].append(figures)
                    print_progress(f"{name:17} {figures.rate:6,.0f}/s  p50 {figures.p50:.1f}  p99 {figures.p99:.1f} ms")
    return matching_figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    load.require_wrk()
    with tempfile.TemporaryDirectory() as folder:
        measurements = measure_rounds(Path(folder), options.rounds, options.seconds)
    print("| creating customers, 16 connections | per second | p50 | p99 | p99 / p50 |\n|---|---|---|---|---|")
    spread = {}
    for name, rounds in measurements.items():
        rate, p50, p99 = (
            statistics.median(values)
            for values in zip(
                *((first_round.rate, first_round.p50, first_round.p99) for first_round in rounds), strict=True
            )
        )
        spread[name] = statistics.median(first_round.p99 / first_round.p50 for first_round in rounds)
        print(f"| {name} | {rate:,.0f} | {p50:.0f} ms | {p99:.0f} ms | {spread[name]:.1f} |")
    ratios = [ours.rate / plain.rate for ours, plain in zip(measurements[OURS], measurements[PLAIN], strict=True)]
    print(f"\nrate, product / Django: {statistics.median(ratios):.2f} (each round: {get_ratios(ratios)})")
    sys.exit(get_exit_code(spread[OURS] > FAIR))


def get_ratios(ratios: list[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


if __name__ == "__main__":
    main()
