"""Whose turn it is: shops share the workers alike, however many jobs one of them has.

A bell says that something waits, not what is to be done next. Who hears it does a job of the shop that has the fewest
in work, by chance where several have as few, and of that shop the one that is due for the longest. So no order between
shops has to be kept anywhere, workers do not ask each other, and a shop with one job waits for about as many jobs as
there are shops that wait, not for the ten thousand that another one asked for before.

As many bells ring as jobs become due, and each does one: the bell of a job that was passed over finds it, or another,
later. What lies is found by index, shop by shop; it costs a step for each shop that has something waiting, whatever
waits there.
"""

import uuid

from django.conf import settings
from django.db import connection

from apps.ground.sql import execute

# Shops with something waiting, by leaps over the index from one shop to the next, and what each has in work.
_NEXT = """
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
_NO_CAP = 1_000_000


def next_key() -> uuid.UUID | None:
    """The key of the job whose turn it is, of all shops; None where none is due, or each shop has its share in work.

    Call it with every shop in sight. Another worker may take the job first.
    """
    found = execute(_NEXT.format(now=_NOW[connection.vendor]), [settings.JOBS_PER_SHOP or _NO_CAP])
    return uuid.UUID(str(found[0][0])) if found else None
