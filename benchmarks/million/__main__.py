"""Fill the shops, send all requests, and print the cases over a limit."""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import bulk_insert, databases
from benchmarks.data import get_bench_shop
from benchmarks.million import fill, ids, plans, writes
from benchmarks.million.report import Row, print_pages, print_rows
from benchmarks.million.requests import Cost, limit_statements, request_page
from benchmarks.scale import SHARE, get_exit_code, scale

if TYPE_CHECKING:
    from django.test import Client

RESULTS = Path(__file__).parents[1] / "results"
SMALL = 1_000
# At this number of rows, all bounded queries have reached their bound.
MIDDLE = 100_000
SIZES = ("small", "middle", "big")


def create_clients(shop_id: int, token: str) -> "tuple[Client, Client]":
    """Return a client for the API, and a client for the panel that is logged in as an account owner."""
    from django.test import Client
    from django.utils import timezone

    from apps.core.tenancy.models import Membership, User
    from apps.core.tenancy.scope import shop_scope

    shop = fill.get_shop(shop_id)
    person, _created = User.objects.get_or_create(email="owner@bench.example", defaults={"first_name": "Sam"})
    if _created:
        with shop_scope(shop):
            Membership.objects.create(shop=shop, user=person, account_owner=True, created_at=timezone.now())
    panel = Client()
    panel.force_login(person)
    return Client(headers={"X-Platform-Access-Token": token}), panel


def request_all(shop_id: int, token: str, rows: int, only: str) -> dict[str, Cost]:
    """Send the requests of all cases with ``only`` in their name, or of a share of these cases."""
    from benchmarks.million import panel, rest

    interface, browser = create_clients(shop_id, token)
    shop = fill.get_shop(shop_id)
    ids.create_missing_rows(interface, shop_id)
    description = json.loads(Path("docs/openapi.json").read_text())
    costs: dict[str, Cost] = {}
    # Reduce garbage collection, which would add to the time of a random page.
    gc.freeze()
    walked = rest.RestRoutes(description, ids.get_row_ids(shop_id), rows)
    step = round(1 / SHARE)
    for client, cases in ((interface, walked.addresses()), (browser, panel.list_addresses(browser, shop, rows))):
        for name, address in islice(cases, 0, None, step):
            if only not in name or name in costs:
                continue
            costs[name] = request_page(client, address)
            if costs[name].ms > 200 or costs[name].status >= 400:
                print_progress(f"{costs[name].ms:8.0f} ms  {costs[name].status}  {name}")
    for pattern in walked.unreached:
        print_progress(f"not requested: {pattern}")
    return costs


def measure_writes(size: int) -> writes.Shares:
    """Fill the shop and measure some writes."""
    shop_id, token = fill.create_shops()
    fill.grow_big_shop(shop_id, None, fill.Size(size))
    print_progress(f"{size:,} rows")
    interface, _ = create_clients(shop_id, token)
    return writes.measure_shares(interface, ids.get_row_ids(shop_id))


def measure_shop(size: int, only: str) -> tuple[list[Row], writes.Shares, dict[str, float]]:
    """Measure all reads at three sizes, and then some writes."""
    seconds: dict[str, float] = {}
    shop_id, token = fill.create_shops()
    walks: dict[int, dict[str, Cost]] = {}
    before: fill.Size | None = None
    for number in sorted({min(SMALL, size), min(MIDDLE, size), size}):
        began = time.monotonic()
        fill.grow_big_shop(shop_id, before, fill.Size(number))
        before = fill.Size(number)
        seconds[f"filled to {number:,} rows in"] = time.monotonic() - began
        print_progress(f"{number:,} rows after {time.monotonic() - began:.0f} s")
        began = time.monotonic()
        limit_statements()
        walks[number] = request_all(shop_id, token, number, only)
        seconds[f"read at {number:,} rows in"] = time.monotonic() - began
    small, middle, big = (walks[min(number, size)] for number in (SMALL, MIDDLE, size))
    # SQLite has no statistics of heap-only updates.
    counted = bulk_insert.is_postgres() and not only
    shares = writes.measure_shares(create_clients(shop_id, token)[0], ids.get_row_ids(shop_id)) if counted else {}
    rows = [Row(name, small[name], middle[name], cost) for name, cost in big.items() if name in small.keys() & middle]
    for name in sorted(big.keys() ^ small.keys()):
        print_progress(f"at one size only: {name}")
    return rows, shares, seconds


def print_progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Measure the reads and writes, and print the results; return 1 if a result is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=int, default=scale(1_000_000, least=100), help="number of customers and orders in the big shop"
    )
    parser.add_argument("--only", default="", help="only cases with this text in their name")
    parser.add_argument("--writes", action="store_true", help="only measure writes")
    parser.add_argument("--plans", action="store_true", help="only compare generic and custom plans")
    parser.add_argument("--layout", choices=plans.LAYOUTS, help="only compare plans in this layout")
    parser.add_argument("--here", action="store_true", help="use the empty, migrated database of DATABASE_URL")
    options = parser.parse_args()
    if options.here:
        return _run(options)
    if options.plans and not options.layout:
        # Django keeps the database of a process, and each layout needs its own database.
        command = [sys.executable, "-m", "benchmarks.million", "--plans", "--rows", str(options.rows), "--layout"]
        return max(subprocess.run([*command, layout], check=False).returncode for layout in plans.LAYOUTS)
    with tempfile.TemporaryDirectory() as name, databases.create_postgres(Path(name)) as database:
        database.migrate()
        os.environ.update(database.environment)
        return _run(options)


def compare_plans(layout: str, most: int) -> bool:
    """Compare the plans in one layout at all sizes; return True if a statement is over the limit."""
    shop_id, token = get_bench_shop()
    sizes = [size for size in plans.SIZES if size <= most]
    is_over, raw = False, []
    for size, comparisons in plans.compare_layout(layout, sizes, shop_id, token):
        is_over |= plans.print_comparisons(layout, size, comparisons)
        for item in comparisons:
            costs = {name: asdict(getattr(item, name)) for name in ("generic", "custom")}
            raw.append({"size": size, "layout": layout, "sql": item.sql, "ratio": item.ratio, **costs})
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"plans of {layout}.json".replace(" ", "_")).write_text(json.dumps(raw, indent=1))
    return is_over


def _run(options: argparse.Namespace) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    os.environ["BACKOFFICE_RATE_LIMIT"] = "off"
    import django

    django.setup()
    if options.layout:
        return int(compare_plans(options.layout, options.rows))
    if options.writes:
        return int(writes.print_shares(measure_writes(options.rows)))
    rows, shares, seconds = measure_shop(options.rows, options.only)
    from django.db import connection

    connection.close()
    RESULTS.mkdir(exist_ok=True)
    raw: list[dict[str, Any]] = [
        {"name": row.name, **{size: asdict(getattr(row, size)) for size in SIZES}} for row in rows
    ]
    path = RESULTS / "million.json"
    path.write_text(json.dumps({"rows": options.rows, "seconds": seconds, "cases": raw}, indent=1))
    over = bool(print_rows(rows))
    print_pages(rows)
    over |= bool(shares) and writes.print_shares(shares)
    print(f"\n{len(rows):,} cases; {', '.join(f'{name} {took:.0f} s' for name, took in seconds.items())}; {path}")
    return get_exit_code(over)


if __name__ == "__main__":
    sys.exit(main())
