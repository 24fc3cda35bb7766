import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from django.db import connection

from apps.core.db.postgresql.connections import GRACE_SECONDS
from apps.core.tenancy.models import Shop
from tests.support import services
from tests.support.databases.proxy import Fault, Proxy
from tests.support.servers.live import LiveServer, get_database_url
from tests.support.servers.timed_client import TAG, ServerClient, Start, TimedResponse
from tests.support.timing import get_time_limit

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

THREADS = 2
STATEMENT_SECONDS = 3
# A request waits until at most one statement has timed out. The additional seconds allow for a slow machine.
LIMIT_SECONDS = STATEMENT_SECONDS + 1 + GRACE_SECONDS + 16


def run_database_proxy() -> AbstractContextManager[Proxy]:
    return Proxy(int(connection.settings_dict["PORT"] or 5432)).running()


@pytest.fixture
def database() -> Iterator[Proxy]:
    with run_database_proxy() as proxy:
        yield proxy


@pytest.fixture(scope="module")
def server_with_timeout(
    transactional_db: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LiveServer, Proxy]]:
    with run_database_proxy() as proxy:
        server = LiveServer(
            get_proxied_url(proxy, get_database_url()),
            tmp_path_factory.mktemp("limited"),
            WEB_THREADS=str(THREADS),
            BACKOFFICE_STATEMENT_TIMEOUT_MS=str(STATEMENT_SECONDS * 1000),
        )
        server.wait()
        yield server, proxy
        server.stop()


@pytest.fixture
def redis_proxy() -> Iterator[Proxy]:
    url = services.require_service("Redis", services.get_redis_url())
    with Proxy(urlsplit(url).port or 6379).running() as proxy:
        yield proxy


def get_proxied_url(proxy: Proxy, url: str) -> str:
    parts = urlsplit(url)
    login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return parts._replace(netloc=f"{login}127.0.0.1:{proxy.port}").geturl()


def send_unauthenticated(server: LiveServer, path: str) -> TimedResponse:
    began = time.monotonic()
    try:
        with urlopen(f"{server.url}{path}", timeout=60) as response:
            return TimedResponse(response.status, time.monotonic() - began, response.headers)
    except HTTPError as error:
        return TimedResponse(error.code, time.monotonic() - began, error.headers)


def wait_for_recovery(call: ServerClient) -> bool:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if (call("script_tags.json").status, call("script_tags.json", TAG).status) == (200, 201):
            return True
        time.sleep(0.2)
    return False


@pytest.mark.parametrize("fault", [Fault.SLOW, Fault.RESET, Fault.SILENT, Fault.NARROW])
def test_threads_wait_within_the_limit(server_with_timeout: tuple[LiveServer, Proxy], shop: Shop, fault: Fault) -> None:
    server, database = server_with_timeout
    call = ServerClient(server, shop)
    assert {call("script_tags.json").status for _ in range(4)} == {200}
    database.suffer(fault)

    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(call, "script_tags.json") for _ in range(THREADS)]
        time.sleep(0.5)
        alive = send_unauthenticated(server, "/healthz")
        responses = [future.result() for future in futures]
    ready = send_unauthenticated(server, "/readyz")
    database.heal()

    assert alive.status == 200
    assert alive.seconds < get_time_limit(2)
    if fault in {Fault.RESET, Fault.SILENT}:
        assert {response.status for response in responses} == {503}
        assert all(response.headers["Retry-After"] for response in responses)
        assert ready.status == 503
    else:
        assert {response.status for response in responses} <= {200, 503}
    assert max(response.seconds for response in [*responses, ready]) < LIMIT_SECONDS
    assert wait_for_recovery(call)


def test_a_thread_waits_for_the_database_without_the_limit(start_server: Start, shop: Shop, database: Proxy) -> None:
    """Show what goes wrong without the limit: the thread waits until the network stack reports the lost connection."""
    server = start_server(
        get_proxied_url(database, get_database_url()), WEB_THREADS="1", BACKOFFICE_STATEMENT_TIMEOUT_MS="0"
    )
    call = ServerClient(server, shop)
    assert call("script_tags.json").status == 200
    database.suffer(Fault.SILENT)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call, "script_tags.json")
        time.sleep(STATEMENT_SECONDS + GRACE_SECONDS + 3)
        waits = not future.done()
        database.heal()
        status = future.result().status

    assert waits
    # The server may retry the statement over a new connection.
    assert status in {200, 503}
    assert wait_for_recovery(call)


@pytest.mark.parametrize("fault", [Fault.SLOW, Fault.RESET, Fault.SILENT, Fault.NARROW])
def test_requests_survive_cache_and_broker_faults(
    start_server: Start, shop: Shop, redis_proxy: Proxy, fault: Fault
) -> None:
    url = get_proxied_url(redis_proxy, services.get_redis_url() or "")
    server = start_server(WEB_THREADS=str(THREADS), CACHE_URL=url, BROKER_URL=url, BACKOFFICE_RATE_LIMIT="on")
    call = ServerClient(server, shop)
    assert call("script_tags.json", TAG).status == 201
    redis_proxy.suffer(fault)

    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(call, "script_tags.json", body) for body in (None, TAG)]
        time.sleep(0.2)
        alive = send_unauthenticated(server, "/healthz")
        responses = [future.result() for future in futures]
    ready = send_unauthenticated(server, "/readyz")
    redis_proxy.heal()

    assert (alive.status, alive.seconds < get_time_limit(2)) == (200, True)
    assert [response.status for response in responses] == [200, 201]
    assert max(response.seconds for response in [*responses, ready]) < LIMIT_SECONDS
    assert wait_for_recovery(call)
