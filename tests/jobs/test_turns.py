"""Fair scheduling: workers serve shops alternately, however many jobs a shop has queued before."""

import uuid
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.ground.tenancy import all_shops_scope, get_current_shop, shop_scope
from apps.jobs.domain import fair_scheduling, queue
from apps.jobs.models import Job
from apps.shops.models import Shop
from backoffice.celery import run_job
from tests import factories
from tests.races import at_once

MANY = 200


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that receives the shop of each finished job, in order."""
    shop_ids: list[int] = []
    monkeypatch.setattr(queue, "_tasks", {})
    queue.register_task("test.task", lambda job, **_: shop_ids.append(get_current_shop().pk))
    return shop_ids


@pytest.fixture
def others(db: None) -> list[Shop]:
    return [factories.make_shop() for _ in range(5)]


def ask(shop: Shop, count: int = 1, **values: Any) -> list[Job]:
    with shop_scope(shop), transaction.atomic():
        return [queue.enqueue("test.task", **values) for _ in range(count)]


def flood(shop: Shop, count: int = MANY, **values: Any) -> list[uuid.UUID]:
    """Create jobs that have been waiting for a while."""
    since = timezone.now() - timedelta(minutes=5)
    jobs = [Job(shop=shop, task="test.task", **{"due_at": since, **values}) for _ in range(count)]
    with shop_scope(shop):
        return [job.key for job in Job.objects.bulk_create(jobs)]


@pytest.mark.django_db(transaction=True)
def test_a_shop_with_one_job_does_not_wait_for_the_many_of_another(
    shop: Shop, others: list[Shop], done: list[int], rung: list[uuid.UUID]
) -> None:
    keys = flood(shop)
    for other in others:
        ask(other)

    for key in keys[:120]:
        assert queue.handle_notification(key)

    assert {*done} == {shop.pk, *(other.pk for other in others)}
    for key in [*keys[120:], *rung]:
        queue.handle_notification(key)
    assert Counter(done) == {shop.pk: MANY, **{other.pk: 1 for other in others}}
    with all_shops_scope():
        assert not Job.objects.exclude(state=Job.State.DONE).exists()


def test_who_has_fewer_in_work_is_next(shop: Shop, others: list[Shop], done: list[int]) -> None:
    later = timezone.now() + timedelta(minutes=1)
    flood(shop, 2)
    flood(shop, 1, state=Job.State.RUNNING, lease=uuid.uuid4(), lease_until=later)
    (job_key,) = flood(others[0], 1)
    flood(others[1], 1, due_at=later)

    with all_shops_scope():
        assert {fair_scheduling.get_next_job_key() for _ in range(20)} == {job_key}


def test_a_shops_own_jobs_go_in_their_order(shop: Shop, done: list[int]) -> None:
    later, sooner = ask(shop)[0], flood(shop, 1)[0]

    with all_shops_scope():
        assert fair_scheduling.get_next_job_key() == sooner
    assert queue.run_job(sooner)
    with all_shops_scope():
        assert fair_scheduling.get_next_job_key() == later.key


def test_what_a_dead_worker_left_is_done_at_its_own_bell(shop: Shop, done: list[int]) -> None:
    past = timezone.now() - timedelta(minutes=1)
    (job_key,) = flood(shop, 1, state=Job.State.RUNNING, lease=uuid.uuid4(), lease_until=past)

    assert queue.handle_notification(job_key)
    assert not queue.handle_notification(job_key)
    assert done == [shop.pk]


def test_a_shop_that_can_only_be_read_has_no_turn(shop: Shop, others: list[Shop], done: list[int]) -> None:
    flood(shop, 1)
    (job_key,) = flood(others[0], 1)
    Shop.objects.filter(pk=shop.pk).update(read_only_at=timezone.now())

    with all_shops_scope():
        assert {fair_scheduling.get_next_job_key() for _ in range(20)} == {job_key}


@pytest.mark.django_db(transaction=True)
def test_a_shop_has_its_share_in_work_and_its_bell_rings_again(
    shop: Shop, done: list[int], rung: list[uuid.UUID], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAX_JOBS_PER_SHOP = 1
    first, second = flood(shop, 2)
    results: list[bool] = []
    queue.register_task("test.long", lambda job, **_: results.append(queue.handle_notification(second)))
    with shop_scope(shop):
        Job.objects.filter(key=first).update(task="test.long")

    assert queue.handle_notification(first)

    assert results == [False]
    assert rung == [second]
    assert queue.handle_notification(second)


@pytest.mark.django_db(transaction=True)
def test_many_jobs_ring_once_and_whoever_hears_it_passes_on_all_but_one(
    shop: Shop, done: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[tuple[uuid.UUID, ...]] = []
    monkeypatch.setattr(queue, "_notifiers", [lambda *keys: messages.append(keys)])
    with shop_scope(shop), transaction.atomic():
        jobs = queue.enqueue_many("test.task", [{"number": number} for number in range(11)])
        assert messages == []
    [rung] = messages

    ended: list[int] = []
    while messages:
        run_job(*map(str, messages.pop(0)))
        ended.append(len(done))

    assert rung == tuple(job.key for job in jobs)
    # Each message runs one job and is passed on before.
    assert ended == list(range(1, 12))
    with shop_scope(shop):
        assert set(Job.objects.values_list("state", flat=True)) == {Job.State.DONE}


@pytest.mark.django_db(transaction=True)
def test_what_is_not_passed_on_is_found_by_the_sweep(
    shop: Shop, done: list[int], rung: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = flood(shop, 5)

    def away(*keys: uuid.UUID) -> None:
        raise ConnectionError("no broker")

    with monkeypatch.context() as patched:
        patched.setattr(queue, "_notifiers", [away])
        assert queue.handle_notification(*keys)

    assert (len(done), queue.notify_stale_jobs()) == (1, 4)
    for key in rung:
        assert queue.handle_notification(key)
    assert done == [shop.pk] * 5


def answer_all(keys: list[uuid.UUID]) -> None:
    for key in keys:
        queue.handle_notification(key)


@pytest.mark.postgres
@pytest.mark.race(no_guard="the lease is the guard; test_leases.py shows the breach without it")
@pytest.mark.django_db(transaction=True)
def test_workers_that_hear_many_bells_at_once_do_each_job_once(shop: Shop, others: list[Shop], done: list[int]) -> None:
    keys = [*flood(shop, 12), *(key for other in others for key in flood(other, 4))]

    at_once(shop, *(partial(answer_all, keys[worker::8]) for worker in range(8)))

    with all_shops_scope():
        job_key = list(Job.objects.exclude(state=Job.State.DONE).values_list("key", flat=True))
    assert len(done) == len(keys) - len(job_key)
    for key in job_key:
        queue.handle_notification(key)
    assert Counter(done) == {shop.pk: 12, **{other.pk: 4 for other in others}}


@pytest.mark.postgres
def test_whose_turn_it_is_is_found_by_index_whatever_waits(shop: Shop, others: list[Shop]) -> None:
    flood(shop, 20_000)
    flood(others[0], 1)
    sql = fair_scheduling._NEXT_JOB_SQL.format(now=fair_scheduling._NOW["postgresql"])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", [10])
        plan = cursor.fetchone()[0][0]["Plan"]

    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 300
