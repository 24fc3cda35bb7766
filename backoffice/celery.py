"""The Celery app, which notifies workers of jobs and schedules periodic tasks.

Celery messages only notify workers. The jobs themselves are database rows (``apps.core.jobs``), so a lost, late or
duplicate message only causes a delay.
"""

import os
import uuid

from celery import Celery
from celery.schedules import crontab
from celery.signals import worker_process_init, worker_process_shutdown
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

# The clocks of the scheduler and the workers may differ by this many seconds. The scheduler sets the expiry time of a
# message, and the worker checks it. If no worker is running, messages expire after this time.
MAX_CLOCK_DIFFERENCE = 7200

TRANSPORT_ALIASES["filesystem"] = "backoffice.broker.filesystem:FolderTransport"
TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "backoffice.broker.redis:NoRetryTransport"

app = Celery("backoffice", set_as_current=True)
app.conf.update(
    # The filesystem broker has no host, but Celery requires one in the URL.
    broker_url=settings.BROKER_URL.replace("filesystem://", "filesystem://localhost"),
    # Retry forever, because a worker that gives up would have to be restarted by hand.
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
        # If a worker dies, Redis redelivers its message only after this many seconds. ``requeue_stale_jobs`` is faster,
        # and leases make duplicate messages harmless.
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
    # Remote control is not needed, because job rows already show what workers do. With RabbitMQ, it would also prevent
    # a killed worker from restarting immediately, because the worker's exclusive control queue is still locked.
    worker_enable_remote_control=False,
    task_time_limit=3600,
    accept_content=["json"],
    timezone="UTC",
    beat_schedule_filename=str(settings.DATA_DIR / "beat-schedule"),
    beat_schedule={
        name: {
            "task": f"backoffice.{task}",
            "schedule": schedule,
            "options": {"expires": MAX_CLOCK_DIFFERENCE + expiry_seconds},
        }
        for name, task, schedule, expiry_seconds in (
            ("requeue stale jobs", "sweep", settings.JOB_SWEEP_SECONDS, settings.JOB_SWEEP_SECONDS),
            ("run minute tasks", "due", 60, 60),
            ("clean up", "housekeeping", 3600, 1800),
            # Run the checks at night (UTC), because the checks read every order.
            ("check consistency", "reconcile", crontab(hour=3, minute=17), 3600),
            ("run nightly tasks", "each_night", crontab(hour=4, minute=17), 3600),
        )
    },
)


@app.task(name="backoffice.run_job")
def run_job(*keys: str) -> None:
    """Run the next job. If the message names several jobs, notify other workers of the remaining jobs."""
    from apps.core.jobs.queue import handle_notification

    handle_notification(*map(uuid.UUID, keys))


@app.task(name="backoffice.sweep")
def requeue_stale_jobs() -> None:
    from apps.core.jobs.queue import notify_stale_jobs

    notify_stale_jobs()


@app.task(name="backoffice.due")
def run_minute_tasks() -> None:
    from apps.core.jobs.periodic_tasks import minute_tasks, run_periodic_tasks

    run_periodic_tasks(minute_tasks)


@app.task(name="backoffice.housekeeping")
def run_housekeeping() -> None:
    from apps.core.jobs.periodic_tasks import hourly_tasks, run_periodic_tasks

    run_periodic_tasks(hourly_tasks)


@app.task(name="backoffice.reconcile")
def run_consistency_checks() -> None:
    from apps.core.jobs.consistency_checks import log_differences

    log_differences()


@app.task(name="backoffice.each_night")
def run_nightly_tasks() -> None:
    from apps.core.jobs.periodic_tasks import nightly_tasks, run_periodic_tasks

    run_periodic_tasks(nightly_tasks)


@worker_process_init.connect
def _reset_connections(**_: object) -> None:
    """Drop the inherited database connections, because a forked worker must not share connections with its parent."""
    from django.db import connections

    for connection in connections.all(initialized_only=True):
        connection.inc_thread_sharing()
        connection.connection = None


if settings.TRACES_ENDPOINT:

    @worker_process_init.connect
    def _enable_tracing(**_: object) -> None:
        from apps.core.jobs.queue import attempt_wrappers
        from backoffice.observability.tracing import instrument_database, trace_job

        instrument_database()
        attempt_wrappers.add(trace_job)

    @worker_process_shutdown.connect
    def _flush_traces(**_: object) -> None:
        from backoffice.observability.tracing import flush_traces

        flush_traces()
