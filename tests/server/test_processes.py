"""Tests for the server's processes with a small application: kills, stops, overload and slow clients."""

import http.client
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from django.conf import settings

from tests.server.conftest import RunningServer, read_all
from tests.support.servers.application import BIG
from tests.support.servers.live import stop_process
from tests.support.timing import get_time_limit, wait_until

pytestmark = pytest.mark.slow

PATIENT = ("-c", "python:tests.support.servers.patient_config")
two_processes = pytest.mark.parametrize("running", [(2,)], indirect=True, ids=["two processes"])


@two_processes
def test_all_processes_killed_at_once_are_replaced_at_once(running: RunningServer) -> None:
    # If a process exits within a second after its start, the replacement is delayed.
    time.sleep(1.2)
    before = running.children()

    for pid in before:
        os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    responses = [running.get("/pid")[0] for _ in range(5)]

    assert responses == [200] * 5
    # The replacement does not wait for the heartbeat of the killed processes, which expires after 60 seconds.
    assert time.monotonic() - began < get_time_limit(5)
    assert len(before) == 2
    wait_until(lambda: set(before).isdisjoint(running.children()), bool, seconds=30)


@two_processes
def test_an_idle_server_stops_without_waiting_for_open_connections(running: RunningServer) -> None:
    for _ in range(5):
        running.connect(b"")
    kept_connection = running.connect(b"GET /pid HTTP/1.1\r\nHost: x\r\n\r\n")
    kept_connection.recv(1000)

    began = time.monotonic()
    stop_process(running.process)

    assert running.process.returncode == 0
    # Waiting for the connections would take 30 seconds or more.
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("running", [(2, *PATIENT)], indirect=True, ids=["two processes"])
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
    # This request arrives last, so the server has read the others by the time of its response.
    assert running.get("/healthz")[0] == 200

    running.process.terminate()
    responses = [read_all(connection) for connection in waiting]

    assert [response[:15] for response in responses] == [b"HTTP/1.1 200 OK"] * 3
    assert running.process.wait(60) == 0


@pytest.mark.parametrize("running", [(1, *PATIENT)], indirect=True, ids=["one process"])
def test_more_than_can_be_served_is_shed_and_the_rest_is_served(running: RunningServer) -> None:
    held = running.connect(b"GET /hold HTTP/1.1\r\nHost: x\r\n\r\n")
    before = running.get("/healthz")[0]
    waiting = [held, *(running.connect(b"GET /pid HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(59))]
    wait_until(lambda: len(select.select(waiting, [], [], 0)[0]), (27).__eq__)

    # The thread is occupied and the queue is full, but the event loop serves this request.
    alive = running.get("/healthz")[0]
    running.get("/release")
    responses = [connection.recv(2000) for connection in waiting]
    after = running.get("/pid")[0]

    # One request is in progress, and 32 requests are in the queue.
    assert Counter(response[9:12] for response in responses) == {b"200": 33, b"503": 27}
    assert all(b"Retry-After: 1\r\n" in response for response in responses if response[9:12] == b"503")
    assert (before, alive, after) == (200, 200, 200)


def test_slow_readers_occupy_no_thread(running: RunningServer) -> None:
    slow = [running.connect(b"GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") for _ in range(4)]

    assert running.get("/pid")[0] == 200
    for connection in slow:
        head, _, body = read_all(connection).partition(b"\r\n\r\n")
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


@two_processes
def test_new_connections_are_answered_or_refused_when_the_server_stops(running: RunningServer) -> None:
    results: Counter[object] = Counter()

    def ask() -> None:
        while True:
            try:
                results[running.get("/pid")[0]] += 1
            except OSError as error:
                results[type(error)] += 1
                return

    clients = [threading.Thread(target=ask) for _ in range(24)]
    for client in clients:
        client.start()
    wait_until(lambda: results[200] > 50, bool, seconds=30)
    stop_process(running.process)
    for client in clients:
        client.join(30)

    # The kernel resets a connection that arrives between the last accept and the end of the listener. For the client,
    # such a connection may also end without a response.
    resets = sum(results.pop(error, 0) for error in (ConnectionResetError, http.client.RemoteDisconnected))
    assert resets < len(clients) / 2
    assert set(results) == {200, ConnectionRefusedError}


def test_a_port_in_use_gives_a_one_sentence_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        second = subprocess.run(
            [sys.executable, "-m", "backoffice.entrypoints.serve"],
            cwd=settings.BASE_DIR,
            env={**os.environ, "PORT": port},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert second.returncode == 1
    assert second.stderr.startswith(
        f"Backoffice cannot start: can't listen on 127.0.0.1:{port} (Address already in use)"
    )
