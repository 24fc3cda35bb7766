import sys
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.orders.models import Order, Transaction
from apps.refunds.domain import gateways
from apps.refunds.domain.gateways import (
    BogusGateway,
    GatewayResult,
    GatewayUnreachable,
    Status,
    get_gateway,
    load_installed_gateway,
)
from apps.refunds.domain.validation import RefundRefused
from apps.refunds.models import BogusMovement, RefundPayment
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import (
    create_bogus_order,
    get_transaction,
    is_money_consistent,
    refund_amount,
    run_refund_jobs,
)

pytestmark = pytest.mark.usefixtures("in_shop")


def get_refund_state(order: Order) -> tuple[str, Any, Any]:
    order.refresh_from_db()
    return order.financial_status, order.total_refunded, order.outstanding


def test_money_is_promised_and_then_given_back(shop: Shop) -> None:
    order = create_bogus_order(shop)

    refund = refund_amount(order, "5.00")
    promised = get_transaction(refund)
    before = get_refund_state(order)
    run_refund_jobs(shop)

    assert (promised.status, promised.amount) == ("pending", Decimal("5.00"))
    assert before == ("paid", 0, Decimal("-5.00"))
    transaction = get_transaction(refund)
    assert (transaction.status, transaction.message) == ("success", "Bogus refund")
    assert transaction.authorization.startswith("bogus-")
    assert get_refund_state(order) == ("partially_refunded", Decimal("5.00"), 0)
    event = Event.objects.filter(topic="orders/updated").latest("pk")
    assert event.message == "Refund of 5.00 USD through bogus: success"
    assert is_money_consistent()


def test_pending_amounts_are_not_refunded_twice(shop: Shop) -> None:
    order = create_bogus_order(shop)
    refund_amount(order, "15.00")

    with pytest.raises(RefundRefused, match=r"transactions\.0\.amount"):
        refund_amount(order, "5.01")


@pytest.mark.parametrize(("behavior", "status"), [("bogus:fail", "failure"), ("bogus:error", "error")])
def test_a_refusal_frees_the_money_for_another_refund(shop: Shop, behavior: str, status: str) -> None:
    order = create_bogus_order(shop, behavior=behavior)

    refund = refund_amount(order, "20.00")
    run_refund_jobs(shop)

    assert get_transaction(refund).status == status
    assert get_refund_state(order)[:2] == ("paid", 0)
    assert is_money_consistent()
    refund_amount(order, "20.00")


@pytest.mark.parametrize("behavior", ["bogus:twice", "bogus:slow"])
def test_two_answers_and_late_ones_count_once(shop: Shop, behavior: str) -> None:
    order = create_bogus_order(shop, behavior=behavior)

    refund = refund_amount(order, "20.00")
    run_refund_jobs(shop)
    late = gateways.record_gateway_result(str(RefundPayment.objects.get().key), GatewayResult(Status.FAILURE))
    event_count = Event.objects.filter(topic="orders/updated").count()

    assert (get_transaction(refund).status, late) == ("success", False)
    assert get_refund_state(order) == ("refunded", Decimal("20.00"), 0)
    assert event_count == 2
    assert is_money_consistent()


def test_a_gateway_that_knows_later_is_asked_again(shop: Shop) -> None:
    order = create_bogus_order(shop, behavior="bogus:later")
    refund = refund_amount(order, "20.00")
    run_refund_jobs(shop)
    assert get_transaction(refund).status == "pending"

    job = Job.objects.filter(task="refunds.process_payment").latest("pk")
    assert timedelta(minutes=9) < job.due_at - timezone.now() < timedelta(minutes=11)
    Job.objects.filter(pk=job.pk).update(due_at=timezone.now() - timedelta(seconds=1))
    run_refund_jobs(shop)

    assert get_transaction(refund).status == "success"
    assert BogusMovement.objects.count() == 1


def test_the_key_is_looked_up_first_after_silence(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    refund = refund_amount(create_bogus_order(shop), "20.00")
    full_refund = BogusGateway.refund

    def silent(self: BogusGateway, call: Any) -> GatewayResult:
        full_refund(self, call)
        raise GatewayUnreachable("the line went dead")

    monkeypatch.setattr(BogusGateway, "refund", silent)
    run_refund_jobs(shop)
    job = Job.objects.get(task="refunds.process_payment")
    assert (job.state, job.attempts) == ("waiting", 1)
    Job.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    run_refund_jobs(shop)

    assert get_transaction(refund).status == "success"
    assert BogusMovement.objects.count() == 1
    assert is_money_consistent()


MODULE = """
from apps.refunds.domain.gateways import GatewayResult, Status

class Cards:
    only_records = False
    asked = []
    def refund(self, call):
        self.asked.append((call.amount, call.currency, call.authorization))
        return GatewayResult(Status.SUCCESS, reference="re_1", receipt={"id": "re_1"})
    def find(self, key):
        return None
    def movements(self, since):
        return ()
"""


@pytest.fixture
def installed_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "acme_cards.py").write_text(MODULE)
    info = tmp_path / "acme_cards-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-cards\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[backoffice.gateways]\ncards = acme_cards:Cards\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    load_installed_gateway.cache_clear()
    yield
    load_installed_gateway.cache_clear()
    sys.modules.pop("acme_cards", None)


@pytest.mark.usefixtures("installed_gateway")
def test_a_gateway_is_a_package_that_one_installs(shop: Shop) -> None:
    payment = {"kind": "sale", "amount": Decimal("20.00"), "gateway": "cards", "authorization": "ch_1"}
    order = make_order(shop, transactions=[payment])

    refund = refund_amount(order, "20.00")
    run_refund_jobs(shop)

    transaction = get_transaction(refund)
    assert (transaction.status, transaction.authorization, transaction.receipt) == ("success", "re_1", {"id": "re_1"})
    assert get_gateway("cards").asked == [(Decimal("20.00"), "USD", "ch_1")]  # type: ignore[union-attr]


def get_log_texts() -> str:
    err = StringIO()
    with pytest.raises(CommandError):
        call_command("reconcile_gateways", stdout=StringIO(), stderr=err)
    return err.getvalue()


def test_planted_differences_with_a_gateway_are_named(shop: Shop) -> None:
    refund_amount(create_bogus_order(shop), "5.00")
    run_refund_jobs(shop)
    key = BogusMovement.objects.get().key
    BogusMovement.objects.update(amount=F("amount") + 1)
    more = get_log_texts()
    BogusMovement.objects.update(amount=F("amount") - 1, status="failure")
    refused = get_log_texts()
    BogusMovement.objects.update(status="success", key="0199c0de-0000-7000-8000-000000000001")
    strange = get_log_texts()

    assert f"shop {shop.pk}, bogus: {key}: 5.00 USD here, 6.00 USD at the gateway" in more
    assert f"{key}: success here, failure at the gateway" in refused
    assert f"{key}: 5.00 USD recorded as refunded, but the gateway does not know the refund" in strange
    assert "0199c0de-0000-7000-8000-000000000001: the gateway refunded" in strange


def test_unanswered_refunds_are_reported_after_an_hour(shop: Shop) -> None:
    refund_amount(create_bogus_order(shop), "5.00")
    assert is_money_consistent()

    RefundPayment.objects.update(created_at=timezone.now() - timedelta(hours=2))

    assert "pending since" in get_log_texts()


def test_a_repeated_job_does_not_ask_the_gateway_again(shop: Shop) -> None:
    refund_amount(create_bogus_order(shop), "5.00")
    run_refund_jobs(shop)
    job = Job.objects.get(task="refunds.process_payment")
    assert job.state == "done"
    Job.objects.update(state="waiting")

    assert queue.run_job(job.key)

    assert (BogusMovement.objects.count(), Transaction.objects.filter(kind="refund").count()) == (1, 1)
