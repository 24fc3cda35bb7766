"""The entry point of the web server, which is configured by environment variables.

``HOST`` and ``PORT`` set the address. ``WEB_PROCESSES`` and ``WEB_THREADS`` set how many requests run concurrently.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from django.conf import settings

from backoffice.configuration.env import exit_on_configuration_error
from backoffice.server import Door, run_server
from backoffice.server.freeing import limit_malloc_arenas
from backoffice.server.threads import Application


def main() -> None:
    """Run the web server until stopped. Accepted requests are finished before the process exits."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    # Web requests wait only briefly for a locked table, because clients can retry, and long waits would block all
    # threads. Jobs and commands wait longer.
    os.environ.setdefault("BACKOFFICE_LOCK_TIMEOUT_MS", "2500")
    limit_malloc_arenas()
    with exit_on_configuration_error(), _share_metrics():
        run_server(
            _load_application,
            host=settings.HOST,
            port=settings.PORT,
            processes=settings.WEB_PROCESSES,
            threads=settings.WEB_THREADS,
        )


@contextmanager
def _share_metrics() -> Iterator[None]:
    """Create a temporary folder in which the processes share their metrics while the server runs."""
    if not settings.METRICS_TOKEN:
        yield
        return
    with TemporaryDirectory(prefix="backoffice-metrics-") as folder:
        # Set the variable now, because importing the application imports prometheus_client, which reads the variable.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def _load_application() -> tuple[Application, Door]:
    from backoffice.server_hooks import BackofficeHooks
    from backoffice.wsgi import application

    return application, BackofficeHooks()


if __name__ == "__main__":
    main()
