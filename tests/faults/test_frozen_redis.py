"""Tests with a Redis server that is frozen: it accepts connections, but does not respond."""

import json
import os
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apps.core.cache.redis_client import TIMEOUTS
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.webhook_receiver import WebhookReceiver
from backoffice.celery import REDIS_TIMEOUTS
from tests.support import factories, services
from tests.support.servers.live import WORKER, LiveServer
from tests.support.servers.ports import find_free_port
from tests.support.servers.timed_client import ServerClient, Start, TimedResponse
from tests.support.timing import get_time_limit, wait_until
from tests.support.webhooks import make_subscription

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("allow_loopback")]

# Longer than the pause of the broker's circuit breaker.
FROZEN_SECONDS = 7.0
USUAL_SECONDS = 4.0
# A write waits at most once for the cache and once for the broker.
LONGEST_WAIT = TIMEOUTS["socket_timeout"] + REDIS_TIMEOUTS["socket_timeout"]
WRITERS = 3
ORDER = {
    "order": {
        "email": "a@b.example",
        "send_receipt": True,
        "line_items": [{"title": "Mug", "price": "10.00", "quantity": 1}],
    }
}


class FreezableRedis:
    def __init__(self, program: str, folder: Path) -> None:
        self.port = find_free_port()
        options = ["--port", str(self.port), "--save", "", "--appendonly", "no", "--dir", str(folder)]
        self.process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        wait_until(lambda: services.is_listening(self.port), bool)

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[FreezableRedis]:
    program = services.require_service("Redis", shutil.which("redis-server"))
    server = FreezableRedis(program, tmp_path)
    yield server
    server.process.kill()
    server.process.wait(30)


@pytest.fixture
def server(redis: FreezableRedis, start_server: Start) -> LiveServer:
    url = f"redis://127.0.0.1:{redis.port}"
    return start_server(
        CACHE_URL=f"{url}/0",
        BROKER_URL=f"{url}/1",
        BACKOFFICE_RATE_LIMIT="on",
        BACKOFFICE_RATE_LIMIT_BURST="10000",
        WEB_THREADS=str(WRITERS),
        EMAIL_URL="dummymail://",
    )


def get_used_calls(response: TimedResponse) -> int:
    return int(response.headers["X-Shopify-Shop-Api-Call-Limit"].partition("/")[0])


def count_orders(receiver: WebhookReceiver) -> int:
    return len({json.loads(request.body)["id"] for request in receiver.requests})


def write_orders(call: ServerClient, seconds: float) -> list[TimedResponse]:
    """Create orders with all writers for some seconds, and return the responses."""
    until = time.monotonic() + seconds

    def write_until() -> list[TimedResponse]:
        written = []
        while time.monotonic() < until:
            written.append(call("orders.json", ORDER))
            time.sleep(0.25)
        return written

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write_until) for _ in range(WRITERS)]
        return [response for writer in writers for response in writer.result()]


def test_writes_continue_while_redis_is_frozen(server: LiveServer, shop: Shop, redis: FreezableRedis) -> None:
    server.start("celery", *WORKER)
    server.start("celery", "-A", "backoffice.celery", "beat")
    call = ServerClient(server, shop)
    with WebhookReceiver() as receiver, shop_scope(shop):
        make_subscription(factories.make_installation(shop), receiver.url, topic="orders/create")
        responses = [call("orders.json", ORDER) for _ in range(3)]
        usual = write_orders(call, USUAL_SECONDS)
        responses += usual
        wait_until(lambda: count_orders(receiver), len(responses).__eq__, seconds=60)
        redis.freeze()
        frozen = write_orders(call, FROZEN_SECONDS)
        redis.thaw()
        # The rate limit counts again as soon as the circuit breaker has closed.
        wait_until(lambda: get_used_calls(call("shop.json")), (1).__lt__, seconds=10)

        usual_again = write_orders(call, USUAL_SECONDS)
        usual += usual_again
        responses += frozen + usual_again
        expected = len(responses)
        wait_until(lambda: count_orders(receiver), expected.__eq__, seconds=90)
        receipts = Job.objects.filter(task="orders.send_receipt")
        wait_until(lambda: receipts.filter(state=Job.State.DONE).count(), expected.__eq__, seconds=90)

    assert {response.status for response in responses} == {201}
    # The rest is the time that a write takes on this machine at this load.
    slowest_usual = max(response.seconds for response in usual)
    waits = [response.seconds for response in frozen]
    assert LONGEST_WAIT < 0.5
    assert statistics.median(waits) < LONGEST_WAIT + slowest_usual
    assert max(waits) < LONGEST_WAIT + max(2 * slowest_usual, get_time_limit(1))
