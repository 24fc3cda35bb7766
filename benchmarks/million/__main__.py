"""Fills, walks, prints what is over; see the package."""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import databases
from benchmarks.million import filling, ids, writes
from benchmarks.million.asking import Cost, ask, patient
from benchmarks.million.report import Row, print_rows

if TYPE_CHECKING:
    from django.test import Client

RESULTS = Path(__file__).parents[1] / "results"
SMALL = 1_000


def clients(shop_id: int, token: str) -> "tuple[Client, Client]":
    """A client of the interface, and one of the panel, logged in as somebody who may do everything."""
    from django.test import Client
    from django.utils import timezone

    from apps.ground.tenancy import shop_scope
    from apps.staff.models import Membership, User

    shop = filling.shop_of(shop_id)
    person, made = User.objects.get_or_create(email="owner@bench.example", defaults={"first_name": "Sam"})
    if made:
        with shop_scope(shop):
            Membership.objects.create(shop=shop, user=person, account_owner=True, created_at=timezone.now())
    panel = Client()
    panel.force_login(person)
    return Client(headers={"X-Platform-Access-Token": token}), panel


def walk(shop_id: int, token: str, rows: int, only: str) -> dict[str, Cost]:
    """Ask for everything once."""
    from benchmarks.million import panel, rest

    interface, browser = clients(shop_id, token)
    shop = filling.shop_of(shop_id)
    ids.make_the_rest(interface, shop_id)
    description = json.loads(Path("docs/openapi.json").read_text())
    found: dict[str, Cost] = {}
    walked = rest.Walk(description, ids.of_rows(shop_id), rows)
    for client, cases in ((interface, walked.addresses()), (browser, panel.addresses(browser, shop, None))):
        for name, address in cases:
            if only not in name or name in found:
                continue
            found[name] = ask(client, address)
            if found[name].ms > 200 or found[name].status >= 400:
                progress(f"{found[name].ms:8.0f} ms  {found[name].status}  {name}")
    for pattern in walked.unreached:
        progress(f"not walked: {pattern}")
    return found


def measure_writes(size: int) -> writes.Shares:
    """Fill, and write a little."""
    shop_id, token = filling.begin()
    filling.grow(shop_id, None, filling.Size(size))
    progress(f"{size:,} rows")
    interface, _ = clients(shop_id, token)
    return writes.measure(interface, ids.of_rows(shop_id))


def measure(size: int, only: str) -> tuple[list[Row], writes.Shares, dict[str, float]]:
    """Fill and walk twice, then write a little."""
    began = time.monotonic()
    seconds: dict[str, float] = {}
    shop_id, token = filling.begin()
    small, big = filling.Size(SMALL), filling.Size(size)
    filling.grow(shop_id, None, small)
    patient()
    before = walk(shop_id, token, SMALL, only)
    seconds["walk at a thousand"] = time.monotonic() - began
    began = time.monotonic()
    filling.grow(shop_id, small, big)
    seconds["fill"] = time.monotonic() - began
    progress(f"{size:,} rows after {seconds['fill']:.0f} s")
    began = time.monotonic()
    patient()
    after = walk(shop_id, token, size, only)
    seconds["walk"] = time.monotonic() - began
    shares = {} if only else writes.measure(clients(shop_id, token)[0], ids.of_rows(shop_id))
    return [Row(name, before[name], cost) for name, cost in after.items() if name in before], shares, seconds


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Measure and print; 1 where something is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="customers and orders of the big shop")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--writes", action="store_true", help="fill and write, and walk nothing")
    parser.add_argument("--here", action="store_true", help="in the database of DATABASE_URL, empty and migrated")
    options = parser.parse_args()
    if options.here:
        return _run(options)
    with tempfile.TemporaryDirectory() as name, databases.postgres(Path(name)) as database:
        database.migrate()
        os.environ.update(database.environment)
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    os.environ["BACKOFFICE_RATE_LIMIT"] = "off"
    import django

    django.setup()
    if options.writes:
        return int(writes.print_shares(measure_writes(options.rows)))
    rows, shares, seconds = measure(options.rows, options.only)
    from django.db import connection

    connection.close()
    RESULTS.mkdir(exist_ok=True)
    raw: list[dict[str, Any]] = [{"name": row.name, "small": asdict(row.small), "big": asdict(row.big)} for row in rows]
    path = RESULTS / "million.json"
    path.write_text(json.dumps({"rows": options.rows, "seconds": seconds, "cases": raw}, indent=1))
    over = bool(print_rows(rows)) | writes.print_shares(shares)
    print(f"\n{len(rows):,} cases; {', '.join(f'{name} {took:.0f} s' for name, took in seconds.items())}; {path}")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
