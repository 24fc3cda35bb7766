"""What the webhook engine delivers, beside the floor of the same run: the same requests by aiohttp alone.

Run: ``python -m benchmarks.delivery [--deliveries 20000] [--only fan_out,hang,…]``

On PostgreSQL of ``DATABASE_URL`` (a database of its own is made there and dropped again), or on SQLite without it. The
receivers, the database and the dispatchers share the machine. Ratios within one run survive noise, as does processor
time; numbers do not. Prints one line of JSON for each measure.
"""

import argparse
import json
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.delivery import measures, reserves, retention
from benchmarks.delivery.world import SERVER, drop, prepare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="how much is there when a claim is timed")
    parser.add_argument("--only", help="some of the measures, by name, with commas between")
    options = parser.parse_args()
    count = options.deliveries
    known: dict[str, Callable[[], dict[str, Any]]] = {
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
    chosen = options.only.split(",") if options.only else list(known)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(65_536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    # A benchmark that is ended drops its database as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    prepare()
    try:
        for name in chosen:
            found = known[name]()
            print(json.dumps({"database": "postgresql" if SERVER else "sqlite", "measure": name, **found}), flush=True)
    finally:
        drop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
