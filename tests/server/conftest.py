import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.servers.live import stop_process
from tests.support.servers.ports import find_free_port
from tests.support.timing import wait_until

COMMAND = [*(sys.executable, "-m", "gunicorn"), "-c", "python:backoffice.server.gunicorn_config"]
APPLICATION = "tests.support.servers.application"


class RunningServer:
    """The small application with ``size`` processes of ``size`` threads."""

    def __init__(self, size: int, *options: str) -> None:
        self.opened = ExitStack()
        self.port = find_free_port()
        self.process = subprocess.Popen(
            [*COMMAND, *options, APPLICATION],
            cwd=settings.BASE_DIR,
            env={**os.environ, "PORT": str(self.port), "WEB_PROCESSES": str(size), "WEB_THREADS": str(size)},
        )

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

    def memory(self) -> int:
        """Return the memory of the first web process in bytes."""
        fields = Path(f"/proc/{self.children()[0]}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def children(self) -> list[int]:
        """Return the process ids of the web processes."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]


def read_all(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    with connection.makefile("rb") as file:
        return file.read()


@contextmanager
def run_small_server(size: int = 1, *options: str) -> Iterator[RunningServer]:
    server = RunningServer(size, *options)
    with server.opened:
        wait_until(server.is_up, bool, seconds=30)
        yield server
    if server.process.poll() is None:
        stop_process(server.process)


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """Start a server with one process and one thread, or with the parameters."""
    with run_small_server(*getattr(request, "param", ())) as server:
        yield server
