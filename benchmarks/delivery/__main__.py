"""Measure the webhook engine and compare it with the same requests sent by aiohttp alone, in the same run.

Run: ``python -m benchmarks.delivery [--deliveries 20000] [--only fan_out,hang,…]``

The command creates a database on the PostgreSQL server in ``DATABASE_URL`` and drops it afterwards. Without
``DATABASE_URL``, it uses SQLite. Workers use the broker in ``BROKER_URL``, which must be empty. Endpoints, database,
broker and workers share the machine. Ratios within one run and CPU times are reproducible, but absolute numbers are
not. The command prints one line of JSON per measurement.
"""

import argparse
import json
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.delivery import backlog, measurements, retention
from benchmarks.delivery.environment import SERVER, create_database, drop_database


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of deliveries in the backlog")
    parser.add_argument("--only", help="names of measurements, separated by commas")
    parser.add_argument("--here", action="store_true", help="use the empty, migrated database of DATABASE_URL")
    options = parser.parse_args()
    count = options.deliveries
    existing: dict[str, Callable[[], dict[str, Any]]] = {
        "write": backlog.measure_write,
        "fan_out": lambda: measurements.measure_fan_out(count),
        "one_worker": lambda: measurements.measure_rate(count, 1, 10),
        "two_workers": lambda: measurements.measure_rate(count, 2, 11),
        "idle": lambda: measurements.measure_idle_latency(20),
        "latency": lambda: measurements.measure_latency(min(count, 5000)),
        "hang": lambda: measurements.measure_hang(count, 99, 1, 20),
        "thousand": lambda: measurements.measure_hang(count, 900, 100, 30),
        "shops": lambda: measurements.measure_shops(count),
        "backlog": lambda: backlog.measure_backlog(options.rows),
        "claims": lambda: backlog.measure_claims(options.rows),
        "retention": lambda: retention.measure_retention(options.rows),
        "recovery": lambda: backlog.measure_recovery(min(100_000, options.rows)),
        # Last, because the partitions have no unique indexes.
        "partitions": lambda: retention.measure_partitions(options.rows),
    }
    parts = options.only.split(",") if options.only else list(existing)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(65_536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    # Drop the database even if the benchmark is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    create_database(here=options.here)
    try:
        for name in parts:
            figures = existing[name]()
            print(
                json.dumps({"database": "postgresql" if SERVER else "sqlite", "measure": name, **figures}), flush=True
            )
    finally:
        drop_database(here=options.here)
    return 0


if __name__ == "__main__":
    sys.exit(main())
