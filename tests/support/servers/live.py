"""A web process with the test's database, and further processes of the same installation."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.db import connection

from apps.core.tenancy.models import Installation
from tests.support.timing import get_time_limit

WORKER = ("-A", "backoffice.celery", "worker", "--pool", "solo", "--loglevel", "WARNING")

Connect = Callable[..., Installation]


def find_free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class LiveServer:
    """A web process with the test's database and the brand that the client expects."""

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
        """Start another process of the same installation."""
        self._started.append(self.spawn(module, *arguments))
        return self._started[-1]

    def spawn(self, module: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a process. Subclasses may redirect the output."""
        return subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=settings.BASE_DIR, env=self.env)

    def wait(self) -> None:
        """Wait until the server responds."""
        until = time.monotonic() + get_time_limit(60)
        while time.monotonic() < until:
            with socket.socket() as probe:
                probe.settimeout(0.5)
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, "the server ended at once"
            time.sleep(0.1)
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        """Stop the server and any processes left over from a failed test."""
        for process in self._started:
            if process.poll() is None:
                stop_process(process)


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """Stop a process with SIGTERM, as an operator would."""
    process.terminate()
    process.wait(timeout=30)


def get_database_url() -> str:
    """Return the URL of the tests' database."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    return (
        f"postgres://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT'] or 5432}/{values['NAME']}"
    )
