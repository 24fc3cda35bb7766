"""Process pending refunds: call the payment gateway and record its result.

A refund transaction of a gateway that moves money changes once, from ``pending`` to ``success``, ``failure`` or
``error``. The gateway is called outside of database transactions. ``asked_at`` is saved before the call. If the process
crashes before the result is committed, the next attempt sees ``asked_at`` and first looks up the key at the gateway.
"""

import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.ground import languages
from apps.ground.money import format_decimal
from apps.ground.stored_messages import register_message
from apps.jobs.domain.queue import GiveUp, enqueue
from apps.jobs.models import Job
from apps.orders.domain import payments, tender_transactions
from apps.orders.domain.selectors import get_line_items, get_transactions, lock_order
from apps.orders.models import Transaction
from apps.refunds.domain.gateways import Gateway, GatewayCall, GatewayResult, get_gateway
from apps.refunds.models import RefundPayment

Status = Transaction.Status
_STATUSES = {member.value: member.label for member in Status}
_SETTLED = register_message(
    gettext_noop("Refund of {amount} through {gateway}: {status}"),
    amount=languages.localize_stored_amount,
    status=lambda word: str(_STATUSES[word]),
)
# The delay before the next call if the gateway returned "pending".
RETRY_DELAY = timedelta(minutes=10)


def process_refund_payment(job: Job, **arguments: int) -> None:
    """Call the gateway of the pending refund ``transaction_id`` and record the result, as a background job.

    Raises:
        GatewayUnreachable: The gateway does not respond. The job is retried.
        GiveUp: The gateway is not installed.
    """
    transaction_id = arguments["transaction_id"]
    payment = _payment(transaction_id)
    if payment is None or payment.transaction.status != Status.PENDING:
        return
    gateway = get_gateway(payment.transaction.gateway)
    if gateway is None:
        raise GiveUp(f"The gateway {payment.transaction.gateway} is not installed")
    result = call_gateway(gateway, payment)
    if result.status == Status.PENDING:
        enqueue("refunds.payment", actor=job.actor, due_at=timezone.now() + RETRY_DELAY, transaction_id=transaction_id)
    record_gateway_result(str(payment.key), result)


def retry_refund_payment(row: Transaction, *, actor: str) -> bool:
    """Enqueue an extra gateway call for a pending refund. Return False if the gateway has already responded.

    The call uses the same key, so no money moves twice.
    """
    if row.status != Status.PENDING:
        return False
    enqueue("refunds.payment", actor=actor, transaction_id=row.pk)
    return True


def call_gateway(gateway: Gateway, payment: RefundPayment) -> GatewayResult:
    """Return the gateway's result for a refund. If the gateway does not know the key, the refund is requested."""
    key = str(payment.key)
    if payment.asked_at is not None and (result := gateway.find(key)) is not None:
        return result
    RefundPayment.objects.filter(pk=payment.pk, asked_at=None).update(asked_at=timezone.now())
    row = payment.transaction
    return gateway.refund(
        GatewayCall(
            key=key,
            amount=row.amount,
            currency=row.currency,
            authorization=row.parent.authorization if row.parent is not None else "",
            test=row.test,
            order_name=row.order.name,
        )
    )


@transaction.atomic
def record_gateway_result(key: str, result: GatewayResult, *, at: datetime | None = None) -> bool:
    """Record a gateway's result for a refund. Return True if the result is new.

    Gateways that report results asynchronously also call this function, in the shop scope. Only the first result is
    recorded.
    """
    payment = RefundPayment.objects.filter(key=uuid.UUID(key)).select_related("transaction__order").first()
    if payment is None or result.status == Status.PENDING:
        return False
    order = lock_order(payment.transaction.order)
    transactions = get_transactions(order)
    row = next(transaction_row for transaction_row in transactions if transaction_row.pk == payment.pk)
    if row.status != Status.PENDING:
        return False
    now = at or timezone.now()
    row.status, row.message, row.error_code = result.status, result.message[:1000], result.error_code[:100]
    row.authorization, row.receipt = result.reference[:255], dict(result.receipt)
    row.save(update_fields=["status", "message", "error_code", "authorization", "receipt"])
    if result.status != Status.SUCCESS and row.parent is not None:
        row.parent.refunded -= row.amount
        row.parent.save(update_fields=["refunded"])
    tender_transactions.record_tender_events([row], actor="system", at=now)
    payments.recalculate_order(
        order,
        get_line_items(order),
        transactions,
        actor="system",
        at=now,
        message=_SETTLED.format(
            amount=f"{format_decimal(row.amount, row.currency)} {row.currency}",
            gateway=row.gateway,
            status=row.status,
        ),
    )
    return True


def _payment(transaction_id: int) -> RefundPayment | None:
    rows = RefundPayment.objects.select_related("transaction__order", "transaction__parent")
    return rows.filter(pk=transaction_id).first()
