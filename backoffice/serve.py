"""The web processes: the server with what the environment says.

``HOST`` and ``PORT`` say where it listens, ``WEB_PROCESSES`` and ``WEB_THREADS`` how many requests it serves at once.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from django.conf import settings

from backoffice.server import Door, serve
from backoffice.server.freeing import give_back
from backoffice.server.threads import Application
from backoffice.variables import told_in_a_sentence


def main() -> None:
    """Serve until told to stop; accepted requests are answered first."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    # Clients can come again; one locked table must not hold every thread until then. Jobs and commands wait longer.
    os.environ.setdefault("BACKOFFICE_LOCK_TIMEOUT_MS", "2500")
    give_back()
    with told_in_a_sentence(), _shared_figures():
        serve(
            _load,
            host=settings.HOST,
            port=settings.PORT,
            processes=settings.WEB_PROCESSES,
            threads=settings.WEB_THREADS,
        )


@contextmanager
def _shared_figures() -> Iterator[None]:
    """A folder in which the processes add up their figures, for as long as the server runs."""
    if not settings.METRICS_TOKEN:
        yield
        return
    with TemporaryDirectory(prefix="backoffice-metrics-") as folder:
        # The library reads it when it is imported, with the application.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def _load() -> tuple[Application, Door]:
    from backoffice.door import ProductDoor
    from backoffice.wsgi import application

    return application, ProductDoor()


if __name__ == "__main__":
    main()
