"""Send jobs to Celery, so that shops take turns.

A shop has at most ``settings.MAX_JOBS_PER_SHOP`` jobs per queue that are *sent*: their message was published and they
are not finished. Its other jobs wait in the database. A shop with a single job therefore waits for at most this number
of jobs of each other shop, even if another shop enqueued ten thousand jobs earlier.

``enqueue`` sends a job if its shop is below the limit. When a job ends, the worker sends the next jobs of the same shop
and queue. A periodic task sends what is left: jobs that have become due, and jobs that lost their message or worker.
The column ``rung_at`` contains the time at which a job was last sent. It is empty while a job waits in the database.
"""

import logging
from collections.abc import Iterable
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import DateTimeField
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.module_loading import import_string

from apps.core.circuit_breaker import CircuitBreaker, CircuitOpen
from apps.core.db.prepared_sql import execute_by_index, execute_prepared
from apps.core.i18n.messages import define_message
from apps.core.jobs.job_tasks import describe_arguments, find_task, get_queue
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import all_shops_scope

logger = logging.getLogger(__name__)

# A job is sent again if it has not started within this time, because its message may be lost.
SEND_AGAIN_AFTER = timedelta(seconds=45)
# No messages are sent for this time after the broker has failed.
BROKER_PAUSE_SECONDS = 5.0
_BATCH_SIZE = 1000
UNKNOWN_TASK = define_message("jobs.unknown_task", "Unknown task {task}")

_SEND_TIME_SQL = "CASE WHEN (SELECT count(*) FROM jobs_job WHERE {sent}) < %s THEN {now} END"
# With ``BETWEEN``, the queue is a part of the order, and only the index ``jobs_job_unsent`` has this order. PostgreSQL
# could otherwise read the due jobs of all shops by another index, if it expects few. The condition on the due time is
# outside, because the index would be read to the end of the queue to find no more due jobs.
_NEXT_JOBS_SQL = """
SELECT id FROM (
    SELECT id, due_at FROM jobs_job WHERE shop_id = %s AND queue BETWEEN %s AND %s AND {unsent}
    ORDER BY queue, due_at, id LIMIT (SELECT {greatest}(0, %s - count(*)) FROM jobs_job WHERE {sent})
) AS first_jobs WHERE due_at <= {now}
"""
_ANY_DUE_SQL = """
SELECT id FROM jobs_job WHERE state IN ('waiting', 'running') AND due_at <= {now} ORDER BY due_at, id LIMIT 1
"""
# Each part of the union reads a small index.
_LOST_JOBS_SQL = """
SELECT id FROM (
    SELECT * FROM (
        SELECT id, shop_id, due_at FROM jobs_job WHERE {lost_message} ORDER BY shop_id, queue LIMIT {batch_size}
    ) AS lost_messages
    UNION SELECT id, shop_id, due_at FROM jobs_job WHERE {lost_worker}
) AS lost
WHERE due_at <= {now}
    AND NOT EXISTS (SELECT 1 FROM shops_shop WHERE shops_shop.id = lost.shop_id AND read_only_at IS NOT NULL)
ORDER BY due_at, id LIMIT {batch_size}
"""
# The condition excludes jobs that another process has just sent. It names no state, because PostgreSQL would then
# consider other indexes than the primary key.
_CLAIM_SQL = "UPDATE jobs_job SET rung_at = {now} WHERE id IN ({ids}) AND ({not_just_sent}) RETURNING id"
# The recursive query skips through the index from shop to shop, so its cost does not depend on the number of jobs. The
# order of each subquery is the order of the index ``jobs_job_unsent``, so that no other index looks better.
_DUE_SHOPS_SQL = """
WITH RECURSIVE shops(id) AS (
    SELECT (SELECT shop_id FROM jobs_job WHERE {unsent} ORDER BY shop_id, queue, due_at, id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT shop_id FROM jobs_job WHERE {unsent} AND shop_id > shops.id ORDER BY shop_id, queue, due_at, id LIMIT 1
    )
    FROM shops WHERE id IS NOT NULL
), queues(name) AS (VALUES {queues}), first(shop_id, queue, due_at) AS (
    SELECT shops.id, queues.name, (
        SELECT due_at FROM jobs_job
        WHERE shop_id = shops.id AND queue BETWEEN queues.name AND queues.name AND {unsent}
        ORDER BY queue, due_at, id LIMIT 1
    )
    FROM shops JOIN shops_shop ON shops_shop.id = shops.id AND shops_shop.read_only_at IS NULL CROSS JOIN queues
)
SELECT shop_id, queue FROM first WHERE due_at <= {now} ORDER BY due_at
"""
_VENDOR_SQL = {
    "postgresql": {
        "now": "STATEMENT_TIMESTAMP()",
        "earlier": f"STATEMENT_TIMESTAMP() - interval '{SEND_AGAIN_AFTER.seconds} seconds'",
        "greatest": "greatest",
    },
    "sqlite": {
        "now": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "earlier": f"STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '-{SEND_AGAIN_AFTER.seconds} seconds')",
        "greatest": "max",
    },
}
_CONDITIONS = {
    "sent": "shop_id = %s AND queue = %s AND state IN ('waiting', 'running') AND rung_at IS NOT NULL",
    "unsent": "state = 'waiting' AND rung_at IS NULL",
    # A worker may already run the job: its lease has not expired then.
    "not_just_sent": (
        "rung_at IS NULL OR rung_at < {earlier} OR rung_at < due_at OR (rung_at < lease_until AND lease_until < {now})"
    ),
    # The first part is the condition of the index.
    "lost_message": (
        "state IN ('waiting', 'running') AND rung_at IS NOT NULL"
        " AND state = 'waiting' AND (rung_at < {earlier} OR rung_at < due_at)"
    ),
    # Processes of release 1.0.0 run jobs without setting ``rung_at``.
    "lost_worker": (
        "state = 'running' AND lease_until < {now}"
        " AND (rung_at IS NULL OR rung_at < {earlier} OR rung_at < lease_until)"
    ),
}


def get_send_time(shop_id: int, queue: str, place: int = 0) -> RawSQL:
    """Return the value of ``rung_at`` for a new job: now if its shop is below the limit, otherwise NULL.

    ``place`` is the number of jobs that are inserted before this job in the same statement.
    """
    parameters = (shop_id, queue, settings.MAX_JOBS_PER_SHOP - place)
    return RawSQL(_format(_SEND_TIME_SQL), parameters, output_field=DateTimeField())  # noqa: S611 - a constant


def send_next_jobs(shop_id: int, queue: str) -> int:
    """Send the due jobs of a shop that may be sent to a queue, in the order of their due times. Return their number.

    Call this function in the all-shops scope.
    """
    parameters = [shop_id, queue, queue, settings.MAX_JOBS_PER_SHOP, shop_id, queue]
    return _claim_and_send(execute_by_index(_format(_NEXT_JOBS_SQL), parameters))


def send_due_jobs() -> int:
    """Send the jobs that are due or lost. Return their number. If no job is due, this takes one statement."""
    count = 0
    with all_shops_scope():
        if not execute_prepared(_format(_ANY_DUE_SQL), []):
            return 0
        while sent := _claim_and_send(execute_by_index(_format(_LOST_JOBS_SQL), [])):
            count += sent
        for shop_id, queue in execute_by_index(_format(_DUE_SHOPS_SQL), []):
            count += send_next_jobs(shop_id, queue)
    return count


@cache
def _format(sql: str) -> str:
    vendor = _VENDOR_SQL[connection.vendor]
    conditions = {name: condition.format(**vendor) for name, condition in _CONDITIONS.items()}
    queues = ", ".join(f"('{queue}')" for queue in settings.TASK_QUEUES)
    return sql.format(**vendor, **conditions, queues=queues, batch_size=_BATCH_SIZE, ids="{ids}")


def _claim_and_send(rows: list[Any]) -> int:
    """Send the jobs with these IDs. Skip jobs that another process has just sent."""
    if not rows:
        return 0
    ids = [pk for (pk,) in rows]
    claimed = execute_prepared(_format(_CLAIM_SQL).format(ids=", ".join(["%s"] * len(ids))), ids, keep=False)
    return send_jobs(Job.objects.filter(pk__in=[pk for (pk,) in claimed]).order_by("due_at", "id"))


def send_jobs(jobs: Iterable[Job]) -> int:
    """Publish one message for each job, and return the number of messages. ``rung_at`` must already be stored.

    If the broker is down, mark the remaining jobs as not sent, so that ``send_due_jobs`` finds them. Jobs with an
    unknown task fail.
    """
    count, remaining = 0, list(jobs)
    while remaining:
        job = remaining[0]
        name, task = find_task(job.task)
        if task is None:
            _fail_unknown(job)
        elif publish(name, queue=job.queue, task_id=str(job.key), kwargs=describe_arguments(job)):
            count += 1
        else:
            keys = [job.pk for job in remaining]
            with all_shops_scope():
                Job.objects.filter(pk__in=keys, state=Job.State.WAITING).update(rung_at=None)
            break
        del remaining[0]
    return count


def _fail_unknown(job: Job) -> None:
    error = UNKNOWN_TASK(task=repr(job.task))
    logger.error("Job %s failed: %s", job, error)
    with all_shops_scope():
        Job.objects.filter(pk=job.pk, state=Job.State.WAITING).update(
            state=Job.State.FAILED, error=error, finished_at=timezone.now()
        )


def publish(name: str, *, queue: str = "", **options: Any) -> bool:
    """Publish a message for the Celery task ``name``. Return False instead of raising an error if the broker is down.

    ``options`` are options of Celery's ``send_task``, such as ``kwargs`` and ``task_id``.
    """
    try:
        send_task(name, queue=queue or get_queue(name), **options)
    except CircuitOpen:
        return False
    except Exception:
        logger.warning("No message was sent for %s; it will be sent later.", name, exc_info=True)
        return False
    return True


def _send_task(name: str, **options: Any) -> None:
    # Import Celery late. The import takes half a second and would delay the start of a web process.
    import_string(settings.CELERY_APP).send_task(name, ignore_result=True, **options)


# Periodic tasks later find the work that is not sent during the pause.
_broker = CircuitBreaker(BROKER_PAUSE_SECONDS)


def send_task(name: str, **options: Any) -> None:
    """Send a message. Raises ``CircuitOpen`` if the broker has just failed."""
    _broker.call(_send_task, name, **options)
