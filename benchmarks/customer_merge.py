"""Measure merging two customers with many orders, and how long each batch keeps rows locked.

The command needs a separate migrated database: ``python -m benchmarks.customer_merge --orders 100000``.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import django


def main() -> None:
    """Create the data, merge the customers, and print the duration of the merge and of the transactions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=20_000)
    number: int = parser.parse_args().orders
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    django.setup()
    from django.core.management import call_command

    from apps.core.tenancy.models import Shop
    from apps.core.tenancy.scope import shop_scope

    domain = f"merging-{time.time_ns()}.example"
    call_command("create_shop", domain)
    with shop_scope(Shop.objects.get(domain=domain)):
        _measure(number)


def _measure(number: int) -> None:
    from django.utils import timezone

    from apps.core.db import planner_statistics
    from apps.core.jobs import queue
    from apps.core.jobs.models import Job
    from apps.customers.domain import merge
    from apps.customers.domain.customers import create_customer
    from apps.customers.models import Customer

    _fill(number)
    other = Customer.objects.get()
    keep = create_customer({"email": "bo@example.com"}, actor="system", at=timezone.now())
    planner_statistics.refresh_statistics()
    took: list[tuple[float, int]] = []
    merge._move_next = _watched(merge._move_next, took)
    merge._merge = _watched(merge._merge, took)
    before, began, worked = _memory(), time.monotonic(), time.process_time()
    assert not merge.merge_customers(keep, other, {}, actor="system", at=timezone.now())
    job = Job.objects.get(task=merge.MERGE_TASK)
    queue.run_job(job.key)
    seconds, own = time.monotonic() - began, time.process_time() - worked
    job.refresh_from_db()
    keep.refresh_from_db()
    assert (job.state, keep.orders_count) == (Job.State.DONE, number), job.error
    print(f"merged: {number} orders in {seconds:.1f} s ({own:.1f} s of CPU time in this process)")
    print(f"memory: {before} MB before, peak {_memory()} MB")
    batches = sorted(duration for duration, _ in took[:-1])
    counts = [statements for _, statements in took[:-1]]
    median, longest = (batches[int(part * (len(batches) - 1))] for part in (0.5, 1))
    print(
        f"{len(batches)} batches of {min(counts)} to {max(counts)} statements: median {median:.3f} s, "
        f"maximum {longest:.3f} s"
    )
    print(f"last transaction: {took[-1][1]} statements, {took[-1][0]:.3f} s")


def _fill(number: int) -> None:
    """Create a customer with an order, copy the order, and set the customer's totals."""
    from decimal import Decimal

    from django.db import connection, transaction
    from django.utils import timezone

    from apps.orders.domain import customer_totals
    from apps.orders.domain.create import orders
    from apps.orders.domain.create.drafts import OrderParts
    from apps.orders.models import Order

    parts = OrderParts(lines=[{"title": "Mug", "price": Decimal(10), "quantity": 1}])
    order = orders.create_order({"email": "ada@example.com"}, parts, actor="system", at=timezone.now())
    differing = {
        "id": "made.id + n",
        "number": "made.number + n",
        "name": "'C' || n",
        "token": "md5('token' || made.id || n)",
        "version": "made.version + n",
    }
    names = [str(field.column) for field in Order._meta.concrete_fields]
    values = ", ".join(differing.get(name, f"made.{name}") for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO orders_order ({', '.join(names)}) "
            f"SELECT {values} FROM orders_order made, generate_series(1, %s) n WHERE made.id = %s",
            [number - 1, order.pk],
        )
        cursor.execute("SELECT setval(pg_get_serial_sequence('orders_order', 'id'), max(id)) FROM orders_order")
    assert order.customer_id is not None
    with transaction.atomic():
        customer_totals.recount_customer_orders(order.customer_id, actor="system", at=timezone.now())


def _memory() -> int:
    """Return the peak memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _watched(work: Callable[..., Any], took: list[tuple[float, int]]) -> Callable[..., Any]:
    """Wrap a function to record its number of statements and the seconds until the commit releases the locks."""
    from django.db import connection

    def watched(*arguments: Any, **kwargs: Any) -> Any:
        connection.force_debug_cursor = True
        connection.queries_log.clear()
        began = time.monotonic()
        try:
            return work(*arguments, **kwargs)
        finally:
            took.append((time.monotonic() - began, len(connection.queries_log)))
            connection.force_debug_cursor = False

    return watched


if __name__ == "__main__":
    main()
