"""Test a mixed load on several shops: no errors occur, and memory use does not grow. The measurements are printed.

See checks L2 and L4 in docs/reliability.md. By default, the test has the duration of this check and a hundredth of its
data. To change this, set ``SOAK_SECONDS``, ``SOAK_RATE``, ``SOAK_SHOPS``, ``SOAK_CUSTOMERS`` (per shop) and
``SOAK_ORDERS`` (in the first shop). ``SOAK_SAMPLES`` is a file for the samples taken during the test.
"""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection

from apps.core.tenancy.scope import all_shops_scope
from benchmarks.catalog_data import fill_orders, fill_products
from benchmarks.data import fill_customers
from benchmarks.servers import RunningServer
from tests.support import factories
from tests.support.servers.concurrent_clients import ApiRequest, RequestStatistics, send_at_rate
from tests.support.servers.live import LiveServer, get_database_url, run_server, stop_process
from tests.support.servers.process_monitor import ProcessMonitor
from tests.support.timing import SOAK_MARKS, scale_for_soak

pytestmark = SOAK_MARKS

RATE = float(os.environ.get("SOAK_RATE", "100"))
SHOPS = int(os.environ.get("SOAK_SHOPS", "10"))
CUSTOMERS = int(os.environ.get("SOAK_CUSTOMERS", "1000"))
ORDERS = int(os.environ.get("SOAK_ORDERS", "500"))
GOODS = 500
ORDER = {"line_items": [{"title": "Mug", "price": "10.00", "quantity": 2}], "note": "x"}
READS = (
    *("customers.json?limit=50", "customers/{id}.json", "customers/search.json?query=state:enabled"),
    *("products.json?limit=50", "orders.json?limit=50", "orders/count.json", "shop.json", "script_tags.json"),
)


class LoadedServer:
    def __init__(self, server: LiveServer, tokens: list[str]) -> None:
        self.server, self.tokens = server, tokens

    def run(self, rate: float, seconds: float, fates: RequestStatistics | None = None) -> RequestStatistics:
        callers = max(4, int(rate / 4))
        port, tokens = self.server.port, self.tokens
        return send_at_rate(port, tokens, self._choose, rate=rate, seconds=seconds, callers=callers, fates=fates)

    def memory(self) -> float:
        return RunningServer("soak", self.server.port, self.server.process, 0).memory()

    @staticmethod
    def _choose(shop_index: int, chance: random.Random) -> ApiRequest:
        """Choose a random request for this shop. Nine in ten requests are reads."""
        customer_index = shop_index * CUSTOMERS + chance.randint(1, CUSTOMERS)
        if chance.random() < 0.9:
            return ApiRequest("GET", chance.choice(READS).format(id=customer_index))
        word = f"{chance.getrandbits(60):x}"
        return chance.choice(
            [
                ApiRequest("POST", "customers.json", {"customer": {"email": f"soak-{word}@example.com"}}),
                ApiRequest("POST", "orders.json", {"order": ORDER}),
                ApiRequest("POST", "products.json", {"product": {"title": "Mug", "variants": [{"price": "10.00"}]}}),
                ApiRequest("PUT", f"customers/{customer_index}.json", {"customer": {"note": word}}),
            ]
        )


@pytest.fixture
def loaded_server(transactional_db: None, tmp_path: Path) -> Iterator[LoadedServer]:
    tokens = []
    for number in range(SHOPS):
        shop = factories.make_shop(domain=f"soak-{number}.example", name=f"Soak {number}")
        tokens.append(factories.make_token(factories.make_installation(shop, factories.ALL_SCOPES)))
        with all_shops_scope():
            fill_customers(shop.pk, number * CUSTOMERS + 1, (number + 1) * CUSTOMERS)
            if number == 0:
                fill_products(shop.pk, GOODS)
                fill_orders(shop.pk, ORDERS, products=GOODS, customers=CUSTOMERS)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    # With a small render cache, the cache is full before the measurement begins.
    with run_server(get_database_url(), tmp_path, WEB_PROCESSES="2", BACKOFFICE_RENDER_CACHE_MB="4") as server:
        yield LoadedServer(server, tokens)


Printed = Callable[[str], None]


@pytest.fixture
def print_line(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Return a function that prints a line even though pytest captures the output."""

    def show(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")  # noqa: T201

    return show


def test_mixed_load_is_answered_without_an_error(loaded_server: LoadedServer, print_line: Printed) -> None:
    seconds = float(os.environ.get("SOAK_SECONDS") or scale_for_soak(600))
    loaded_server.run(rate=20, seconds=5)

    fates = loaded_server.run(RATE, seconds)

    rate = len(fates.seconds) / seconds
    print_line(
        f"{len(fates.seconds)} answers, {rate:.0f} per second, {SHOPS} shops, {SHOPS * CUSTOMERS} customers: "
        f"p50 {fates.percentile(50):.0f}, p95 {fates.percentile(95):.0f}, p99 {fates.percentile(99):.0f} ms, "
        f"statuses {dict(fates.statuses)}"
    )
    assert fates.broken == []
    assert set(fates.statuses) == {200, 201}
    assert fates.percentile(95) < float(os.environ.get("SOAK_P95_MS", "300"))
    assert fates.percentile(99) < float(os.environ.get("SOAK_P99_MS", "800"))


def test_memory_and_connections_stay_where_they_are(loaded_server: LoadedServer, print_line: Printed) -> None:
    seconds = float(os.environ.get("SOAK_SECONDS") or scale_for_soak(3600))
    processes = [loaded_server.server.start(f"backoffice.entrypoints.{name}") for name in ("worker", "scheduler")]
    # Warm up the caches.
    loaded_server.run(RATE / 2, seconds / 10)

    answered = RequestStatistics()
    with ProcessMonitor(
        loaded_server.memory, [process.pid for process in processes], answered.count, every=seconds / 60
    ) as watch:
        loaded_server.run(RATE / 2, seconds, answered)
    for process in processes:
        stop_process(process)

    (web, web_late), (rest, rest_late) = watch.means("web"), watch.means("others")
    connections, waiting = watch.highest("connections"), watch.highest("waiting")
    print_line(
        f"{seconds:.0f} seconds at {RATE / 2:.0f} per second, {answered.count()} answers {dict(answered.statuses)}: "
        f"web {web:.1f} and {web_late:.1f} MB ({web_late / web - 1:+.1%}), other processes {rest:.1f} and "
        f"{rest_late:.1f} MB ({rest_late / rest - 1:+.1%}), at most {connections[0]} connections in the first half "
        f"and {connections[1]} in the second, at most {waiting[0]} and {waiting[1]} things waiting"
    )
    assert answered.broken == []
    assert set(answered.statuses) == {200, 201}
    assert web_late < web * 1.1
    assert rest_late < rest * 1.1
    assert connections[1] <= connections[0] + 1
    assert waiting[1] <= waiting[0] + 20
