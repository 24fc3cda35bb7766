"""Measure every variant in one run and print the ratios: ``python -m benchmarks.run [--quick]``."""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import django

from benchmarks import databases, load, servers
from benchmarks.databases import Database
from benchmarks.report import print_costs, print_rates, print_ratios
from benchmarks.variants import CUSTOMERS, PREFIX, ROWS, SCENARIOS, Variant, check_responses, start_variants
from tests.support.servers.ports import find_free_port

RESULTS = Path(__file__).with_name("results")


def measure_variants(variants_by_name: dict[str, Variant], *, rounds: int, seconds: float, warm_up: bool) -> None:
    """Measure all variants alternately, so that other load on the machine affects all variants equally.

    The figures of the warm-up, a round of at most a second, are discarded.
    """
    number = 0
    for scenario in SCENARIOS:
        concerned = {name: variant for name, variant in variants_by_name.items() if scenario in variant.scenarios}
        for turn in range(0 if warm_up else 1, rounds + 1):
            for name, variant in concerned.items():
                number += 1
                length = seconds if turn else min(seconds, 1)
                argument = number * 1_000_000 if scenario == "create" else ROWS
                figures = variant.load(scenario, argument, length)
                if turn:
                    variant.figures.setdefault(scenario, []).append(figures)
                    print_progress(
                        f"{scenario:9} {name:8} {figures.rate:9,.0f}/s  p50 {figures.p50:.1f} p99 {figures.p99:.1f} ms"
                        f"  CPU {figures.web_ms:.2f} + {figures.database_ms:.2f} ms"
                    )


def measure_cold_start(database: Database, times: int) -> list[float]:
    """Return the seconds from the start of a server with one process to the first response."""
    durations = []
    for _ in range(times):
        environment = {**database.environment, "WEB_PROCESSES": "1"}
        with servers.run_server(
            "start", servers.OURS, find_free_port(), environment, CUSTOMERS, database.token
        ) as server:
            durations.append(server.seconds_to_first_answer)
    return durations


def measure_latencies(database: Database, times: int) -> dict[str, float]:
    """Return the median response time of single requests in milliseconds, without concurrency."""
    with servers.run_server(
        "ours", servers.OURS, find_free_port(), database.environment, CUSTOMERS, database.token
    ) as ours:
        client = load.Client(ours.port, database.token)
        paths = {
            "list": CUSTOMERS,
            "one": f"{PREFIX}customers/17.json",
            "search": f"{PREFIX}customers/search.json?query=email:grace.dijkstra.17@example.com",
            "count": f"{PREFIX}customers/count.json",
            "page at the newest row": f"{CUSTOMERS}?fields=id,email",
            "page at row 1": f"{CUSTOMERS}?fields=id,email&page_info={_token(database, 51)}",
        }
        medians = {name: client.milliseconds(path, times) for name, path in paths.items()}
        client.close()
        return medians


def _token(database: Database, before: int) -> str:
    """Return a page token for customers with lower ids, as in the API's ``Link`` header."""
    for name, value in database.environment.items():
        os.environ[name] = value
    os.environ["DJANGO_SETTINGS_MODULE"] = "backoffice.settings"
    django.setup()
    from apps.core.rest.reading.keyset_pagination import create_page_token

    return create_page_token(
        "next", [before], order=("-id",), filters={}, shop_id=database.shop_id, route="customers/list"
    )


def print_progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter rounds, no million rows (under 3 minutes)")
    parser.add_argument("--only", default="", help="variants to start, separated by commas, e.g. ours,floor a")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, help="duration of a round")
    parser.add_argument("--no-warm-up", action="store_true", help="measure the first round, for tests of the benchmark")
    options = parser.parse_args()
    load.require_wrk()
    began = time.monotonic()
    results: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "processors": os.cpu_count(),
        "machine": f"{platform.processor() or platform.machine()}, Python {platform.python_version()}",
        "load_before": os.getloadavg(),
    }
    with tempfile.TemporaryDirectory() as name, databases.create_postgres(Path(name)) as postgres:
        sqlite = databases.create_sqlite(Path(name))
        for database in (postgres, sqlite):
            database.prepare(ROWS)
        databases.fill_documents(postgres)
        print_progress(f"databases filled after {time.monotonic() - began:.0f} s")
        with start_variants(postgres, sqlite, frozenset(filter(None, options.only.split(",")))) as matches:
            check_responses(matches)
            print_progress(f"servers started after {time.monotonic() - began:.0f} s")
            seconds = options.seconds or (1 if options.quick else 3)
            measure_variants(matches, rounds=options.rounds, seconds=seconds, warm_up=not options.no_warm_up)
            results["memory_mb"] = {name: round(variant.running.memory(), 1) for name, variant in matches.items()}
        results["variants"] = {
            name: {scenario: [first_run.as_json() for first_run in runs] for scenario, runs in variant.figures.items()}
            for name, variant in matches.items()
        }
        results["cold_start_s"] = statistics.median(measure_cold_start(postgres, 1 if options.quick else 3))
        results["latency_ms"] = {f"{ROWS}": measure_latencies(postgres, 50 if options.quick else 300)}
        if not options.quick:
            postgres.grow(1_000_000)
            results["seconds_to_a_million"] = postgres.seconds
            results["latency_ms"]["1000000"] = measure_latencies(postgres, 300)
    results["load_after"] = os.getloadavg()
    results["seconds"] = round(time.monotonic() - began)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{results['at'].replace(':', '')}{'-quick' if options.quick else ''}.json"
    path.write_text(json.dumps(results, indent=1))
    print_rates(results)
    print_costs(results)
    print_ratios(results)
    print(f"\n{results['seconds']} s; raw results in {path}")


if __name__ == "__main__":
    main()
