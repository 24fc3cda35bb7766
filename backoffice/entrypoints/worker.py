"""``python -m backoffice.entrypoints.worker``: the Celery worker, with ``WORKERS`` concurrent jobs.

The worker has one process more than ``WORKERS``, because a run that delivers webhooks may keep a process busy.

Arguments are options of Celery's worker, such as ``-Q bulk`` or ``--concurrency 4``.
"""

import gc
import sys
import warnings

from celery.apps import worker
from celery.platforms import SecurityWarning

from backoffice.configuration.env import exit_on_configuration_error
from backoffice.configuration.private_files import use_private_umask


def main() -> None:
    """Run the worker until stopped. Jobs in progress are finished before the process exits."""
    use_private_umask()
    with exit_on_configuration_error():
        from django.conf import settings

        from backoffice.celery import app
        from backoffice.observability import heartbeat

        heartbeat.start_heartbeat("worker")
        # Suppress the warning about running as root. Running as root is safe here, because messages are JSON and
        # contain only the key of a job row. Also suppress the message that a stop was requested.
        warnings.filterwarnings("ignore", category=SecurityWarning)
        worker.safe_say = lambda *_: None
        # Load all tasks before the fork, so that the processes share their memory. Loaded modules are never freed, so
        # exclude them from garbage collection, which would copy the shared memory.
        app.loader.import_default_modules()
        import apps.webhooks.domain.engine.dispatcher.runner  # noqa: F401

        gc.freeze()
        app.worker_main(
            [
                *("--quiet", "worker", "--loglevel", "WARNING", "--concurrency", str(settings.WORKERS + 1)),
                *("--without-gossip", "--without-mingle"),
                *sys.argv[1:],
            ]
        )


if __name__ == "__main__":
    main()
