"""Orders to refund, and the proof that their money adds up."""

from decimal import Decimal
from io import StringIO
from typing import Any

from django.core.management import call_command
from django.utils import timezone

from apps.ground.tenancy import shop_scope
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.orders.models import Order, Transaction
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundRequest, RefundTransactionInput
from apps.refunds.models import Refund
from apps.shops.models import Shop
from tests.orders.factories import make_order

BY: dict[str, Any] = {"actor": "system"}


def bogus_order(shop: Shop, amount: str = "20.00", behaviour: str = "") -> Order:
    """An order that was paid through the bogus gateway, which is told how to behave."""
    payment = {"kind": "sale", "amount": Decimal(amount), "gateway": "bogus", "authorization": behaviour}
    line = {"title": "Mug", "price": Decimal(amount), "quantity": 1}
    return make_order(shop, lines=[line], transactions=[payment], email="ada@example.com")


def give_back(order: Order, amount: str) -> Refund:
    """Refund money alone."""
    with shop_scope(order.shop):
        wanted = RefundRequest(transaction_inputs=[RefundTransactionInput(Decimal(amount))])
        return create.create_refund(Order.objects.get(pk=order.pk), wanted, at=timezone.now(), **BY)


def work_off(shop: Shop) -> None:
    """Do all jobs that ask gateways and are due."""
    with shop_scope(shop):
        keys = list(Job.objects.filter(task="refunds.payment", state="waiting").values_list("key", flat=True))
    for key in keys:
        queue.run_job(key)


def movement_of(refund: Refund) -> Transaction:
    """The refund's one transaction, as it is now."""
    with shop_scope(refund.shop):
        return Transaction.objects.get(refund_payment__refund=refund)


def money_agrees() -> bool:
    """Whether all money of the database adds up; raises where it does not."""
    err = StringIO()
    try:
        call_command("check_money", stdout=StringIO(), stderr=err)
        call_command("reconcile_gateways", stdout=StringIO(), stderr=err)
    except Exception as error:
        raise AssertionError(err.getvalue()) from error
    return True
