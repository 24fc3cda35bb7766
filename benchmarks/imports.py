"""Measure imports and exports in objects per second: ``python -m benchmarks.imports --rows 20000``.

The command validates and imports customers, orders and products from JSON lines files into a new shop in the migrated
database of ``DATABASE_URL``, in one process, as a worker does, and exports all objects in all formats. With
``--tables``, the command also imports the exported CSV files and workbooks, each into a new shop. The floor is
inserting the same number of customer rows with a database cursor, in batches of 1,000. Rates per second of CPU time,
which are more stable on a busy machine, are in parentheses. The goals count rows as a CSV file has them: one for each
customer, line item or variant. A few objects are imported and exported first, because a
worker loads modules and builds statements only once.
"""

import argparse
import gc
import io
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from secrets import token_hex
from typing import IO

import django
import orjson

from benchmarks.scale import get_exit_code

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
AT_ONCE = 1_000
# The rows of an object in a CSV file.
ROWS_PER_OBJECT = {"customers": 1, "orders": 2, "products": 3}
# The goals in rows per second of CPU time.
MUST = {"customers": 1_000, "orders": 600, "products": 1_000}
MUST_EXPORT = 5_000
WARM_UP = 60


def build_customers(first: int, last: int) -> Iterator[dict[str, object]]:
    """Yield customers with an address, marketing consent and tags."""
    for number in range(first, last):
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


def build_orders(first: int, last: int) -> Iterator[dict[str, object]]:
    """Yield paid orders with two line items, for the same customers as ``build_customers``."""
    for number in range(first, last):
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


def build_products(first: int, last: int) -> Iterator[dict[str, object]]:
    """Yield products with three variants, tags and inventory."""
    for number in range(first, last):
        sizes = {
            size: {"option1": size, "sku": f"M{number}-{size}", "price": "12.50", "inventory_management": "platform"}
            for size in ("S", "M", "L")
        }
        yield {
            "product": {
                "title": f"Mug {number}",
                "handle": f"mug-{number}",
                "body_html": "<p>For tea</p>",
                "vendor": "Pottery",
                "tags": "blue, handmade",
                "options": [{"name": "Size"}],
                "variants": [variant | {"inventory_quantity": 5} for variant in sizes.values()],
            }
        }


BUILDERS = {"customers": build_customers, "orders": build_orders, "products": build_products}


def import_bodies(kind: str, bodies: Iterator[dict[str, object]]) -> dict[str, tuple[float, float]]:
    file = io.BytesIO(b"".join(orjson.dumps(body) + b"\n" for body in bodies))
    return import_file(kind, file, "in.jsonl")


def import_file(kind: str, file: IO[bytes], name: str) -> dict[str, tuple[float, float]]:
    """Validate and import a file; return the seconds and the CPU seconds of each step."""
    from django.utils import timezone

    from apps.imports_exports.domain import dry_run, imports, runner
    from apps.imports_exports.models import Import

    import_job = imports.save_upload(file, name, actor="system", at=timezone.now())
    seconds = {}
    for step, work in (("validated", dry_run.validate_file), ("imported", runner.run_import)):
        began, worked = time.monotonic(), time.process_time()
        with closing(work(import_job)) as outcomes:
            wrong = sum(outcome.result != "new" for _, outcome in outcomes)
        seconds[step] = time.monotonic() - began, time.process_time() - worked
        if wrong:
            raise SystemExit(f"{wrong} {kind} were not created.")
        Import.objects.filter(pk=import_job.pk, state=Import.State.CHECKED).update(state=Import.State.IMPORTING, done=0)
    return seconds


def export_all(kind: str, file_format: str, count: int) -> tuple[str, float, float]:
    """Export all objects of a kind; return the path of the file, the seconds and the CPU seconds."""
    from django.utils import timezone

    from apps.core.jobs import queue
    from apps.core.jobs.models import Job
    from apps.core.tenancy.models import User
    from apps.imports_exports.domain import exports

    user, _ = User.objects.get_or_create(email="owner@bench.example")
    export = exports.create_export(
        kind=kind, format=file_format, filters={}, user=user, actor="system", at=timezone.now()
    )
    job = Job.objects.get(task=exports.EXPORT, arguments__export_id=export.pk)
    began, worked = time.monotonic(), time.process_time()
    queue.run_job(job.key)
    seconds = time.monotonic() - began, time.process_time() - worked
    export.refresh_from_db()
    if (export.state, export.row_count) != (export.State.READY, count):
        raise SystemExit(f"The export of {kind} has {export.row_count} instead of {count} objects.")
    return export.path, *seconds


def import_table(kind: str, path: str) -> dict[str, tuple[float, float]]:
    """Import an exported table into a new shop."""
    from django.core.files.storage import default_storage

    from apps.core.tenancy.scope import shop_scope
    from tests.support.factories import make_shop

    form = path.rpartition(".")[2]
    with shop_scope(make_shop(domain=f"exchange-{token_hex(4)}.example")), default_storage.open(path) as file:
        return {f"{step} from {form}": seconds for step, seconds in import_file(kind, file, f"in.{form}").items()}


def measure_all(counts: dict[str, int], *, with_tables: bool) -> bool:
    """Import and export the objects; print the rates and return True if all rates reach their goals.

    The rates of tables are only printed.
    """
    print("| objects | step | objects per second (of CPU time) | rows per CPU second | goal |\n|---|---|---|---|---|")
    fine = True
    for kind, build in BUILDERS.items():
        import_bodies(kind, build(0, WARM_UP))
        # Freeze all loaded objects, as a worker does.
        gc.collect()
        gc.freeze()
        steps = import_bodies(kind, build(WARM_UP, WARM_UP + counts[kind]))
        for file_format in ("csv", "jsonl", "xlsx"):
            export_all(kind, file_format, WARM_UP + counts[kind])
            path, *seconds = export_all(kind, file_format, WARM_UP + counts[kind])
            steps[f"exported as {file_format}"] = seconds[0], seconds[1]
            if with_tables and file_format != "jsonl":
                steps |= import_table(kind, path)
        for step, (took, worked) in steps.items():
            is_table = "xlsx" in step or " from " in step
            must = 0 if is_table else MUST_EXPORT if step.startswith("exported") else MUST[kind]
            row_rate = counts[kind] * ROWS_PER_OBJECT[kind] / worked
            fine = fine and row_rate >= must
            rates = f"{counts[kind] / took:,.0f} ({counts[kind] / worked:,.0f})"
            goal = f"{must:,}" if must else ""
            print(f"| {kind}, {counts[kind]:,} | {step} | {rates} | {row_rate:,.0f} | {goal} |", flush=True)
        print(f"Peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB", flush=True)
    return fine


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
    parser.add_argument("--tables", action="store_true", help="also import CSV files and workbooks")
    options = parser.parse_args()
    django.setup()
    from apps.core.tenancy.scope import shop_scope
    from tests.support.factories import make_shop

    count = max(options.rows // 5, 1)
    with shop_scope(make_shop(domain=f"exchange-{token_hex(4)}.example")):
        counts = {"customers": options.rows, "orders": count, "products": count}
        fine = measure_all(counts, with_tables=options.tables)
        print(f"| floor: inserting customer rows with a cursor |  | {measure_floor(options.rows):,.0f} |  |  |")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak memory: {memory:,.0f} MB")
    return get_exit_code(not fine)


if __name__ == "__main__":
    sys.exit(main())
