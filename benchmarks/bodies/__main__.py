"""Print the CPU time for the largest body of each writing route.

The command creates a shop in the migrated database of ``DATABASE_URL`` and sends the requests within this process,
without a server. The time is measured from the bytes of the request to the bytes of the response. Requests that take
more than one second of CPU time are marked. The exit code is 1 if a request is marked or a writing route is missing.
"""

import gc
import os
import sys
import time

from benchmarks.bodies.runner import MOST_SECONDS, ROOT, Bench
from benchmarks.bodies.shop_data import BenchRows
from benchmarks.scale import get_exit_code, scale

ROUNDS = scale(3, least=1)


def measure_all(rounds: int) -> Bench:
    """Send all requests in several rounds."""
    from benchmarks.bodies import apps, catalog, content, customers, documents, fulfillment, metafields, orders, samples

    bench, goods = open_bench()
    small_routes: list[str] = []
    for number in range(rounds):
        owners = catalog.send_catalog(bench, goods)
        owners |= customers.send_customers(bench, number)
        owners |= orders.send_orders(bench, goods)
        owners |= orders.send_draft_orders(bench, goods)
        owners |= content.send_content(bench, goods)
        metafields.send_metafields(bench, owners, number)
        apps.send_apps(bench, number)
        fulfillment.send_fulfillment(bench, goods, number)
        documents.send_documents(bench, goods, number)
        small_routes = small_routes or samples.list_small_routes(bench)
        samples.send_samples(bench, goods, small_routes)
        bench.end_round()
    return bench


def open_bench() -> tuple[Bench, BenchRows]:
    """Create a shop with data, and return a bench for the shop."""
    from django.utils import timezone

    from apps.shops.domain import shop_creation
    from benchmarks.bodies.shop_data import create_client, stock_shop

    now = timezone.now()
    domain = f"bodies-{time.time_ns()}.example"
    shop = shop_creation.create_shop(domain=domain, name="Bodies", email="a@bench.example", actor="system", at=now)
    bench = Bench(create_client(shop, "Bench"))
    bench.client.get(f"{ROOT}/shop.json")
    goods = stock_shop(shop)
    # Freeze all loaded objects, as the server does.
    gc.collect()
    gc.freeze()
    return bench, goods


def main() -> int:
    """Measure all requests and print the results."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    os.environ["BACKOFFICE_RATE_LIMIT"] = "off"
    django.setup()
    bench = measure_all(ROUNDS)
    print("| request | body | CPU seconds | statements | |\n|---|---|---|---|---|")
    for name, first in bench.least.items():
        mark = "" if first.seconds <= MOST_SECONDS else "too slow"
        print(f"| {name} | {first.size / 1024:,.0f} KB | {first.seconds:.2f} | {first.statements:,} | {mark} |")
    floors = ", ".join(f"{seconds:.3f}" for seconds in bench.floors)
    print(f"\nReference work in each round, to compare machines: {floors} s.")
    print("".join(f"Not measured: {route}\n" for route in bench.missing()), end="")
    is_slow = any(first.seconds > MOST_SECONDS for first in bench.least.values())
    return int(bool(bench.missing())) or get_exit_code(is_slow)


if __name__ == "__main__":
    sys.exit(main())
