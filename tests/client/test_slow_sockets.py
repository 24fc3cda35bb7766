"""Tests for clients that open a connection and stop sending: other clients must not wait for them.

See checks B7 and L7 in docs/reliability.md.
"""

import http.client
import socket
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from apps.shops.models import Shop
from tests import factories
from tests.client.conftest import LiveServer
from tests.timing import scale_for_soak

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

HOST = b"Host: 127.0.0.1\r\n"
# Incomplete requests: partial bodies of different lengths, a partial header, and no data.
KINDS = {
    "body": b"POST /admin/api/2026-07/script_tags.json HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\n{",
    "form": b"POST /accounts/login/ HTTP/1.1\r\n" + HOST + b"Content-Length: 60000\r\n\r\nx",
    "large": b"POST /admin/api/2026-07/products.json HTTP/1.1\r\nX-Shopify-Access-Token: bko_x\r\n"
    + HOST
    + b"Content-Length: 59000000\r\n\r\n{",
    "head": b"GET /healthz HTTP/1.1\r\nHos",
    "nothing": b"",
}


def get_child_pids(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def measure_response(server: LiveServer, path: str, token: str = "") -> float:
    """Send a request over a new connection and return the seconds until the response.

    Raises:
        AssertionError: If the status is not 200.
    """
    began = time.monotonic()
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    client.request("GET", path, headers={"X-Shopify-Access-Token": token})
    assert client.getresponse().status == 200
    client.close()
    return time.monotonic() - began


def check_other_clients(server: LiveServer, token: str, sockets: int, seconds: float) -> None:
    """Open silent sockets, and check that other requests succeed for the given time."""
    # Wait for a first response: the socket accepts connections before the web process is forked.
    measure_response(server, "/healthz")
    before = get_child_pids(server.process.pid)
    with ExitStack() as opened:
        silent: dict[str, list[socket.socket]] = {kind: [] for kind in KINDS}
        for number in range(sockets):
            kind = list(KINDS)[number % len(KINDS)]
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            connection.sendall(KINDS[kind])
            silent[kind].append(connection)

        alive: list[float] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            alive.append(measure_response(server, "/healthz"))
            measure_response(server, "/admin/api/2026-07/shop.json", token)
            time.sleep(0.1)

        replies = {kind: {connection.recv(12) for connection in waiting} for kind, waiting in silent.items()}
    timeout = {b"HTTP/1.1 408"}
    assert replies == {"body": timeout, "form": timeout, "large": timeout, "head": timeout, "nothing": {b""}}
    assert statistics.median(alive) < 0.1
    assert statistics.quantiles(alive, n=20)[-1] < 0.5
    assert get_child_pids(server.process.pid) == before


def test_silent_clients_do_not_block_others(server: LiveServer, server_shop: Shop) -> None:
    token = factories.make_token(factories.make_installation(server_shop))

    check_other_clients(server, token, sockets=60, seconds=13)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_five_hundred_silent_clients_do_not_block_others_for_five_minutes(
    server: LiveServer, server_shop: Shop
) -> None:
    token = factories.make_token(factories.make_installation(server_shop))

    check_other_clients(server, token, sockets=500, seconds=scale_for_soak(300))


@pytest.mark.soak
def test_a_body_that_drips_ends_within_half_a_minute(server: LiveServer, server_shop: Shop) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=1) as connection:
        connection.sendall(KINDS["large"])
        began = time.monotonic()
        content = b""
        while not content and time.monotonic() - began < 60:
            connection.sendall(b" ")
            try:
                content = connection.recv(1000)
            except TimeoutError:
                continue

    assert content.startswith(b"HTTP/1.1 408 ")
    assert 28 < time.monotonic() - began < 33
