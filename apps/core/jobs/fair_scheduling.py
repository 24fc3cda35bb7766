"""Fair scheduling: shops share the workers equally, even if one shop has many more jobs.

A notification only means that a job is waiting. The notified worker selects the shop with the fewest running jobs (at
random if there are several). It runs the job that has been due longest in this shop. Therefore no sequence of shops has
to be stored, and workers do not have to coordinate. A shop with a single job waits for about one job per waiting shop,
even if another shop enqueued ten thousand jobs earlier.

There is one notification per due job, and each notification runs one job. A skipped job therefore runs when a later
notification arrives. The query uses an index to find one waiting job per shop. The cost depends on the number of shops
with waiting jobs, not on the number of jobs.
"""

import uuid

from django.conf import settings
from django.db import connection

from apps.core.db.prepared_sql import execute_prepared

# The query skips through the index from shop to shop to find the shops with waiting jobs, and counts the running jobs
# of each shop.
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
    """Return the key of the next job among all shops, or None if no job can start.

    No job can start if no job is due or if all shops with due jobs already run the maximum number of jobs. Call this
    function in the all-shops scope. Another worker may acquire the returned job first.
    """
    rows = execute_prepared(
        _NEXT_JOB_SQL.format(now=_NOW[connection.vendor]), [settings.MAX_JOBS_PER_SHOP or _UNLIMITED]
    )
    return uuid.UUID(str(rows[0][0])) if rows else None
