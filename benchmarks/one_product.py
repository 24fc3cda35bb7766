"""Measure 16 concurrent writers to one product: ``python -m benchmarks.one_product [--rounds 5] [--seconds 4]``.

Clients on 16 connections adjust the inventory of one variant through two server processes, on PostgreSQL. The floor is
a transaction that only updates the inventory level, also over 16 connections. Both wait for the same row lock, so the
ratio shows how long the server processes keep the row locked.
"""

import argparse
import statistics
import tempfile
import threading
import time
from pathlib import Path

import psycopg

from benchmarks import databases, load, servers
from benchmarks.scale import scale
from benchmarks.variants import PREFIX
from tests.support.servers.ports import find_free_port

PATH = f"{PREFIX}inventory_levels/adjust.json"
ROWS = scale(1_000, least=100)


def create_item(client: load.Client) -> tuple[int, int]:
    """Create a product; return the ids of the variant's inventory item and of a location."""
    (location, *_) = client.get(f"{PREFIX}locations.json")["locations"]
    body = '{"product":{"title":"Mug","variants":[{"price":"5.00","inventory_management":"shopify"}]}}'
    (variant,) = client.post(f"{PREFIX}products.json", body)["product"]["variants"]
    return variant["inventory_item_id"], location["id"]


def measure_floor(url: str, item: int, seconds: float) -> float:
    """Return the number of transactions per second that only update the inventory level."""
    counts, until = [0] * load.CONNECTIONS, time.monotonic() + seconds

    def write(index: int) -> None:
        with psycopg.connect(url) as connection:
            while time.monotonic() < until:
                connection.execute(
                    "UPDATE inventory_inventorylevel SET available = available + 1 WHERE item_id = %s", [item]
                )
                connection.commit()
                counts[index] += 1

    threads = [threading.Thread(target=write, args=(index,)) for index in range(load.CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    load.require_wrk()
    with tempfile.TemporaryDirectory() as folder, databases.create_postgres(Path(folder)) as database:
        database.prepare(ROWS)
        url, port = database.environment["DATABASE_URL"], find_free_port()
        locations = f"{PREFIX}locations.json"
        with servers.run_server("one product", servers.OURS, port, database.environment, locations, database.token):
            client = load.Client(port, database.token)
            item, location = create_item(client)
            client.close()
            rates, floors, halves, ends = [], [], [], []
            for turn in range(options.rounds + 1):
                seconds = options.seconds if turn else min(options.seconds, 1)
                figures = load.run_load(port, "adjust", database.token, PATH, item, seconds, str(location))
                bare = measure_floor(url, item, seconds)
                if turn:
                    rates.append(figures.rate)
                    floors.append(bare)
                    halves.append(figures.p50)
                    ends.append(figures.p99)
    rate, bare = statistics.median(rates), statistics.median(floors)
    print("| 16 writers, one product | per second | p50 | p99 | ratio to the floor |\n|---|---|---|---|---|")
    print(f"| inventory changes | {rate:,.0f} | {statistics.median(halves):.0f} ms | {statistics.median(ends):.0f} ms |"
          f" {rate / bare:.2f} |\n| floor | {bare:,.0f} | | | |")  # fmt: skip


if __name__ == "__main__":
    main()
