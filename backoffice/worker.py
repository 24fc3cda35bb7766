"""``python -m backoffice.worker``: the Celery worker, with ``WORKERS`` concurrent jobs."""

import gc
import warnings

from celery.apps import worker
from celery.platforms import SecurityWarning

from backoffice.env import exit_on_configuration_error


def main() -> None:
    """Run jobs until stopped. Jobs in progress are finished first."""
    with exit_on_configuration_error():
        from django.conf import settings

        from backoffice import heartbeat
        from backoffice.celery import app

        heartbeat.start_heartbeat("worker")
        # Suppress the warning about running as root, which is no risk because messages are JSON and only name a job
        # row. Also suppress the message about a requested stop.
        warnings.filterwarnings("ignore", category=SecurityWarning)
        worker.safe_say = lambda *_: None
        # Exclude loaded modules from garbage collection, here and in the forked processes, because they stay until the
        # end.
        gc.freeze()
        app.worker_main(
            [
                *("--quiet", "worker", "--loglevel", "WARNING", "--concurrency", str(settings.WORKERS)),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            ]
        )


if __name__ == "__main__":
    main()
