"""A web process with the test's database, and further processes of the same installation."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from apps.core.tenancy.models import Installation
from tests.support.servers.ports import find_free_port
from tests.support.services import is_listening
from tests.support.timing import wait_until

WORKER = ("-A", "backoffice.celery", "worker", "--pool", "solo", "--loglevel", "WARNING")

Connect = Callable[..., Installation]


class LiveServer:
    def __init__(self, database_url: str, data_dir: Path, **env: str) -> None:
        self.data_dir = data_dir
        self.port = find_free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = {
            **os.environ,
            "DATABASE_URL": database_url,
            "BACKOFFICE_DATA_DIR": str(data_dir),
            "BACKOFFICE_BRAND": "shopify",
            "BACKOFFICE_SECRET_KEY": settings.SECRET_KEY,
            "BACKOFFICE_BASE_URL": self.url,
            "BACKOFFICE_RATE_LIMIT": "off",
            "BACKOFFICE_OUTGOING_ALLOW": "127.0.0.1",
            "PORT": str(self.port),
            "WEB_PROCESSES": "1",
            # SQLite writers wait for each other and for a busy disk, so allow a longer lock timeout.
            **({"BACKOFFICE_LOCK_TIMEOUT_MS": "20000"} if database_url.startswith("sqlite:") else {}),
            **env,
        }
        self._started: list[subprocess.Popen[bytes]] = []
        self.process = self.start("backoffice.entrypoints.serve")

    def start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        self._started.append(self.spawn(module, *arguments))
        return self._started[-1]

    def spawn(self, module: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a process. Subclasses may redirect the output."""
        return subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=settings.BASE_DIR, env=self.env)

    def wait(self) -> None:
        wait_until(lambda: is_listening(self.port) or self.process.poll() is not None, bool, seconds=60)
        assert self.process.poll() is None, "the server ended at once"

    def stop(self) -> None:
        for process in self._started:
            if process.poll() is None:
                stop_process(process)


@contextmanager
def run_server(database_url: str, data_dir: Path, *others: str, **env: str) -> Iterator[LiveServer]:
    """Run a server without the client's brand, and other processes such as ``worker``, within the block."""
    server = LiveServer(database_url, data_dir, BACKOFFICE_BRAND="platform", **env)
    try:
        for name in others:
            server.start(f"backoffice.entrypoints.{name}")
        server.wait()
        yield server
    finally:
        server.stop()


def stop_process(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    # Gunicorn kills a process that does not stop within 30 seconds.
    process.wait(timeout=60)


def get_database_url() -> str:
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    return (
        f"postgres://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT'] or 5432}/{values['NAME']}"
    )
