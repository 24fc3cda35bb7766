"""Fair scheduling: shops share the workers equally, however many jobs one shop has.

A notification says that a job is waiting, not which job is next. The notified worker runs a job of the shop with the
fewest running jobs (at random among equals), and of that shop the job that has been due the longest. So no order
between shops has to be stored, workers do not coordinate, and a shop with one job waits for about as many jobs as there
are waiting shops, not for the ten thousand jobs that another shop enqueued before.

There are as many notifications as due jobs, and each runs one job: the notification of a skipped job finds that job or
another one later. The query finds waiting jobs by index, shop by shop. It costs one step per shop with waiting jobs,
independent of their number.
"""

import uuid

from django.conf import settings
from django.db import connection

from apps.ground.prepared_sql import execute_prepared

# The query finds the shops with waiting jobs by skipping through the index from shop to shop, and counts each shop's
# running jobs.
_NEXT_JOB_SQL = """
WITH RECURSIVE waiting(shop_id) AS (
    SELECT min(shop_id) FROM jobs_job WHERE state = 'waiting'
    UNION ALL
    SELECT (SELECT min(shop_id) FROM jobs_job WHERE state = 'waiting' AND shop_id > waiting.shop_id)
    FROM waiting WHERE shop_id IS NOT NULL
), working(shop_id, jobs) AS (
    SELECT shop_id, count(*) FROM jobs_job WHERE state = 'running' AND lease_until >= {now} GROUP BY shop_id
), first(shop_id, id) AS (
    SELECT waiting.shop_id, (
        SELECT id FROM jobs_job
        WHERE jobs_job.shop_id = waiting.shop_id AND state = 'waiting' AND due_at <= {now} ORDER BY due_at, id LIMIT 1
    )
    FROM waiting JOIN shops_shop ON shops_shop.id = waiting.shop_id AND shops_shop.read_only_at IS NULL
)
SELECT jobs_job.key FROM first
JOIN jobs_job ON jobs_job.id = first.id
LEFT JOIN working ON working.shop_id = first.shop_id
WHERE coalesce(working.jobs, 0) < %s
ORDER BY coalesce(working.jobs, 0), random()
LIMIT 1
"""
_NOW = {"postgresql": "STATEMENT_TIMESTAMP()", "sqlite": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')"}
_UNLIMITED = 1_000_000


def get_next_job_key() -> uuid.UUID | None:
    """Return the key of the next job of all shops, or None if no job can start.

    No job can start if none is due, or if all shops with due jobs run their maximum number of jobs. Call this function
    in the all-shops scope. Another worker may acquire the job first.
    """
    rows = execute_prepared(
        _NEXT_JOB_SQL.format(now=_NOW[connection.vendor]), [settings.MAX_JOBS_PER_SHOP or _UNLIMITED]
    )
    return uuid.UUID(str(rows[0][0])) if rows else None
