"""``python -m backoffice.worker``: the worker, as many jobs at once as ``WORKERS`` says."""

import gc
import warnings

from celery.apps import worker
from celery.platforms import SecurityWarning

from backoffice.variables import told_in_a_sentence


def main() -> None:
    """Work until told to stop; a job that is being done is finished first."""
    with told_in_a_sentence():
        from django.conf import settings

        from backoffice import alive
        from backoffice.celery import app

        alive.keep("worker")
        # Messages are JSON and name a job's row, so who runs it makes no difference; a stop that was asked for needs
        # no word.
        warnings.filterwarnings("ignore", category=SecurityWarning)
        worker.safe_say = lambda *_: None
        # What is loaded stays until the end, here and in the processes that are made of this one.
        gc.freeze()
        app.worker_main(
            [
                *("--quiet", "worker", "--loglevel", "WARNING", "--concurrency", str(settings.WORKERS)),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            ]
        )


if __name__ == "__main__":
    main()
