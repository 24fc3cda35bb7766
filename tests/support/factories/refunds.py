from decimal import Decimal
from io import StringIO

from django.core.management import call_command
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.orders.models import Order, Transaction
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundRequest, RefundTransactionInput
from apps.refunds.models import Refund
from tests.support.factories.orders import make_order

BY: Attrs = {"actor": "system"}


def create_bogus_order(shop: Shop, amount: str = "20.00", behavior: str = "") -> Order:
    """Create an order that was paid through the bogus gateway. ``behavior`` controls the gateway's response."""
    payment = {"kind": "sale", "amount": Decimal(amount), "gateway": "bogus", "authorization": behavior}
    line = {"title": "Mug", "price": Decimal(amount), "quantity": 1}
    return make_order(shop, lines=[line], transactions=[payment], email="ada@example.com")


def refund_amount(order: Order, amount: str) -> Refund:
    with shop_scope(order.shop):
        refund_request = RefundRequest(transaction_inputs=[RefundTransactionInput(Decimal(amount))])
        return create.create_refund(Order.objects.get(pk=order.pk), refund_request, at=timezone.now(), **BY)


def run_refund_jobs(shop: Shop) -> None:
    with shop_scope(shop):
        keys = list(Job.objects.filter(task="refunds.process_payment", state="waiting").values_list("key", flat=True))
    for key in keys:
        queue.run_job(key)


def get_transaction(refund: Refund) -> Transaction:
    with shop_scope(refund.shop):
        return Transaction.objects.get(refund_payment__refund=refund)


def is_money_consistent() -> bool:
    """Return True if all amounts in the database add up; raise an error otherwise."""
    err = StringIO()
    try:
        call_command("check_money", stdout=StringIO(), stderr=err)
        call_command("reconcile_gateways", stdout=StringIO(), stderr=err)
    except Exception as error:
        raise AssertionError(err.getvalue()) from error
    return True
