"""What becomes of promised money: the gateway is asked, and its answer is written down, each once.

A refund transaction of a gateway that moves money goes from ``pending`` to ``success``, ``failure`` or ``error``, and
no further. The gateway is asked outside of every transaction. Whoever asks notes before that it does (``asked_at``);
after a crash between the answer and the commit the next attempt finds the note, and first looks up what became of the
key.
Rule: decisions, Refunds (Gateways).
"""

import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.ground import languages
from apps.ground.money import text_of
from apps.ground.retelling import tells
from apps.jobs.domain.queue import GiveUp, enqueue
from apps.jobs.models import Job
from apps.orders.domain import payments, tenders
from apps.orders.domain.loading import lines_of, lock, transactions_of
from apps.orders.models import Transaction
from apps.refunds.domain.gateways import Answer, Call, Gateway, gateway_named
from apps.refunds.models import RefundPayment

Status = Transaction.Status
_STATUSES = {each.value: each.label for each in Status}
_SETTLED = tells(
    gettext_noop("Refund of {amount} through {gateway}: {status}"),
    amount=languages.retold_amount,
    status=lambda word: str(_STATUSES[word]),
)
# After which a gateway that knows only later is asked again.
ASK_AGAIN = timedelta(minutes=10)


def pay(job: Job, **arguments: int) -> None:
    """Ask the gateway of a promised refund, and write down what it says; ``transaction_id`` names it.

    Raises:
        GatewayUnreachable: It does not answer; the job tries again.
        GiveUp: The gateway is not installed any more.
    """
    transaction_id = arguments["transaction_id"]
    payment = _payment(transaction_id)
    if payment is None or payment.transaction.status != Status.PENDING:
        return
    gateway = gateway_named(payment.transaction.gateway)
    if gateway is None:
        raise GiveUp(f"The gateway {payment.transaction.gateway} is not installed")
    answer = ask(gateway, payment)
    if answer.status == Status.PENDING:
        enqueue("refunds.payment", actor=job.actor, due_at=timezone.now() + ASK_AGAIN, transaction_id=transaction_id)
    conclude(str(payment.key), answer)


def ask_again(row: Transaction, *, actor: str) -> bool:
    """Let the gateway of a promised refund be asked now, on top of the attempts to come; False where it has answered.

    It is asked under the same key, so nothing moves twice.
    """
    if row.status != Status.PENDING:
        return False
    enqueue("refunds.payment", actor=actor, transaction_id=row.pk)
    return True


def ask(gateway: Gateway, payment: RefundPayment) -> Answer:
    """What the gateway says of a refund; it is asked to make it unless it knows the key."""
    key = str(payment.key)
    if payment.asked_at is not None and (answer := gateway.find(key)) is not None:
        return answer
    RefundPayment.objects.filter(pk=payment.pk, asked_at=None).update(asked_at=timezone.now())
    row = payment.transaction
    return gateway.refund(
        Call(
            key=key,
            amount=row.amount,
            currency=row.currency,
            authorization=row.parent.authorization if row.parent is not None else "",
            test=row.test,
            order_name=row.order.name,
        )
    )


@transaction.atomic
def conclude(key: str, answer: Answer, *, at: datetime | None = None) -> bool:
    """Write down what a gateway says of a refund; returns whether that was news.

    A gateway that tells its outcome by itself calls it as well, inside of the shop's scope. An answer that comes twice
    changes nothing, and one that comes after another neither.
    """
    found = RefundPayment.objects.filter(key=uuid.UUID(key)).select_related("transaction__order").first()
    if found is None or answer.status == Status.PENDING:
        return False
    order = lock(found.transaction.order)
    known = transactions_of(order)
    row = next(each for each in known if each.pk == found.pk)
    if row.status != Status.PENDING:
        return False
    now = at or timezone.now()
    row.status, row.message, row.error_code = answer.status, answer.message[:1000], answer.error_code[:100]
    row.authorization, row.receipt = answer.reference[:255], dict(answer.receipt)
    row.save(update_fields=["status", "message", "error_code", "authorization", "receipt"])
    if answer.status != Status.SUCCESS and row.parent is not None:
        row.parent.refunded -= row.amount
        row.parent.save(update_fields=["refunded"])
    tenders.tell([row], actor="system", at=now)
    payments.settle(
        order,
        lines_of(order),
        known,
        actor="system",
        at=now,
        message=_SETTLED.format(
            amount=f"{text_of(row.amount, row.currency)} {row.currency}",
            gateway=row.gateway,
            status=row.status,
        ),
    )
    return True


def _payment(transaction_id: int) -> RefundPayment | None:
    rows = RefundPayment.objects.select_related("transaction__order", "transaction__parent")
    return rows.filter(pk=transaction_id).first()
