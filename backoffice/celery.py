"""The Celery app: how workers hear of jobs, and what the scheduler does.

Celery carries doorbells only, the jobs themselves are rows (``apps.jobs``). A message that is lost, late or doubled
therefore costs time and nothing else.
"""

import os
import uuid

from celery import Celery
from celery.signals import worker_process_init
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

app = Celery("backoffice", set_as_current=True)
app.conf.update(
    broker_url=settings.BROKER_URL,
    # For as long as it takes: a worker that gave up would need somebody to start it.
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_connection_timeout=2,
    broker_transport_options=(
        {
            "data_folder_in": str(settings.BROKER_DIR / "queue"),
            "data_folder_out": str(settings.BROKER_DIR / "queue"),
            "processed_folder": str(settings.BROKER_DIR / "processed"),
            "control_folder": str(settings.BROKER_DIR / "control"),
            "store_processed": False,
        }
        if settings.BROKER_URL == "filesystem://"
        # Redis hands a message whose worker died to another only after this many seconds; the sweep is faster, and
        # the lease keeps a doubled message harmless.
        else {"visibility_timeout": 7200, "socket_timeout": 5, "socket_connect_timeout": 2}
        if settings.BROKER_URL.startswith("redis")
        else {}
    ),
    task_ignore_result=True,
    task_publish_retry=False,
    task_acks_late=True,
    task_reject_on_worker_lost=False,
    worker_prefetch_multiplier=1,
    worker_max_tasks_per_child=500,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    # The rows of jobs say what workers do. A worker's control queue is exclusive on RabbitMQ: one that is started again
    # right after it was killed would find it locked, and stop.
    worker_enable_remote_control=False,
    task_time_limit=3600,
    accept_content=["json"],
    timezone="UTC",
    beat_schedule_filename=str(settings.DATA_DIR / "beat-schedule"),
    beat_schedule={
        "sweep jobs": {
            "task": "backoffice.sweep",
            "schedule": settings.JOB_SWEEP_SECONDS,
            "options": {"expires": settings.JOB_SWEEP_SECONDS},
        },
        "clear what is old": {"task": "backoffice.housekeeping", "schedule": 3600, "options": {"expires": 1800}},
    },
)


@app.task(name="backoffice.run_job")
def run_job(key: str) -> None:
    """Do one job."""
    from apps.jobs.domain.queue import run

    run(uuid.UUID(key))


@app.task(name="backoffice.sweep")
def sweep() -> None:
    """Ring for the jobs that nobody holds."""
    from django.utils import timezone

    from apps.jobs.domain.queue import sweep

    sweep(at=timezone.now())


@app.task(name="backoffice.housekeeping")
def housekeeping() -> None:
    """Clear what has served its time."""
    from apps.jobs.domain.housekeeping import run_all

    run_all()


@worker_process_init.connect
def _own_connections(**_: object) -> None:
    """A forked worker must not share its parent's database connections."""
    from django.db import connections

    for connection in connections.all(initialized_only=True):
        connection.inc_thread_sharing()
        connection.connection = None
