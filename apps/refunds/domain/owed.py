"""Refunds of whose money some did not go back, and is still owed to the buyer."""

from django.db.models import F, QuerySet

from apps.ground.lookups import among
from apps.orders.models import Transaction
from apps.refunds.models import Refund

# The newest of them; more nobody looks through.
MOST = 10_000
FAILED = (Transaction.Status.FAILURE, Transaction.Status.ERROR)


def with_money_owed(refunds: QuerySet[Refund]) -> QuerySet[Refund]:
    """Those that failed in part or wholly, where another refund would bring the money back after all.

    That is so as long as the payment has something left, and the order was paid more than it comes to: what
    ``apps.refunds.admin`` offers to try again.
    """
    failed = Transaction.objects.filter(
        kind=Transaction.Kind.REFUND,
        status__in=FAILED,
        parent__refunded__lt=F("parent__amount"),
        order__current_total_price__lt=F("order__total_paid") - F("order__total_refunded"),
        refund_payment__isnull=False,
    )
    return refunds.filter(among(failed.order_by("-pk").values("refund_payment__refund")[:MOST]))
