"""Tests for workers killed at any moment during a refund: the money moves once and is recorded once.

The worker runs in a separate process and kills itself (``SIGKILL``) before the n-th database statement of the job:
before the request to the gateway, between the gateway's response and the commit, or after the commit.
"""

import signal
import uuid
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.orders.models import Order
from apps.refunds.domain.gateways import BogusGateway
from apps.refunds.models import BogusMovement
from tests.support.factories.refunds import create_bogus_order, get_transaction, is_money_consistent, refund_amount
from tests.support.servers.killed_workers import run_killed_worker

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]


@pytest.mark.parametrize(
    "moment", [5, 12, 18, *(pytest.param(n, marks=pytest.mark.soak, id=f"{n} of all") for n in range(3, 33))]
)
def test_money_of_a_killed_worker_moves_once(shop: Shop, moment: int) -> None:
    order = create_bogus_order(shop)
    refund = refund_amount(order, "20.00")
    job = Job.objects.get(task="refunds.process_payment")

    ended = run_killed_worker(job, moment)
    Job.objects.filter(pk=job.pk, state="running").update(lease_until=timezone.now() - timedelta(seconds=1))
    queue.run_job(job.key)

    assert ended in {-signal.SIGKILL, 0}
    assert get_transaction(refund).status == "success"
    with all_shops_scope():
        assert [row.amount for row in BogusMovement.objects.all()] == [20]
    paid = Order.objects.get(pk=order.pk)
    assert (paid.financial_status, paid.total_refunded, paid.outstanding) == ("refunded", Decimal(20), Decimal(0))
    assert Job.objects.get(pk=job.pk).state == "done"
    assert is_money_consistent()


def test_the_money_of_a_killed_worker_moves_twice_without_the_key(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show what goes wrong without the idempotency key: the next worker moves the money again."""
    order = create_bogus_order(shop)
    refund_amount(order, "20.00")
    job = Job.objects.get(task="refunds.process_payment")
    assert any(_moved(job, moment) for moment in range(18, 40))
    refund = BogusGateway.refund
    monkeypatch.setattr(BogusGateway, "find", lambda self, key: None)
    monkeypatch.setattr(BogusGateway, "refund", lambda self, call: refund(self, replace(call, key=str(uuid.uuid4()))))
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
