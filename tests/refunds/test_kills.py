"""Tests for workers killed at any moment during a refund: the money moves once and is recorded once.

The worker runs in a separate process and kills itself (``SIGKILL``) before the n-th database statement of the job:
before the request to the gateway, between the gateway's response and the commit, or after the commit.
"""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.orders.models import Order
from apps.refunds.models import BogusMovement
from tests.support.factories.refunds import create_bogus_order, get_transaction, is_money_consistent, refund_amount
from tests.support.servers.live import get_database_url

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

WORKER = """
import os, signal, sys, uuid
import django
django.setup()
from django.db import connection
from apps.core.jobs import leases, queue

left = int(sys.argv[2])
def counted(execute, sql, params, many, context):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(sql, params, many, context)

connection.ensure_connection()
with connection.execute_wrapper(counted):
    queue.run_job(uuid.UUID(sys.argv[1]))
"""


def run_killed_worker(job: Job, moment: int) -> int:
    """Run a worker that kills itself before statement ``moment``; return the exit code (0 if the job ended first)."""
    env = {**os.environ, "DATABASE_URL": get_database_url(), "DJANGO_SETTINGS_MODULE": "backoffice.settings"}
    env["BACKOFFICE_SECRET_KEY"] = settings.SECRET_KEY
    command = [sys.executable, "-c", WORKER, str(job.key), str(moment)]
    return subprocess.run(command, cwd=settings.BASE_DIR, env=env, check=False, timeout=120).returncode


def kill_and_resume(shop: Shop, moment: int) -> None:
    order = create_bogus_order(shop)
    refund = refund_amount(order, "20.00")
    with shop_scope(shop):
        job = Job.objects.get(task="refunds.payment")

    ended = run_killed_worker(job, moment)
    with shop_scope(shop):
        Job.objects.filter(pk=job.pk, state="running").update(lease_until=timezone.now() - timedelta(seconds=1))
    queue.run_job(job.key)

    assert ended in {-signal.SIGKILL, 0}
    assert get_transaction(refund).status == "success"
    with all_shops_scope():
        assert [row.amount for row in BogusMovement.objects.all()] == [20]
    with shop_scope(shop):
        matching_order = Order.objects.get(pk=order.pk)
        assert (
            str(matching_order.financial_status),
            int(matching_order.total_refunded),
            int(matching_order.outstanding),
        ) == ("refunded", 20, 0)
        assert Job.objects.get(pk=job.pk).state == "done"
    assert is_money_consistent()


@pytest.mark.parametrize("moment", [5, 12, 18])
def test_money_of_a_killed_worker_moves_once(shop: Shop, moment: int) -> None:
    kill_and_resume(shop, moment)


@pytest.mark.soak
@pytest.mark.parametrize("moment", range(3, 33))
def test_money_of_a_worker_killed_at_any_moment_moves_once(shop: Shop, moment: int) -> None:
    kill_and_resume(shop, moment)


def test_the_money_of_a_killed_worker_moves_twice_without_the_key(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show what goes wrong without the idempotency key: the next worker moves the money again."""
    import uuid
    from dataclasses import replace

    from apps.refunds.domain.gateways import BogusGateway

    order = create_bogus_order(shop)
    refund_amount(order, "20.00")
    with shop_scope(shop):
        job = Job.objects.get(task="refunds.payment")
    moment = next(index for index in range(18, 40) if _moved(job, index))
    assert moment
    refund = BogusGateway.refund
    monkeypatch.setattr(BogusGateway, "find", lambda self, key: None)
    monkeypatch.setattr(BogusGateway, "refund", lambda self, call: refund(self, replace(call, key=str(uuid.uuid4()))))
    with shop_scope(shop):
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    queue.run_job(job.key)

    with all_shops_scope():
        assert BogusMovement.objects.count() == 2


def _moved(job: Job, moment: int) -> bool:
    """Return True if a worker killed at this moment has moved the money without recording the refund."""
    with all_shops_scope():
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        run_killed_worker(job, moment)
        assert Job.objects.get(pk=job.pk).state == "running"
        return BogusMovement.objects.exists()
