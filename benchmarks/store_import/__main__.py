"""Import a store over REST while it changes, and kill the import: ``python -m benchmarks.store_import --kills 20``.

The store and the shop that imports it have separate PostgreSQL databases. The store has products, customers and orders
from files, and samples of everything else. Three writers change the store during the import, within its usual rate
limit for the premium plan. Each process of the import is killed after a random time, and started again. After the last
kill, the import completes, the writers stop, ``--final`` imports the last changes, and ``--verify`` compares the shop
with the store. A second run must change nothing.
"""

import argparse
import contextlib
import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks import databases, servers
from benchmarks.load import Unmeasurable
from benchmarks.scale import SHARE, get_exit_code
from benchmarks.store_import import api
from benchmarks.store_import.importer import Importer, check_end
from benchmarks.store_import.report import Results, print_results
from benchmarks.store_import.samples import Samples
from tests.support.servers.ports import find_free_port

RESULTS = Path(__file__).parents[1] / "results"
WRITERS = 3
METRICS_TOKEN = secrets.token_hex(8)
_SUMMARY = re.compile(
    r"^(\w+): (\d+) equal, (\d+) differing, (\d+) missing here, (\d+) deleted here, (\d+) more here, (\d+) listed",
    re.MULTILINE,
)
_SUMMARY_NAMES = ("equal", "differing", "missing", "deleted", "more", "limits")
_REFUSED = re.compile(r"^(\w+ \d+: not imported: .*)$", re.MULTILINE)
_BEHIND = re.compile(r"The shop was ([0-9.]+) seconds behind the store")
# Stock changes that the store has not reported yet, and its unfinished jobs except emails, by task.
_WORK = """
    SELECT 'stock changes', count(*) FROM catalog_delayedupdate WHERE is_waiting HAVING count(*) > 0
    UNION ALL
    SELECT task, count(*) FROM jobs_job
    WHERE state IN ('waiting', 'running') AND due_at <= now() AND task <> 'customers.send_invitation' GROUP BY task
"""
_COUNT_EVENTS = """
    SELECT (SELECT count(*) FROM events_event) + (SELECT count(*) FROM webhooks_pending)
         + (SELECT count(*) FROM webhooks_delivery)
"""
_STALLED_SECONDS = 120


def fetch_number(database: databases.Database, statement: str) -> int:
    with psycopg.connect(database.environment["DATABASE_URL"]) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


@contextlib.contextmanager
def run_store(source: databases.Database, port: int, *, rate_limit: bool) -> Iterator[None]:
    """Run the web server and a worker of the store."""
    environment = {**source.environment, "BACKOFFICE_RATE_LIMIT": "on" if rate_limit else "off"}
    command = [sys.executable, "-m", "backoffice.entrypoints.worker", "-B"]
    with servers.run_server("store", servers.OURS, port, environment, "/healthz", ""):
        worker = subprocess.Popen(
            command,
            env={**os.environ, **environment, "WORKERS": "1"},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield
        finally:
            servers.stop_process(worker)


def wait_until_idle(source: databases.Database) -> None:
    """Wait until the store's worker has finished its work, such as the fulfillment orders of imported orders."""
    least, deadline = sys.maxsize, 0.0
    with psycopg.connect(source.environment["DATABASE_URL"], autocommit=True) as connection:
        while work := {str(task): int(count) for task, count in connection.execute(_WORK)}:
            if sum(work.values()) < least:
                least, deadline = sum(work.values()), time.monotonic() + _STALLED_SECONDS
            elif time.monotonic() > deadline:
                raise Unmeasurable(f"The store's work makes no progress: {work}")
            time.sleep(1)


@dataclass
class KilledImport:
    """Imports the store while its process is killed several times, and then follows the store until the last kill."""

    importer: Importer
    writers: api.Writers
    port: int
    results: Results

    def run(self, kills: int, chance: random.Random, between: tuple[float, float]) -> None:
        before = self._count_requests()
        while self.results.kills < kills:
            arguments = ["--follow", "--interval", "1"] if self.results.counts else []
            self._run_once(*arguments, kill_after=chance.uniform(*between))
        if not self.results.counts:
            self._run_once()
        self.results.requests -= before

    def _count_requests(self) -> int:
        """Return the number of the store's requests, except those of the writers."""
        return api.count_requests(self.port, METRICS_TOKEN).total() - self.writers.statuses.total()

    def _run_once(self, *arguments: str, kill_after: float | None = None) -> None:
        run, results = self.importer.run(*arguments, kill_after=kill_after), self.results
        print_progress(f"{'killed' if run.is_killed else 'complete'} after {run.seconds:.0f} s")
        if run.is_killed:
            results.kills += 1
            results.kills_while_following += bool(results.counts)
        elif results.counts:
            raise Unmeasurable(f"import_store --follow has ended:\n{run.output[-3000:]}")
        if results.counts:
            return
        results.import_seconds += run.seconds
        if not run.is_killed:
            check_end(run)
            results.counts = run.get_counts()
            results.objects = sum(sum(numbers.values()) for numbers in results.counts.values())
            results.requests = self._count_requests()


def finish(importer: Importer, results: Results, port: int) -> None:
    before = api.count_requests(port, METRICS_TOKEN)
    run = importer.run_to_end("--final")
    results.final_requests = dict(api.count_requests(port, METRICS_TOKEN) - before)
    results.final_seconds = run.seconds
    results.refusals = _REFUSED.findall(run.output)
    if behind := _BEHIND.search(run.output):
        results.seconds_behind = float(behind[1])
    print_progress(f"final run after {run.seconds:.0f} s")


def verify(importer: Importer, results: Results, path: Path) -> None:
    run = importer.run_to_end("--verify", "--report", str(path))
    results.verify_seconds = run.seconds
    for name, *numbers in _SUMMARY.findall(run.output):
        results.summaries[name] = dict(zip(_SUMMARY_NAMES, map(int, numbers), strict=True))
    rows = map(json.loads, path.read_text().splitlines())
    results.findings = [row for row in rows if not row["is_limit"]]
    print_progress(f"compared after {run.seconds:.0f} s")


def import_again(importer: Importer, results: Results, target: databases.Database) -> None:
    before = fetch_number(target, _COUNT_EVENTS)
    run = importer.run_to_end("--reopen")
    results.second_seconds = run.seconds
    results.second_events = fetch_number(target, _COUNT_EVENTS) - before
    counts = run.get_counts().items()
    results.second_changes = {name: numbers for name, numbers in counts if numbers["new"] or numbers["changed"]}
    print_progress(f"second run after {run.seconds:.0f} s")


def measure(options: argparse.Namespace, folder: Path) -> Results:
    """Create and fill the store, import it, and return the results."""
    port = find_free_port()
    url = f"http://127.0.0.1:{port}"
    results, chance = Results(), random.Random(options.seed)
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(databases.create_postgres(folder, "_shop"))
        target.environment["BACKOFFICE_OUTGOING_ALLOW"] = "127.0.0.0/8"
        target.migrate()
        source = stack.enter_context(databases.create_postgres(folder, "_store", target))
        source.environment |= {
            "BACKOFFICE_BRAND": api.BRAND,
            # The addresses of images contain it.
            "BACKOFFICE_BASE_URL": url,
            "BACKOFFICE_METRICS_TOKEN": METRICS_TOKEN,
            # With a separate range, an ID of the store that was not translated refers to no object of the shop.
            "BACKOFFICE_ID_RANGE": "1",
        }
        source.migrate()
        target.run_python("manage.py", "create_shop", "new.example")
        print_progress("migrated")
        tokens = fill_store(source, port, options)
        importer = Importer(target.environment, url, tokens[0])
        with run_store(source, port, rate_limit=SHARE == 1):
            wait_until_idle(source)
            print_progress("the store is idle")
            with api.run_writers(port, tokens[1:], options.seed) as writers:
                KilledImport(importer, writers, port, results).run(options.kills, chance, options.between)
            results.writes, results.unexpected_statuses = writers.writes, writers.unexpected_statuses
            wait_until_idle(source)
            finish(importer, results, port)
            verify(importer, results, folder / "findings.jsonl")
            import_again(importer, results, target)
    results.peak_mb, results.busy_seconds = importer.peak_mb, importer.busy_seconds
    return results


def fill_store(source: databases.Database, port: int, options: argparse.Namespace) -> list[str]:
    """Fill the store; return access tokens for the import and for the writers."""
    began = time.monotonic()
    sizes = [f"--{name}={getattr(options, name)}" for name in ("products", "customers", "orders")]
    output = source.run_python("-m", "benchmarks.store_import.bulk_fill", *sizes, f"--tokens={WRITERS + 1}")
    tokens: list[str] = json.loads(output.splitlines()[-1])["tokens"]
    print_progress(f"filled from files after {time.monotonic() - began:.0f} s")
    with run_store(source, port, rate_limit=False):
        Samples.read(api.StoreApi(port, tokens[0])).create_all()
    print_progress(f"filled after {time.monotonic() - began:.0f} s")
    return tokens


def print_progress(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Measure the import and print the results; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--products", type=int, default=10_000)
    parser.add_argument("--customers", type=int, default=20_000)
    parser.add_argument("--orders", type=int, default=50_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--between", type=float, nargs=2, default=[20, 120], metavar=("MIN", "MAX"), help="seconds before a kill"
    )
    parser.add_argument("--report", type=Path, default=RESULTS / "store_import.json")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # Stop all processes and drop the databases after SIGTERM as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as name:
        results = measure(options, Path(name))
    is_missed = print_results(results)
    results.save(options.report)
    print(f"\n{options.report}")
    return get_exit_code(is_missed)


if __name__ == "__main__":
    sys.exit(main())
