"""Find refunds with failed transactions and money still owed to the customer."""

from django.db.models import F, QuerySet

from apps.ground.lookups import in_materialized
from apps.orders.models import Transaction
from apps.refunds.models import Refund

# The maximum number of failed transactions to search, newest first.
MAX_ROWS = 10_000
FAILED_STATUSES = (Transaction.Status.FAILURE, Transaction.Status.ERROR)


def filter_owed_refunds(refunds: QuerySet[Refund]) -> QuerySet[Refund]:
    """Return the refunds with a failed transaction that can be retried.

    A retry is possible while the payment has a refundable amount and the order is overpaid. ``apps.refunds.admin``
    offers retries under the same condition.
    """
    failed = Transaction.objects.filter(
        kind=Transaction.Kind.REFUND,
        status__in=FAILED_STATUSES,
        parent__refunded__lt=F("parent__amount"),
        order__current_total_price__lt=F("order__total_paid") - F("order__total_refunded"),
        refund_payment__isnull=False,
    )
    return refunds.filter(in_materialized(failed.order_by("-pk").values("refund_payment__refund")[:MAX_ROWS]))
