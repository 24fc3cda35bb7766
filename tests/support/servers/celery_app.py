"""The product's Celery app with configurable intervals and additional tasks."""

import os
import time
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
django.setup()

from django.conf import settings  # noqa: E402

settings.JOB_LEASE_SECONDS = int(os.environ["TEST_LEASE_SECONDS"])
settings.JOB_SWEEP_SECONDS = int(os.environ["TEST_SWEEP_SECONDS"])

from apps.core.jobs import queue  # noqa: E402
from apps.core.jobs.models import Job  # noqa: E402
from backoffice.celery import app  # noqa: E402, F401


def append_mark(job: Job, **arguments: Any) -> None:
    """Append a line to a file.

    In mode ``nothing``, no line is written. In mode ``hang once``, the first attempt hangs.
    """
    if arguments["mode"] == "nothing":
        return
    path = Path(os.environ["TEST_MARKS"])
    if arguments["mode"] == "hang once" and not path.exists():
        path.write_text("begun\n")
        time.sleep(600)
    with path.open("a") as file:
        file.write("done\n")


def fail(job: Job, **arguments: Any) -> None:
    raise queue.GiveUp("the file is gone") if arguments["final"] else ValueError("not yet")


queue.tasks.register("test.mark", queue.Task(append_mark))
queue.tasks.register("test.fail", queue.Task(fail))
