"""Record the memory of a web process over an hour: ``python -m benchmarks.memory [--minutes 60] [--burst 1]``.

Every minute, each type of request is sent as fast as possible for ``--burst`` seconds over 16 connections. Then the
memory of the largest web process is measured. The first tenth of the time fills the caches and does not count.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import databases, load, servers
from benchmarks.run import RESULTS, print_progress
from benchmarks.variants import CUSTOMERS, ROWS, SCENARIOS
from tests.support.servers.ports import find_free_port

LIMIT_MB = 250


def record_memory(
    running: servers.RunningServer, token: str, minutes: int, burst: float, pause: float
) -> tuple[list[float], int]:
    """Return the memory in megabytes after each minute, and the number of responses."""
    weighed: list[float] = []
    answered = 0
    for minute in range(minutes):
        until = time.monotonic() + pause
        for scenario, (kind, path) in SCENARIOS.items():
            number = (minute + 1) * 1_000_000 if scenario == "create" else ROWS
            answered += load.run_load(running.port, kind, token, path, number, burst).requests
        weighed.append(running.memory())
        print_progress(f"minute {minute + 1:3}  {weighed[-1]:6.1f} MB  {answered:,} responses")
        time.sleep(max(0.0, until - time.monotonic()))
    return weighed, answered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--burst", type=float, default=1)
    parser.add_argument("--pause", type=float, default=60, help="seconds from one burst to the next")
    options = parser.parse_args()
    load.require_wrk()
    with tempfile.TemporaryDirectory() as name, databases.create_postgres(Path(name)) as database:
        database.prepare(ROWS)
        port = find_free_port()
        with servers.run_server(
            "memory", servers.OURS, port, database.environment, CUSTOMERS, database.token
        ) as running:
            weighed, answered = record_memory(running, database.token, options.minutes, options.burst, options.pause)
    counted = weighed[len(weighed) // 10 :]
    quarter = max(1, len(counted) // 4)
    early, late = statistics.fmean(counted[:quarter]), statistics.fmean(counted[-quarter:])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "memory.json").write_text(json.dumps({"mb": weighed, "answers": answered}, indent=1))
    print(f"{answered:,} responses in {options.minutes} minutes")
    print(f"largest web process: {max(weighed):.0f} MB (limit {LIMIT_MB} MB)")
    print(f"mean of the first quarter {early:.1f} MB, of the last quarter {late:.1f} MB: {late / early - 1:+.1%}")


if __name__ == "__main__":
    main()
