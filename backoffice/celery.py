"""The Celery app: how workers hear of jobs, and what the scheduler does.

Celery carries doorbells only, the jobs themselves are rows (``apps.jobs``). A message that is lost, late or doubled
therefore costs time and nothing else.
"""

import os
import uuid

from celery import Celery
from celery.schedules import crontab
from celery.signals import worker_process_init, worker_process_shutdown
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

# The scheduler's clock and a worker's may be so many seconds apart: the one writes a message's end, the other reads it.
# Where no worker is there, messages of so many seconds wait.
CLOCKS_APART = 7200

TRANSPORT_ALIASES["filesystem"] = "backoffice.broker:FolderTransport"
TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "backoffice.redis_broker:ImpatientTransport"

app = Celery("backoffice", set_as_current=True)
app.conf.update(
    # Files have no host, but a name is asked for.
    broker_url=settings.BROKER_URL.replace("filesystem://", "filesystem://localhost"),
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
            "options": {"expires": CLOCKS_APART + settings.JOB_SWEEP_SECONDS},
        },
        "begin what is due": {
            "task": "backoffice.due",
            "schedule": 60,
            "options": {"expires": CLOCKS_APART + 60},
        },
        "clear what is old": {
            "task": "backoffice.housekeeping",
            "schedule": 3600,
            "options": {"expires": CLOCKS_APART + 1800},
        },
        # At night, by UTC; it reads every order.
        "reconcile": {
            "task": "backoffice.reconcile",
            "schedule": crontab(hour=3, minute=17),
            "options": {"expires": CLOCKS_APART + 3600},
        },
        "nightly duties": {
            "task": "backoffice.each_night",
            "schedule": crontab(hour=4, minute=17),
            "options": {"expires": CLOCKS_APART + 3600},
        },
    },
)


@app.task(name="backoffice.run_job")
def run_job(*keys: str) -> None:
    """Do a job: the one whose turn it is; of several that were rung for, the others are rung for again."""
    from apps.jobs.domain.queue import answer

    answer(*map(uuid.UUID, keys))


@app.task(name="backoffice.sweep")
def sweep() -> None:
    """Ring for the jobs that nobody holds."""
    from apps.jobs.domain.queue import sweep

    sweep()


@app.task(name="backoffice.due")
def due() -> None:
    """Begin what falls due by the clock."""
    from apps.jobs.domain.duties import each_minute

    each_minute.run_all()


@app.task(name="backoffice.housekeeping")
def housekeeping() -> None:
    """Clear what has served its time."""
    from apps.jobs.domain.housekeeping import run_all

    run_all()


@app.task(name="backoffice.reconcile")
def reconcile() -> None:
    """Log what does not say what it was worked out from."""
    from apps.jobs.domain.reconciliation import report

    report()


@app.task(name="backoffice.each_night")
def each_night() -> None:
    """Do what domains have to do each night."""
    from apps.jobs.domain.duties import each_night

    each_night.run_all()


@worker_process_init.connect
def _own_connections(**_: object) -> None:
    """A forked worker must not share its parent's database connections."""
    from django.db import connections

    for connection in connections.all(initialized_only=True):
        connection.inc_thread_sharing()
        connection.connection = None


if settings.TRACES_ENDPOINT:

    @worker_process_init.connect
    def _traced(**_: object) -> None:
        from apps.jobs.domain.queue import use_watch
        from backoffice.traces import watch

        use_watch(watch)

    @worker_process_shutdown.connect
    def _told(**_: object) -> None:
        from backoffice.traces import flush

        flush()
