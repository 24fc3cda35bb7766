import uuid
from collections import Counter
from datetime import timedelta
from functools import partial
from unittest.mock import Mock

import pytest
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from apps.core.jobs import fair_scheduling, queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, get_current_shop, shop_scope
from backoffice.celery import run_job
from tests.jobs.conftest import make_waiting_jobs
from tests.support import factories
from tests.support.databases.races import run_concurrently

MANY = 200


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


@pytest.mark.django_db(transaction=True)
def test_a_shop_with_one_job_does_not_wait_for_another_shop(
    shop: Shop, other_shops: list[Shop], finished_shops: list[int], notified_jobs: list[uuid.UUID]
) -> None:
    keys = make_waiting_jobs(shop, MANY)
    for other in other_shops:
        enqueue_job(other)

    for key in keys[:120]:
        assert queue.handle_notification(key)

    assert {*finished_shops} == {shop.pk, *(other.pk for other in other_shops)}
    for key in [*keys[120:], *notified_jobs]:
        queue.handle_notification(key)
    assert Counter(finished_shops) == {shop.pk: MANY, **{other.pk: 1 for other in other_shops}}
    with all_shops_scope():
        assert not Job.objects.exclude(state=Job.State.DONE).exists()


def test_shops_with_fewer_jobs_are_next(shop: Shop, other_shops: list[Shop], finished_shops: list[int]) -> None:
    later = timezone.now() + timedelta(minutes=1)
    make_waiting_jobs(shop, 2)
    make_waiting_jobs(shop, 1, state=Job.State.RUNNING, lease=uuid.uuid4(), lease_until=later)
    (job_key,) = make_waiting_jobs(other_shops[0], 1)
    make_waiting_jobs(other_shops[1], 1, due_at=later)

    with all_shops_scope():
        assert {fair_scheduling.get_next_job_key() for _ in range(20)} == {job_key}


def test_a_shops_own_jobs_go_in_their_order(shop: Shop, finished_shops: list[int]) -> None:
    later, (sooner,) = enqueue_job(shop), make_waiting_jobs(shop, 1)

    with all_shops_scope():
        assert fair_scheduling.get_next_job_key() == sooner
    assert queue.run_job(sooner)
    with all_shops_scope():
        assert fair_scheduling.get_next_job_key() == later.key


def test_a_dead_workers_job_runs_at_its_own_message(shop: Shop, finished_shops: list[int]) -> None:
    past = timezone.now() - timedelta(minutes=1)
    (job_key,) = make_waiting_jobs(shop, 1, state=Job.State.RUNNING, lease=uuid.uuid4(), lease_until=past)

    assert queue.handle_notification(job_key)
    assert not queue.handle_notification(job_key)
    assert finished_shops == [shop.pk]


def test_jobs_of_a_read_only_shop_do_not_run(shop: Shop, other_shops: list[Shop], finished_shops: list[int]) -> None:
    make_waiting_jobs(shop, 1)
    (job_key,) = make_waiting_jobs(other_shops[0], 1)
    Shop.objects.filter(pk=shop.pk).update(read_only_at=timezone.now())

    with all_shops_scope():
        assert {fair_scheduling.get_next_job_key() for _ in range(20)} == {job_key}


@pytest.mark.django_db(transaction=True)
def test_a_shop_at_its_limit_is_notified_again_later(
    shop: Shop,
    finished_shops: list[int],
    notified_jobs: list[uuid.UUID],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.MAX_JOBS_PER_SHOP = 1
    first, second = make_waiting_jobs(shop, 2)
    results: list[bool] = []
    monkeypatch.setitem(
        queue.tasks, "test.long", queue.Task(lambda job, **_: results.append(queue.handle_notification(second)))
    )
    with shop_scope(shop):
        Job.objects.filter(key=first).update(task="test.long")

    assert queue.handle_notification(first)

    assert (results, notified_jobs) == ([False], [second])
    assert queue.handle_notification(second)


@pytest.mark.django_db(transaction=True)
def test_many_jobs_send_one_message(shop: Shop, finished_shops: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[tuple[uuid.UUID, ...]] = []
    monkeypatch.setattr(queue, "notifiers", {"test": lambda *keys: messages.append(keys)})
    with shop_scope(shop), transaction.atomic():
        jobs = queue.enqueue_many("test.task", [{"number": number} for number in range(11)])
        assert messages == []
    [rung] = messages

    ended: list[int] = []
    while messages:
        run_job(*map(str, messages.pop(0)))
        ended.append(len(finished_shops))

    assert rung == tuple(job.key for job in jobs)
    # Each message first passes the other jobs on to the next worker, and then runs one job.
    assert ended == list(range(1, 12))
    with shop_scope(shop):
        assert set(Job.objects.values_list("state", flat=True)) == {Job.State.DONE}


@pytest.mark.django_db(transaction=True)
def test_jobs_without_a_notification_are_found_by_the_sweep(
    shop: Shop, finished_shops: list[int], notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = make_waiting_jobs(shop, 5)

    with monkeypatch.context() as patched:
        patched.setattr(queue, "notifiers", {"test": Mock(side_effect=ConnectionError("no broker"))})
        assert queue.handle_notification(*keys)

    assert (len(finished_shops), queue.notify_stale_jobs()) == (1, 4)
    for key in notified_jobs:
        assert queue.handle_notification(key)
    assert finished_shops == [shop.pk] * 5


@pytest.mark.postgres
@pytest.mark.race(no_guard="the lease is the guard; test_leases.py shows the breach without it")
@pytest.mark.django_db(transaction=True)
def test_concurrent_messages_run_each_job_once(shop: Shop, other_shops: list[Shop], finished_shops: list[int]) -> None:
    keys = [*make_waiting_jobs(shop, 12), *(key for other in other_shops for key in make_waiting_jobs(other, 4))]

    def handle_messages(some: list[uuid.UUID]) -> None:
        for key in some:
            queue.handle_notification(key)

    run_concurrently(shop, *(partial(handle_messages, keys[worker::8]) for worker in range(8)))

    with all_shops_scope():
        left = list(Job.objects.exclude(state=Job.State.DONE).values_list("key", flat=True))
    assert len(finished_shops) == len(keys) - len(left)
    handle_messages(left)
    assert Counter(finished_shops) == {shop.pk: 12, **{other.pk: 4 for other in other_shops}}


@pytest.mark.postgres
def test_the_next_job_is_found_by_index_however_many_wait(shop: Shop, other_shops: list[Shop]) -> None:
    make_waiting_jobs(shop, 20_000)
    make_waiting_jobs(other_shops[0], 1)
    sql = fair_scheduling._NEXT_JOB_SQL.format(now=fair_scheduling._NOW["postgresql"])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", [10])
        plan = cursor.fetchone()[0][0]["Plan"]

    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 300
