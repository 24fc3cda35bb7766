"""The Celery app, which runs jobs and periodic tasks.

Messages only notify workers. The jobs themselves are database rows (``apps.core.jobs``), so a lost, late or duplicate
message only causes a delay. ``docs/operations.md`` explains the settings.
"""

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import (
    beat_init,
    celeryd_after_setup,
    celeryd_init,
    import_modules,
    task_prerun,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from celery.utils.nodenames import gethostname, nodename
from django.conf import settings
from kombu.entity import Queue
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

TRANSPORT_ALIASES["filesystem"] = "backoffice.broker.filesystem:FolderTransport"
_FILESYSTEM_OPTIONS = {
    "data_folder_in": str(settings.BROKER_DIR / "queue"),
    "data_folder_out": str(settings.BROKER_DIR / "queue"),
    "processed_folder": str(settings.BROKER_DIR / "processed"),
    "control_folder": str(settings.BROKER_DIR / "control"),
    "store_processed": False,
}
# A request waits for a message to be sent, so it gives up quickly. Workers and the scheduler are more patient.
CONNECT_SECONDS, _PATIENT_CONNECT_SECONDS = 0.5, 2
REDIS_TIMEOUTS = {"socket_timeout": 0.15, "socket_connect_timeout": 0.15}
_REDIS_OPTIONS = {"visibility_timeout": 7200, **REDIS_TIMEOUTS}
_PATIENT_REDIS_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 2}

app = Celery("backoffice", set_as_current=True)
app.conf.update(
    # The filesystem broker has no host, but Celery requires one in the URL.
    broker_url=settings.BROKER_URL.replace("filesystem://", "filesystem://localhost"),
    # Retry forever, because a worker that gives up would have to be restarted by hand.
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_connection_timeout=CONNECT_SECONDS,
    broker_transport_options={
        # Publish only once, so that a broker that is down does not delay writers.
        "max_retries": 0,
        **(_FILESYSTEM_OPTIONS if settings.BROKER_URL == "filesystem://" else {}),
        **(_REDIS_OPTIONS if settings.BROKER_URL.startswith("redis") else {}),
    },
    task_queues=[Queue(name, routing_key=name) for name in settings.TASK_QUEUES],  # type: ignore[no-untyped-call]
    task_default_queue=settings.TASK_QUEUES[0],
    task_create_missing_queues=False,
    task_routes=("backoffice.celery_tasks.route_task",),
    task_ignore_result=True,
    task_publish_retry=False,
    task_acks_late=True,
    task_reject_on_worker_lost=False,
    task_time_limit=3600,
    worker_prefetch_multiplier=1,
    worker_max_tasks_per_child=500,
    worker_hijack_root_logger=False,
    worker_send_task_events=True,
    accept_content=["json"],
    timezone="UTC",
    beat_schedule_filename=str(settings.DATA_DIR / "beat-schedule"),
    # Celery would close the database connection before and after each task, even if it is persistent.
    CELERY_DB_REUSE_MAX=sys.maxsize,
)


@import_modules.connect(sender=app)
def _declare_tasks(**_: object) -> None:
    """Declare the tasks in workers and in the scheduler. Processes that only send messages do not need them."""
    import django

    django.setup()
    from apps.core.jobs.worker_shutdown import announce_shutdown
    from backoffice.celery_tasks import declare_tasks

    declare_tasks(app)
    worker_shutting_down.connect(announce_shutdown)


@worker_ready.connect
def _stop_pool_once(sender: Any, **_: object) -> None:
    """Keep billiard from stopping the pool again at exit, which takes a second, after Celery has stopped the pool."""
    pool = sender.pool._pool
    worker_shutdown.connect(lambda **_: pool._terminate.cancel(), weak=False)


@celeryd_init.connect
@beat_init.connect
def _use_patient_connections(**_: object) -> None:
    app.conf.broker_connection_timeout = _PATIENT_CONNECT_SECONDS
    if settings.BROKER_URL.startswith("redis"):
        app.conf.broker_transport_options = {**app.conf.broker_transport_options, **_PATIENT_REDIS_OPTIONS}


@celeryd_init.connect
def _check_queues(options: dict[str, Any], **_: object) -> None:
    """Exit with a sentence if the option ``-Q`` names an unknown queue."""
    queues = options.get("queues") or ()
    names = [name.strip() for name in queues.split(",")] if isinstance(queues, str) else queues
    if unknown := [name for name in names if name not in settings.TASK_QUEUES]:
        known = ", ".join(settings.TASK_QUEUES)
        raise SystemExit(f"The worker cannot start: there is no queue {', '.join(unknown)}. The queues are {known}.")


# The node name of the worker in this process. A scheduler inside a worker (``worker -B``) has the same node name.
_worker_node = ""


@celeryd_after_setup.connect
def _record_worker_node(sender: str, **_: object) -> None:
    global _worker_node
    _worker_node = sender


@worker_ready.connect
def _report_worker(sender: Any, **_: object) -> None:
    """Report the worker as alive when it receives messages, not while it still starts its processes."""
    from backoffice.observability import heartbeat

    heartbeat.start_reporting("worker", sender.hostname, sender.app.amqp.queues.consume_from)


@beat_init.connect
def _report_scheduler(**_: object) -> None:
    from backoffice.observability import heartbeat

    heartbeat.start_reporting("scheduler", _worker_node or nodename("scheduler", gethostname()))


@worker_process_init.connect
def _reset_connections(**_: object) -> None:
    """Drop the inherited database connections, because a forked worker must not share connections with its parent."""
    from django.db import connections

    for connection in connections.all(initialized_only=True):
        connection.inc_thread_sharing()
        connection.connection = None


@task_prerun.connect
def _close_broken_connections(**_: object) -> None:
    from django.db import close_old_connections

    close_old_connections()


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
