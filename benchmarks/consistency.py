"""Measure ``manage.py check_money`` with a big shop: ``python -m benchmarks.consistency --orders 1000000``.

The command needs a migrated PostgreSQL database in ``DATABASE_URL``. If the database has no orders, the command creates
paid orders (``benchmarks.paid_orders``). It prints the duration and the memory usage of each check, and the number of
differences, which must be zero.
"""

import argparse
import os
import resource
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")


def run_checks() -> int:
    """Run the checks one after the other; return the number of differences."""
    from apps.core.jobs import consistency_checks
    from apps.refunds.management.commands.check_money import MONEY_CHECKS

    print("| check | seconds | CPU seconds of Python | peak memory | differences |\n|---|---|---|---|---|")
    now, count = time.monotonic(), 0
    for name in MONEY_CHECKS:
        began, worked = time.monotonic(), time.process_time()
        differences = sum(1 for _ in consistency_checks.find_differences([name]))
        count += differences
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        seconds, own = time.monotonic() - began, time.process_time() - worked
        print(f"| {name} | {seconds:.1f} | {own:.1f} | {memory:,.0f} MB | {differences} |", flush=True)
    print(f"| all | {time.monotonic() - now:.1f} |  |  | {count} |")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=1_000_000)
    options = parser.parse_args()
    django.setup()
    from apps.core.tenancy.scope import all_shops_scope
    from apps.orders.models import Order
    from benchmarks.paid_orders import fill_paid_orders

    with all_shops_scope():
        is_empty = not Order.objects.exists()
    if is_empty:
        began = time.monotonic()
        fill_paid_orders(options.orders)
        print(f"Filled in {time.monotonic() - began:.0f} s.", flush=True)
    return int(run_checks() > 0)


if __name__ == "__main__":
    sys.exit(main())
