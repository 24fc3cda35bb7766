"""The configuration of gunicorn: ``gunicorn -c python:backoffice.server.gunicorn_config backoffice.asgi``.

Options on the command line and in ``GUNICORN_CMD_ARGS`` take precedence.
"""

import contextlib
import gc
import os
import resource
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
# Web requests wait only briefly for a locked table, because clients can retry, and long waits would block all threads.
# Jobs and commands wait longer.
os.environ.setdefault("BACKOFFICE_LOCK_TIMEOUT_MS", "2500")

from django.conf import settings
from gunicorn.glogging import Logger

from backoffice.server.freeing import limit_malloc_arenas


class ServerLogger(Logger):
    """Writes gunicorn's messages to the log of the product."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.propagate = True

    def _set_handler(self, *args: Any, **options: Any) -> None:
        """Add no handler, because the root logger has one."""


def _raise_file_limit() -> int:
    """Raise the limit for open files, and return the maximum number of connections per process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = 16_384 if hard == resource.RLIM_INFINITY else min(hard, 16_384)
    if soft < target:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
    # Use only half of the limit for connections, because temporary files, databases and uploads also need open files.
    return max(64, min(soft // 2, 4096))


bind = f"[{settings.HOST}]:{settings.PORT}" if ":" in settings.HOST else f"{settings.HOST}:{settings.PORT}"
backlog = 1024
workers = settings.WEB_PROCESSES
worker_class = "backoffice.server.worker.Worker"
worker_connections = _raise_file_limit()
# Load the application before the processes are forked, so that they share its memory.
preload_app = True
asgi_lifespan = "on"
# A process is replaced if its event loop is blocked for this many seconds.
timeout = 60
graceful_timeout = 30
# A proxy must close its idle connections before this many seconds have passed.
keepalive = 75
limit_request_line = 8190
limit_request_fields = 100
limit_request_field_size = 64 * 1024
# backoffice.middleware evaluates the headers of trusted proxies.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
# The kernel's memory is faster than a disk, on which the heartbeat would otherwise wait.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
control_socket_disable = True
logger_class = ServerLogger
loglevel = "warning"

limit_malloc_arenas()
_metrics_dir = ""
if settings.METRICS_TOKEN and "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    # Set the variable now, because importing the application imports prometheus_client, which reads the variable.
    _metrics_dir = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="backoffice-metrics-")


def when_ready(server: Any) -> None:
    """Prepare the fork of the web processes."""
    # Exclude loaded modules from garbage collection, so that the processes can share their memory pages.
    gc.freeze()
    # A stop signal ends a process that does not serve yet. The inherited handler would ignore it.
    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM}),
        after_in_child=_end_at_stop_signal,
    )


def _end_at_stop_signal() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def post_worker_init(worker: Any) -> None:
    """Count the process in the metrics."""
    if settings.METRICS_TOKEN:
        from backoffice.observability.metrics.requests import web_processes

        web_processes.set(1)


def child_exit(server: Any, worker: Any) -> None:
    """Stop counting a process that has ended."""
    if settings.METRICS_TOKEN:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    if _metrics_dir:
        shutil.rmtree(_metrics_dir, ignore_errors=True)
