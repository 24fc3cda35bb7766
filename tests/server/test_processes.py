"""Tests for the server's processes with a small application: kills, stops, overload and slow clients."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.servers.application import BIG
from tests.support.servers.live import find_free_port, stop_process
from tests.support.timing import get_time_limit, wait_until

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "tests.support.servers.application"]


def build_environment(port: int, size: int) -> dict[str, str]:
    return {**os.environ, "PORT": str(port), "WEB_PROCESSES": str(size), "WEB_THREADS": str(size)}


class RunningServer:
    def __init__(self, size: int) -> None:
        self.opened = ExitStack()
        self.port = find_free_port()
        environment = build_environment(self.port, size)
        self.process = subprocess.Popen(COMMAND, cwd=settings.BASE_DIR, env=environment)
        wait_until(self.is_up, bool, seconds=30)

    def is_up(self) -> bool:
        with suppress(OSError):
            return self.get("/healthz")[0] == 200
        return False

    def get(self, path: str, body: bytes | None = None) -> tuple[int, bytes, dict[str, str]]:
        """Send a request over a new connection and return status, body and headers."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            client.request("GET" if body is None else "POST", path, body)
            response = client.getresponse()
            return response.status, response.read(), dict(response.getheaders())
        finally:
            client.close()

    def connect(self, request: bytes) -> socket.socket:
        """Open a connection until the end of the test, and send some bytes."""
        connection = self.opened.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=60))
        connection.sendall(request)
        return connection

    def children(self) -> list[int]:
        """Return the process ids of the web processes."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """Start a server with one process and one thread, or with the parameter's number of each."""
    server = RunningServer(getattr(request, "param", 1))
    with server.opened:
        yield server
    if server.process.poll() is None:
        stop_process(server.process)


two_processes = pytest.mark.parametrize("running", [2], indirect=True, ids=["two processes"])


@two_processes
def test_all_processes_killed_at_once_are_replaced_within_a_second(running: RunningServer) -> None:
    # If a process exits within a second after its start, the replacement is delayed.
    time.sleep(1.2)
    before = running.children()

    for pid in before:
        os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    responses = [running.get("/pid")[0] for _ in range(5)]

    assert responses == [200] * 5
    assert time.monotonic() - began < get_time_limit(1)
    assert len(before) == 2
    assert not set(before) & set(running.children())


@two_processes
def test_an_idle_server_stops_within_three_seconds_with_connections_open(running: RunningServer) -> None:
    for _ in range(5):
        running.connect(b"")
    kept_connection = running.connect(b"GET /pid HTTP/1.1\r\nHost: x\r\n\r\n")
    kept_connection.recv(1000)

    began = time.monotonic()
    stop_process(running.process)

    assert running.process.returncode == 0
    assert time.monotonic() - began < get_time_limit(3)


@two_processes
def test_every_accepted_request_is_answered_when_the_server_stops_under_load(running: RunningServer) -> None:
    counts: Counter[str] = Counter()
    stopped = threading.Event()

    def ask() -> None:
        client = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
        while True:
            try:
                client.request("GET", "/slow?0.02")
            except ConnectionRefusedError:
                return
            response = client.getresponse()
            response.read()
            counts[str(response.status)] += 1
            if response.getheader("Connection") == "close":
                counts["told"] += 1
                client.close()
                if stopped.is_set():
                    return

    failed: list[threading.ExceptHookArgs] = []
    hook, threading.excepthook = threading.excepthook, failed.append
    clients = [threading.Thread(target=ask) for _ in range(8)]
    for client in clients:
        client.start()
    time.sleep(1)
    stopped.set()
    stop_process(running.process)
    for client in clients:
        client.join(30)
    threading.excepthook = hook

    assert not failed
    assert set(counts) == {"200", "told"}
    assert counts["told"] == len(clients)


def test_running_requests_are_finished_when_the_server_stops(running: RunningServer) -> None:
    waiting = [running.connect(b"GET /slow?0.7 HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(3)]
    time.sleep(0.2)

    running.process.terminate()
    responses = [connection.makefile("rb").read() for connection in waiting]

    assert [response[:15] for response in responses] == [b"HTTP/1.1 200 OK"] * 3
    assert running.process.wait(10) == 0


def test_more_than_can_be_served_is_shed_and_the_rest_is_served(running: RunningServer) -> None:
    waiting = [running.connect(b"GET /slow?0.2 HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(60)]
    time.sleep(0.1)

    began = time.monotonic()
    alive = running.get("/healthz")[0]
    quick = time.monotonic() - began
    responses = [connection.recv(2000) for connection in waiting]
    after = running.get("/pid")[0]

    # One request is in progress, and 32 requests are in the queue.
    assert Counter(response[9:12] for response in responses) == {b"200": 33, b"503": 27}
    assert all(b"Retry-After: 1\r\n" in response for response in responses if response[9:12] == b"503")
    assert (alive, after) == (200, 200)
    assert quick < 0.5


def test_slow_readers_occupy_no_thread(running: RunningServer) -> None:
    slow = [running.connect(b"GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") for _ in range(4)]

    assert running.get("/pid")[0] == 200
    for connection in slow:
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
        assert f"Content-Length: {BIG}".encode() in head
        assert len(body) == BIG


def test_large_bodies_come_through_as_they_are(running: RunningServer) -> None:
    body = os.urandom(5 * 1024 * 1024)

    status, echo, headers = running.get("/echo", body)

    assert (status, echo == body) == (200, True)
    assert headers["X-Mixed-CASE"] == "/echo"


def test_a_failure_of_the_application_returns_500_and_serving_continues(running: RunningServer) -> None:
    assert running.get("/fails")[:2] == (500, b"Internal Server Error")
    assert running.get("/pid")[0] == 200


def test_a_port_in_use_gives_a_one_sentence_error(running: RunningServer) -> None:
    environment = build_environment(running.port, 1)
    second = subprocess.run(
        COMMAND, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, timeout=30, check=False
    )

    assert second.returncode == 1
    assert second.stderr == f"The web server cannot listen on 127.0.0.1:{running.port}: Address already in use.\n"
