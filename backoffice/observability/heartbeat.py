"""Check the processes on this machine.

Run ``python -m backoffice.observability.heartbeat web|worker|scheduler``.

Container and service managers run this command. The command sends a request to the web server. The other processes
accept no requests, so they touch a file every few seconds, and the command checks the age of the file.

Workers and schedulers also update a row in the database (``apps.core.jobs.worker_processes``), so that ``/readyz`` and
``/metrics`` show lost processes of all machines.
"""

import atexit
import hashlib
import logging
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from django.conf import settings

from backoffice.configuration.env import exit_on_configuration_error

PROCESS_ROLES = ("web", "worker", "scheduler")
HEARTBEAT_SECONDS = 10.0
# A process that has not touched its file for this many seconds counts as hung.
MAX_SILENCE_SECONDS = 60.0
# The maximum time that a process waits at its end for its row to be deleted.
FAREWELL_SECONDS = 10.0

logger = logging.getLogger(__name__)

# Held while a report uses the database. A fork waits for the lock, so that no child process inherits a connection.
_report_lock = threading.Lock()
os.register_at_fork(
    before=_report_lock.acquire, after_in_parent=_report_lock.release, after_in_child=_report_lock.release
)


def start_heartbeat(role: str) -> None:
    """Start a thread that regularly touches this process's file until the process ends."""
    threading.Thread(target=_touch_regularly, args=(_get_path(role),), name="alive", daemon=True).start()


def get_heartbeat_age(role: str) -> float | None:
    """Return the seconds since a process of this role touched its file, or None if there is no file."""
    try:
        return time.time() - _get_path(role).stat().st_mtime
    except FileNotFoundError:
        return None


def start_reporting(role: str, node: str, queues: Iterable[str] = ()) -> None:
    """Start a thread that regularly reports this process to the database, and deletes its row at the normal end."""
    stop = threading.Event()
    thread = threading.Thread(
        target=_report_regularly, args=(role, node, list(queues), stop), name="report", daemon=True
    )
    thread.start()

    def end() -> None:
        stop.set()
        thread.join(FAREWELL_SECONDS)

    atexit.register(end)


def _report_regularly(role: str, node: str, queues: list[str], stop: threading.Event) -> None:
    from apps.core.jobs import worker_processes

    is_first = True
    while not stop.is_set():
        if _use_database(partial(worker_processes.report_process, role, node, queues, is_first=is_first)):
            is_first = False
        stop.wait(worker_processes.REPORT_SECONDS)
    _use_database(partial(worker_processes.remove_process, node))


def _use_database(work: Callable[[], None]) -> bool:
    """Run some work with a connection of its own. Return False and log a warning if the database does not respond."""
    from django.db import Error, connection

    with _report_lock:
        try:
            work()
            return True
        except Error as error:
            logger.warning("This process could not be reported to the database: %s", error)
            return False
        finally:
            connection.close()


def _touch_regularly(path: Path) -> None:
    while True:
        path.touch()
        time.sleep(HEARTBEAT_SECONDS)


def _get_path(role: str) -> Path:
    # The file is not in the data folder, because several machines may share that folder.
    installation = hashlib.sha256(str(settings.DATA_DIR).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir(), f"backoffice-{os.getuid()}-{installation}-{role}.alive")


def _is_web_up() -> bool:
    host = "127.0.0.1" if settings.HOST in {"0.0.0.0", "::"} else settings.HOST  # noqa: S104 - what it listens on
    try:
        with socket.create_connection((host, settings.PORT), timeout=5) as server:
            server.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return server.recv(64).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def main() -> None:
    """Exit with 0 if the process is alive, otherwise with 1 and a message."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    role = sys.argv[1] if len(sys.argv) == 2 else ""
    if role not in PROCESS_ROLES:
        sys.exit(f"Name the process to check: {', '.join(PROCESS_ROLES)}.")
    with exit_on_configuration_error():
        if role == "web":
            if not _is_web_up():
                sys.exit(f"The web server does not answer on port {settings.PORT}.")
            return
        age = get_heartbeat_age(role)
    if age is None or age > MAX_SILENCE_SECONDS:
        sys.exit(f"No heartbeat of a {role} process for {MAX_SILENCE_SECONDS:.0f} seconds.")


if __name__ == "__main__":
    main()
