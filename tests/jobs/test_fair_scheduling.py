import uuid
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from apps.core.db import prepared_sql
from apps.core.jobs import leases, publishing, queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, get_current_shop, shop_scope
from tests.jobs.conftest import make_waiting_jobs
from tests.support import factories
from tests.support.databases.races import run_concurrently
from tests.support.databases.statistics import forget_statistics, set_statistics_of_no_rows

MANY = 200
LIMIT = 4


@pytest.fixture(autouse=True)
def _limit(settings: Settings) -> None:
    settings.MAX_JOBS_PER_SHOP = LIMIT


@pytest.fixture
def finished_shops(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that receives the shop id of each finished job, in order."""
    shop_ids: list[int] = []
    monkeypatch.setitem(queue.tasks, "test.task", queue.Task(lambda job, **_: shop_ids.append(get_current_shop().pk)))
    return shop_ids


@pytest.fixture
def other_shops(db: None) -> list[Shop]:
    return [factories.make_shop() for _ in range(5)]


def enqueue_job(shop: Shop) -> Job:
    with shop_scope(shop), transaction.atomic():
        return queue.enqueue("test.task")


def send_next_jobs(shop: Shop) -> int:
    with all_shops_scope():
        return publishing.send_next_jobs(shop.pk, "default")


@pytest.mark.django_db(transaction=True)
def test_a_shop_with_one_job_does_not_wait_for_another_shop(
    shop: Shop, other_shops: list[Shop], finished_shops: list[int], notified_jobs: list[uuid.UUID]
) -> None:
    make_waiting_jobs(shop, MANY)
    publishing.send_due_jobs()
    for other in other_shops:
        enqueue_job(other)

    # A worker handles the messages in the order in which they were sent.
    for key in notified_jobs:
        assert queue.handle_message(key)

    assert set(finished_shops[: LIMIT + len(other_shops)]) == {shop.pk, *(other.pk for other in other_shops)}
    assert Counter(finished_shops) == {shop.pk: MANY, **{other.pk: 1 for other in other_shops}}
    with all_shops_scope():
        assert not Job.objects.exclude(state=Job.State.DONE).exists()


@pytest.mark.django_db(transaction=True)
def test_a_shop_sends_jobs_up_to_its_limit(
    shop: Shop, other_shops: list[Shop], finished_shops: list[int], notified_jobs: list[uuid.UUID]
) -> None:
    sent = [enqueue_job(shop).key for _ in range(LIMIT + 2)][:LIMIT]
    with shop_scope(other_shops[0]), transaction.atomic():
        batch = queue.enqueue_many("test.task", [{"number": number} for number in range(LIMIT + 2)])

    assert notified_jobs == sent + [job.key for job in batch[:LIMIT]]
    assert publishing.send_due_jobs() == 0
    assert queue.handle_message(notified_jobs[1])
    assert len(notified_jobs) == 2 * LIMIT + 1


@pytest.mark.django_db(transaction=True)
def test_each_queue_has_its_own_limit(
    shop: Shop, finished_shops: list[int], notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(queue.tasks, "bulk_edits.test", queue.Task(lambda job: None))
    make_waiting_jobs(shop, LIMIT, queue="default", rung_at=timezone.now())

    with shop_scope(shop), transaction.atomic():
        job = queue.enqueue("bulk_edits.test")

    assert (job.queue, notified_jobs) == ("bulk", [job.key])


def test_a_shops_own_jobs_go_in_their_order(
    shop: Shop, finished_shops: list[int], notified_jobs: list[uuid.UUID]
) -> None:
    now = timezone.now()
    keys = [
        key
        for minutes in (3, 1, 2, 5, 4, 6)
        for key in make_waiting_jobs(shop, 1, due_at=now - timedelta(minutes=minutes))
    ]

    assert send_next_jobs(shop) == LIMIT
    assert notified_jobs == [keys[5], keys[3], keys[4], keys[0]]


def test_a_failed_attempt_makes_room_for_the_next_job(
    shop: Shop, notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(job: Job) -> None:
        raise ValueError("not yet")

    monkeypatch.setitem(queue.tasks, "test.task", queue.Task(fail))
    keys = make_waiting_jobs(shop, LIMIT + 1)
    assert send_next_jobs(shop) == LIMIT

    attempt = queue.handle_message(keys[0])

    assert attempt is not None
    assert attempt.retry_at is not None
    assert notified_jobs == keys


def test_a_dead_workers_job_runs_at_its_own_message(
    shop: Shop, finished_shops: list[int], notified_jobs: list[uuid.UUID]
) -> None:
    past = timezone.now() - timedelta(minutes=1)
    values = {"state": Job.State.RUNNING, "lease": uuid.uuid4(), "lease_until": past}
    keys = [
        *make_waiting_jobs(shop, 1, rung_at=past - timedelta(seconds=30), **values),
        # Release 1.0.0 runs jobs without setting ``rung_at``.
        *make_waiting_jobs(shop, 1, **values),
    ]

    assert publishing.send_due_jobs() == 2
    assert sorted(notified_jobs) == sorted(keys)
    assert [bool(queue.handle_message(key)) for key in (*keys, *keys)] == [True, True, False, False]
    assert finished_shops == [shop.pk] * 2


def test_jobs_of_a_read_only_shop_are_not_sent(
    shop: Shop, other_shops: list[Shop], finished_shops: list[int], notified_jobs: list[uuid.UUID]
) -> None:
    make_waiting_jobs(shop, 1)
    make_waiting_jobs(shop, 1, rung_at=timezone.now() - timedelta(minutes=5))
    (job_key,) = make_waiting_jobs(other_shops[0], 1)
    Shop.objects.filter(pk=shop.pk).update(read_only_at=timezone.now())

    assert publishing.send_due_jobs() == 1
    assert notified_jobs == [job_key]


def test_a_job_that_just_started_is_not_sent_again(
    shop: Shop, finished_shops: list[int], notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process sends a job, and a worker starts it, after this process has found it and before it claims it."""
    (key,) = make_waiting_jobs(shop, 1)
    find_jobs = prepared_sql.execute_by_index

    def find_jobs_slowly(sql: str, parameters: list[Any]) -> list[Any]:
        found = find_jobs(sql, parameters)
        monkeypatch.setattr(publishing, "execute_by_index", find_jobs)
        assert send_next_jobs(shop) == 1
        with all_shops_scope():
            assert leases.acquire_lease(key)
        return found

    monkeypatch.setattr(publishing, "execute_by_index", find_jobs_slowly)

    assert send_next_jobs(shop) == 0
    assert notified_jobs == [key]


@pytest.mark.postgres
@pytest.mark.race(no_guard="a limit that is exceeded by one does no harm; each job is sent once")
@pytest.mark.django_db(transaction=True)
def test_concurrent_workers_send_and_run_each_job_once(
    shop: Shop, other_shops: list[Shop], finished_shops: list[int], notified_jobs: list[uuid.UUID]
) -> None:
    keys = [*make_waiting_jobs(shop, 12), *(key for other in other_shops for key in make_waiting_jobs(other, 4))]
    publishing.send_due_jobs()

    def handle_messages() -> None:
        # Each worker receives every message.
        for key in notified_jobs:
            queue.handle_message(key)

    run_concurrently(shop, *[handle_messages] * 8)
    handle_messages()

    assert sorted(notified_jobs) == sorted(keys)
    assert Counter(finished_shops) == {shop.pk: 12, **{other.pk: 4 for other in other_shops}}


def add_due_jobs(shop: Shop) -> None:
    make_waiting_jobs(shop, 20_000)


def add_later_jobs(shop: Shop) -> None:
    make_waiting_jobs(shop, 20_000, due_at=timezone.now() + timedelta(hours=1))


@pytest.mark.postgres
@pytest.mark.parametrize("statistics", ["none", "of an empty queue", "current"])
@pytest.mark.parametrize(
    "many", [pytest.param(fill, marks=pytest.mark.shop_with(fill=fill)) for fill in (add_due_jobs, add_later_jobs)]
)
def test_jobs_are_found_by_index_however_many_wait(
    shop: Shop, other_shops: list[Shop], statistics: str, many: object
) -> None:
    make_waiting_jobs(shop, 1)
    make_waiting_jobs(other_shops[0], 1)
    statements: dict[str, list[Any]] = {
        "SELECT " + publishing._SEND_TIME_SQL: [shop.pk, "default", LIMIT],
        publishing._ANY_DUE_SQL: [],
        # The other statements run with these settings.
        prepared_sql._ONLY_INDEXES: [],
        publishing._NEXT_JOBS_SQL: [shop.pk, "default", "default", LIMIT, shop.pk, "default"],
        publishing._LOST_JOBS_SQL: [],
        publishing._DUE_SHOPS_SQL: [],
    }
    with connection.cursor() as cursor:
        forget_statistics(cursor)
        if statistics == "of an empty queue":
            set_statistics_of_no_rows(cursor, "jobs_job")
        if statistics == "current":
            cursor.execute("ANALYZE jobs_job")
        for sql, parameters in statements.items():
            if sql == prepared_sql._ONLY_INDEXES:
                cursor.execute(sql)
                continue
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {publishing._format(sql)}", parameters)
            plan = cursor.fetchone()[0][0]["Plan"]
            # The jobs of a queue fill more than a hundred pages of each index.
            pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
            assert pages < 50, sql
