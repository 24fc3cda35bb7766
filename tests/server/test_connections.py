"""Tests for the life of a connection: clients that send nothing, read nothing, or send too many requests at once."""

import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.server.conftest import RunningServer, read_all, run_small_server
from tests.support.servers.application import BIG
from tests.support.timing import get_time_limit, wait_until

pytestmark = pytest.mark.slow

IMPATIENT = "-c", "python:tests.support.servers.impatient_config"
HOST = b"Host: x\r\n"
HALF_HEAD = b"GET /pid HTTP/1.1\r\nHos"
SILENT_BODY = b"POST /echo HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\n{"

impatient = pytest.mark.parametrize("running", [(1, *IMPATIENT)], indirect=True, ids=["short time limits"])


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """Share a server between tests, because no test stops it."""
    with run_small_server(*getattr(request, "param", ())) as server:
        yield server


def get(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def test_a_thousand_silent_clients_occupy_no_thread(running: RunningServer) -> None:
    for request in (HALF_HEAD, SILENT_BODY):
        for _ in range(500):
            running.connect(request)

    alive = []
    for _ in range(20):
        began = time.monotonic()
        assert running.get("/healthz")[0] == 200
        alive.append(time.monotonic() - began)
    assert running.get("/pid")[0] == 200
    assert statistics.median(alive) < get_time_limit(0.1)


@impatient
@pytest.mark.parametrize(
    ("request_bytes", "response"), [(b"", b""), (HALF_HEAD, b"HTTP/1.1 408"), (SILENT_BODY, b"HTTP/1.1 408")]
)
def test_unfinished_requests_end(running: RunningServer, request_bytes: bytes, response: bytes) -> None:
    connection = running.connect(request_bytes)

    assert read_all(connection)[:12] == response


@impatient
def test_an_unfinished_pipelined_request_ends(running: RunningServer) -> None:
    connection = running.connect(get("/pid") + HALF_HEAD)

    content = read_all(connection)

    assert content.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"HTTP/1.1 408 Request Timeout\r\n" in content


@impatient
def test_an_unfinished_second_request_ends(running: RunningServer) -> None:
    connection = running.connect(get("/pid"))
    assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")

    connection.sendall(HALF_HEAD)

    assert read_all(connection).startswith(b"HTTP/1.1 408 Request Timeout\r\n")


@impatient
def test_the_connection_of_a_client_that_reads_nothing_ends(running: RunningServer) -> None:
    connection = running.connect(get("/big"))
    received = len(connection.recv(100))

    time.sleep(4)
    with suppress(ConnectionError):
        received += len(read_all(connection))

    assert received < BIG


def test_a_connection_ends_if_the_client_closes_its_side_during_the_response(running: RunningServer) -> None:
    connection = running.connect(get("/big"))
    received = len(connection.recv(100))

    connection.shutdown(socket.SHUT_WR)

    assert received + len(read_all(connection)) > BIG


@pytest.mark.parametrize("path", ["/pid", "/page"])
def test_a_client_that_never_reads_costs_little_memory(running: RunningServer, path: str) -> None:
    assert running.get(path)[0] == 200
    before = running.memory()
    connection = running.connect(b"")
    connection.setblocking(False)

    sent, requests = 0, get(path) * 3_000
    until = time.monotonic() + get_time_limit(3)
    while sent < len(requests) and time.monotonic() < until:
        try:
            sent += connection.send(requests[sent:])
        except BlockingIOError:
            time.sleep(0.05)

    assert running.get(path)[0] == 200
    assert running.memory() - before < 20 * 1024 * 1024


@pytest.mark.parametrize("first", [b"", get("/slow?0.2")], ids=["first request", "pipelined request"])
def test_a_head_that_never_ends_is_refused(running: RunningServer, first: bytes) -> None:
    line = b"X-Long: " + b"x" * 4_000 + b"\r\n"
    connection = running.connect(first + b"GET /pid HTTP/1.1\r\n" + HOST + line * 15)

    # The head has 60 KB now, and the server closes the connection after 64 KiB.
    connection.sendall(line * 2)

    assert b"HTTP/1.1 431 " in read_all(connection)


@pytest.mark.parametrize("protocol", ["h2c", "TLS/1.3", "websocket"])
def test_an_offered_upgrade_is_ignored(running: RunningServer, protocol: str) -> None:
    lines = ["Connection: Upgrade, HTTP2-Settings", f"Upgrade: {protocol}", "HTTP2-Settings: AAMAAABkAARAAAAA"]
    connection = running.connect(b"")
    for _ in range(3):
        connection.sendall(get("/pid", *lines))
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("first", ["/pid", "/slow?0.5"])
def test_a_thousand_requests_in_a_row_are_answered(running: RunningServer, first: str) -> None:
    connection = running.connect(get(first) + get("/pid") * 999 + get("/fails", "Connection: close"))

    content = read_all(connection)

    assert content.count(b"HTTP/1.1 200 OK\r\n") == 1_000
    assert content.count(b"HTTP/1.1 500 Internal Server Error\r\n") == 1


@impatient
def test_a_process_that_hangs_is_replaced(running: RunningServer) -> None:
    hung = running.children()
    running.connect(get("/block"))

    wait_until(lambda: running.children() and running.children() != hung, bool, seconds=20)

    assert running.get("/pid")[1] != str(hung[0]).encode()
