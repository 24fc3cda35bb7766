"""Measure imports in objects per second: ``python -m benchmarks.imports --rows 20000``.

The command validates and imports customers, and then orders, from JSON lines files into a new shop in the migrated
database of ``DATABASE_URL``, in one process, as a worker does. The floor is inserting the same number of customer rows
with a database cursor, in batches of 1,000. Rates per second of CPU time, which are more stable on a busy machine, are
in parentheses.
"""

import argparse
import io
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from secrets import token_hex

import django
import orjson

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
AT_ONCE = 1_000
# The goals in objects per second.
MUST = {"customers": 1_000, "orders": 300}


def build_customers(count: int) -> Iterator[dict[str, object]]:
    """Yield customers with an address, marketing consent and tags."""
    for number in range(count):
        name = {"first_name": f"Ada{number}", "last_name": "Lovelace"}
        index = {"address1": f"{number} Main Street", "city": "London", "zip": "SW1Y 4JH", "country": "United Kingdom"}
        yield {
            "customer": {
                **name,
                "email": f"ada{number}@example.com",
                "tags": "vip, wholesale",
                "note": "Likes blue",
                "email_marketing_consent": {"state": "subscribed", "opt_in_level": "single_opt_in"},
                "addresses": [name | index],
            }
        }


def build_orders(count: int) -> Iterator[dict[str, object]]:
    """Yield paid orders with two line items, for the same customers as ``build_customers``."""
    for number in range(count):
        yield {
            "order": {
                "id": number + 1,
                "email": f"ada{number}@example.com",
                "customer": {"email": f"ada{number}@example.com", "first_name": f"Ada{number}"},
                "created_at": "2026-03-02T12:30:00Z",
                "financial_status": "paid",
                "line_items": [
                    {"title": "Mug", "quantity": 2, "price": "12.50"},
                    {"title": "Bowl", "quantity": 1, "price": "18.00"},
                ],
            }
        }


def import_bodies(kind: str, bodies: Iterator[dict[str, object]], count: int) -> bool:
    """Validate and import a file; print the rates and return True if both rates reach the goal."""
    from django.utils import timezone

    from apps.imports_exports.domain import dry_run, imports, runner
    from apps.imports_exports.models import Import

    file = io.BytesIO(b"".join(orjson.dumps(body) + b"\n" for body in bodies))
    import_job = imports.save_upload(file, "in.jsonl", actor="system", at=timezone.now())
    rates, own = [], []
    for work in (dry_run.validate_file, runner.run_import):
        began, worked = time.monotonic(), time.process_time()
        with closing(work(import_job)) as outcomes:
            wrong = sum(outcome.result != "new" for _, outcome in outcomes)
        rates.append(count / (time.monotonic() - began))
        own.append(count / (time.process_time() - worked))
        if wrong:
            raise SystemExit(f"{wrong} {kind} were not created.")
        Import.objects.filter(pk=import_job.pk, state=Import.State.CHECKED).update(state=Import.State.IMPORTING, done=0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = " | ".join(f"{rate:,.0f} ({alone:,.0f})" for rate, alone in zip(rates, own, strict=True))
    print(f"| {kind}, {count:,} | {text} | {MUST[kind]:,} | {memory:,.0f} MB |", flush=True)
    return min(rates) >= MUST[kind]


def measure_floor(count: int) -> float:
    """Return the rate of inserting rows with a cursor into a copy of the customer table without indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE floor AS SELECT * FROM customers_customer LIMIT 1")
        cursor.execute("SELECT * FROM floor")
        row = cursor.fetchone()
        marks = ", ".join(["%s"] * len(row))
        began = time.monotonic()
        for _ in range(0, count, AT_ONCE):
            cursor.executemany(f"INSERT INTO floor VALUES ({marks})", [row] * AT_ONCE)
        seconds = time.monotonic() - began
        cursor.execute("DROP TABLE floor")
    return count / seconds


def main() -> int:
    """Measure the imports; return 1 if a rate is below the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--orders", type=int, help="number of orders, by default a fifth of --rows")
    options = parser.parse_args()
    django.setup()
    from apps.core.tenancy.scope import shop_scope
    from tests.support.factories import make_shop

    print("| objects | validated per second | imported per second | goal | peak memory |\n|---|---|---|---|---|")
    with shop_scope(make_shop(domain=f"exchange-{token_hex(4)}.example")):
        count = options.orders or options.rows // 5
        fine = [
            import_bodies("customers", build_customers(options.rows), options.rows),
            import_bodies("orders", build_orders(count), count),
        ]
        print(f"| floor: inserting customer rows with a cursor |  | {measure_floor(options.rows):,.0f} |  |  |")
    return int(not all(fine))


if __name__ == "__main__":
    sys.exit(main())
