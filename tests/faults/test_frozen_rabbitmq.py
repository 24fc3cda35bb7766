"""A test with a RabbitMQ server that is frozen: it accepts connections, but does not respond."""

import statistics
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.celery import CONNECT_SECONDS
from tests.faults.test_frozen_redis import FROZEN_SECONDS, ORDER, USUAL_SECONDS, WRITERS, write_orders
from tests.support import services
from tests.support.servers.freezable_proxy import FreezableProxy
from tests.support.servers.live import LiveServer
from tests.support.servers.timed_client import ServerClient, Start
from tests.support.timing import get_time_limit

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("allow_loopback")]


@pytest.fixture
def proxy() -> Iterator[FreezableProxy]:
    url = urlsplit(services.require_service("RabbitMQ", services.get_rabbitmq_url()))
    with FreezableProxy(url.port or 5672) as proxy:
        yield proxy


@pytest.fixture
def server(proxy: FreezableProxy, start_server: Start) -> LiveServer:
    url = urlsplit(services.get_rabbitmq_url() or "")
    address = f"{url.username}:{url.password}@127.0.0.1:{proxy.port}"
    return start_server(BROKER_URL=f"amqp://{address}{url.path}", BACKOFFICE_RATE_LIMIT="off", WEB_THREADS=str(WRITERS))


def test_writes_continue_while_rabbitmq_is_frozen(server: LiveServer, shop: Shop, proxy: FreezableProxy) -> None:
    call = ServerClient(server, shop)
    # The first write imports Celery and opens a connection.
    first = call("orders.json", ORDER)
    usual = write_orders(call, USUAL_SECONDS)
    proxy.freeze()
    frozen = write_orders(call, FROZEN_SECONDS)
    proxy.thaw()
    usual += [*write_orders(call, USUAL_SECONDS), call("orders.json", ORDER)]

    responses = [first, *frozen, *usual]
    assert {response.status for response in responses} == {201}
    # The rest is the time that a write takes on this machine at this load.
    slowest_usual = max(response.seconds for response in usual)
    # Each thread can wait for its open connection once. After that, the circuit breaker keeps writes from waiting.
    waits = sorted(response.seconds for response in frozen)
    assert statistics.median(waits) < CONNECT_SECONDS + slowest_usual
    assert waits[-WRITERS - 1] < CONNECT_SECONDS + max(2 * slowest_usual, get_time_limit(1))
    assert waits[-1] < 10 * CONNECT_SECONDS
    with shop_scope(shop):
        assert Event.objects.filter(topic="orders/create").count() == len(responses)
        receipts = Job.objects.filter(task="orders.send_receipt")
        assert receipts.count() == len(responses)
        # Jobs without a message wait in the database until the next sweep.
        assert receipts.filter(state=Job.State.WAITING, rung_at=None).exists()
        assert receipts.exclude(rung_at=None).exists()
