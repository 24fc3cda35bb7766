"""Measure the webhook engine's throughput against the same requests by aiohttp alone, in the same run.

Run: ``python -m benchmarks.delivery [--deliveries 20000] [--only fan_out,hang,…]``

Uses PostgreSQL of ``DATABASE_URL`` (in a new database that is dropped afterwards), or SQLite without it. Endpoints,
database and dispatchers share the machine. Ratios within one run and processor times are reproducible; absolute numbers
are not. Prints one line of JSON for each measurement.
"""

import argparse
import json
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.delivery import measures, reserves, retention
from benchmarks.delivery.world import SERVER, create_database, drop_database


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="how much is there when a claim is timed")
    parser.add_argument("--only", help="some of the measures, by name, with commas between")
    options = parser.parse_args()
    count = options.deliveries
    existing: dict[str, Callable[[], dict[str, Any]]] = {
        "write": reserves.measure_write,
        "fan_out": lambda: measures.measure_fan_out(count),
        "one_worker": lambda: measures.measure_rate(count, 1, 10),
        "two_workers": lambda: measures.measure_rate(count, 2, 11),
        "latency": lambda: measures.measure_latency(min(count, 5000)),
        "hang": lambda: measures.measure_hang(count, 9, 1, 20),
        "thousand": lambda: measures.measure_hang(count, 900, 100, 30),
        "shops": lambda: measures.measure_shops(count),
        "backlog": lambda: reserves.measure_backlog(options.rows),
        "retention": lambda: retention.measure_retention(options.rows),
        "partitions": lambda: retention.measure_partitions(options.rows),
        "recovery": lambda: reserves.measure_recovery(min(100_000, options.rows)),
    }
    parts = options.only.split(",") if options.only else list(existing)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(65_536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    # A benchmark that is terminated also drops its database.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    create_database()
    try:
        for name in parts:
            figures = existing[name]()
            print(
                json.dumps({"database": "postgresql" if SERVER else "sqlite", "measure": name, **figures}), flush=True
            )
    finally:
        drop_database()
    return 0


if __name__ == "__main__":
    sys.exit(main())
