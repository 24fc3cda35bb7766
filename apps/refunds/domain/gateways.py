"""Payment gateways: the protocol, the built-in gateways, and the calls that refund money.

A gateway is an object with the members of ``Gateway``. Apps register the built-in gateways in ``built_in_gateways``:
``manual``, ``bogus`` and ``gift_card``. Other gateways are installed packages with an entry point in the group
``backoffice.gateways``. The name of the entry point is the gateway name in transactions. The value is a class (called
without arguments) or an object.

Gateways are called without locks and outside of database transactions. A caller may crash at any time and repeat the
call with the same idempotency key, so a gateway must never move money twice for the same key. The time of the first
call is saved before the call, so that a repeated call first asks the gateway for the result. Only one result is
recorded per refund, however often the gateway reports it.

The payment's authorization determines the result of the ``bogus`` gateway: ``bogus:fail`` and ``bogus:error`` refuse,
``bogus:slow`` waits, ``bogus:later`` is pending first, and ``bogus:twice`` reports the result twice.
"""

import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol, cast, runtime_checkable

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Round
from django.utils import timezone

from apps.core.db.lookups import in_materialized
from apps.core.i18n.messages import Amount, define_message, define_text
from apps.core.jobs.models import Job
from apps.core.jobs.queue import GiveUp, enqueue
from apps.core.money import format_decimal
from apps.core.registry import Registry
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.orders.domain import payments
from apps.orders.domain.selectors import get_line_items, get_transactions, lock_order
from apps.orders.models import Transaction
from apps.refunds.models import BogusMovement, Refund, RefundPayment

ENTRY_POINT_GROUP = "backoffice.gateways"
MANUAL = "manual"
BOGUS = "bogus"
PROCESS_TASK = "refunds.process_payment"
Status = Transaction.Status
FAILED_STATUSES = (Status.FAILURE, Status.ERROR)
SLOW_SECONDS = 2
# The delay before the next call if the gateway returned "pending".
RETRY_DELAY = timedelta(minutes=10)
# The maximum number of failed transactions to search, newest first.
MAX_ROWS = 10_000
_REFUSALS = {"bogus:fail": (Status.FAILURE, "The card was closed"), "bogus:error": (Status.ERROR, "Try again later")}
_STATUSES = {
    status.value: define_text(f"refunds.status.{status.value}", status.value, status.label) for status in Status
}
_NOT_INSTALLED = define_message("refunds.gateway_not_installed", "The gateway {gateway} is not installed")
_SETTLED = define_message("refunds.settled", "Refund of {amount} through {gateway}: {status}")


class GatewayUnreachable(Exception):
    """Raised when the result of a call is unknown. The caller retries with the same key."""


@dataclass(frozen=True, slots=True)
class GatewayCall:
    """The arguments of a refund call to a gateway.

    Attributes:
        key: The idempotency key of the refund.
        amount: The amount to refund, in ``currency``.
        currency: The currency of the payment.
        authorization: The payment's reference at the gateway.
        test: True if no real money moves.
        order_name: The text for the customer's statement, e.g. ``#1001``.
    """

    key: str
    amount: Decimal
    currency: str
    authorization: str
    test: bool
    order_name: str


@dataclass(frozen=True, slots=True)
class GatewayResult:
    """A gateway's result for a refund.

    Attributes:
        status: ``success``; ``failure`` if the gateway refused the refund; ``error`` if the gateway could not process
            the refund; ``pending`` if the result is not known yet. ``failure`` and ``error`` mean that no money has
            moved.
        reference: The gateway's id for the refund.
        message: A message for staff.
        error_code: The gateway's error code.
        receipt: Other data to store, as JSON.
    """

    status: Transaction.Status
    reference: str = ""
    message: str = ""
    error_code: str = ""
    receipt: ReadOnlyAttrs = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GatewayMovement:
    key: str
    amount: Decimal
    currency: str
    status: Transaction.Status


class Gateway(Protocol):
    """A payment gateway.

    Attributes:
        only_records: True if the gateway moves no money, so that refunds succeed immediately.
    """

    only_records: bool

    def refund(self, call: GatewayCall) -> GatewayResult:
        """Refund money. A call with a known key returns the same result without moving money.

        Raises:
            GatewayUnreachable: The result is unknown.
        """

    def find(self, key: str) -> GatewayResult | None:
        """Return the result for a key, or None if the gateway does not know the key.

        Raises:
            GatewayUnreachable: The gateway does not respond.
        """

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        """Return the gateway's records of the current shop's refunds since the given time, for reconciliation.

        Raises:
            GatewayUnreachable: The gateway does not respond.
        """


@runtime_checkable
class SelectiveGateway(Gateway, Protocol):
    """A gateway that moves the money of some payments. Refunds of its other payments are only recorded."""

    def moves_money_of(self, payment: Transaction) -> bool:
        """Return True if the gateway refunds this payment."""


built_in_gateways = Registry[str, Gateway]("built-in payment gateways")


class ManualGateway:
    """The gateway for refunds that staff make themselves, such as cash and bank transfers. It has no records."""

    only_records = True

    def refund(self, call: GatewayCall) -> GatewayResult:
        return GatewayResult(Status.SUCCESS)

    def find(self, key: str) -> GatewayResult | None:
        return GatewayResult(Status.SUCCESS)

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        return ()


def get_gateway(name: str) -> Gateway | None:
    """Return a built-in gateway, otherwise the gateway of an installed package, or None if there is none."""
    return built_in_gateways.get(name) or load_installed_gateway(name)


@cache
def load_installed_gateway(name: str) -> Gateway | None:
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        loaded = entry.load()
        return cast(Gateway, loaded() if isinstance(loaded, type) else loaded)
    return None


@cache
def get_installed_gateways() -> tuple[str, ...]:
    """Return the names of the built-in gateways, followed by those of installed packages."""
    installed = {entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)} - built_in_gateways.keys()
    return (*built_in_gateways, *sorted(installed))


def only_records_refunds(name: str, payment: Transaction | None = None) -> bool:
    """Return True if refunds through a gateway are made elsewhere and only recorded, also if it is not installed.

    With ``payment``, the result is about refunds of this payment.
    """
    gateway = get_gateway(name)
    if gateway is None or gateway.only_records:
        return True
    return payment is not None and isinstance(gateway, SelectiveGateway) and not gateway.moves_money_of(payment)


class BogusGateway:
    """A gateway for testing that records refunds and moves no money."""

    only_records = False

    def refund(self, call: GatewayCall) -> GatewayResult:
        if call.authorization == "bogus:slow":
            time.sleep(SLOW_SECONDS)
        status, message = _REFUSALS.get(call.authorization, (Status.SUCCESS, "Bogus refund"))
        is_pending = call.authorization == "bogus:later"
        row, created = BogusMovement.objects.get_or_create(
            key=uuid.UUID(call.key),
            defaults={
                "shop": get_current_shop(),
                "amount": call.amount,
                "currency": call.currency,
                "status": status,
                "message": message,
            },
        )
        if is_pending and created:
            return GatewayResult(Status.PENDING, message="The result is not known yet")
        result = _to_result(row)
        if call.authorization == "bogus:twice":
            record_gateway_result(call.key, result)
        return result

    def find(self, key: str) -> GatewayResult | None:
        row = BogusMovement.objects.filter(key=uuid.UUID(key)).first()
        return None if row is None else _to_result(row)

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        for row in BogusMovement.objects.filter(created_at__gte=since).order_by("pk"):
            yield GatewayMovement(str(row.key), row.amount, row.currency, Status(row.status))


built_in_gateways.register(MANUAL, ManualGateway())
built_in_gateways.register(BOGUS, BogusGateway())


def _to_result(row: BogusMovement) -> GatewayResult:
    return GatewayResult(Status(row.status), reference=f"bogus-{row.pk}", message=row.message)


def process_refund_payment(job: Job, **arguments: int) -> None:
    """Call the gateway of the pending refund ``transaction_id`` and record the result, as a background job."""
    transaction_id = arguments["transaction_id"]
    rows = RefundPayment.objects.select_related("transaction__order", "transaction__parent")
    payment = rows.filter(pk=transaction_id).first()
    if payment is None or payment.transaction.status != Status.PENDING:
        return
    gateway = get_gateway(payment.transaction.gateway)
    if gateway is None:
        raise GiveUp(_NOT_INSTALLED(gateway=payment.transaction.gateway))
    result = call_gateway(gateway, payment)
    if result.status == Status.PENDING:
        enqueue(PROCESS_TASK, actor=job.actor, due_at=timezone.now() + RETRY_DELAY, transaction_id=transaction_id)
    record_gateway_result(str(payment.key), result)


def retry_refund_payment(row: Transaction, *, actor: str) -> bool:
    """Enqueue an extra call with the same key for a pending refund. Return False if the refund is not pending."""
    if row.status != Status.PENDING:
        return False
    enqueue(PROCESS_TASK, actor=actor, transaction_id=row.pk)
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
            # Another gateway's reference means nothing to this gateway.
            authorization=row.parent.authorization if row.parent and row.parent.gateway == row.gateway else "",
            test=row.test,
            order_name=row.order.name,
        )
    )


@transaction.atomic
def record_gateway_result(key: str, result: GatewayResult, *, at: datetime | None = None) -> bool:
    """Record a gateway's first result for a refund. Return True if the result is new.

    Gateways that report results asynchronously also call this function, in the shop scope.
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
    payments.record_tender_events([row], actor="system", at=now)
    payments.recalculate_order(
        order,
        get_line_items(order),
        transactions,
        actor="system",
        at=now,
        message=_SETTLED(
            amount=Amount(format_decimal(row.amount, row.currency), row.currency),
            gateway=row.gateway,
            status=_STATUSES[row.status],
        ),
    )
    return True


def filter_owed_refunds(refunds: QuerySet[Refund]) -> QuerySet[Refund]:
    """Return the refunds with a failed transaction that can be retried, under the same condition as on the order page.

    A retry is possible while the payment has a refundable amount and the order is overpaid.
    """
    failed = Transaction.objects.filter(
        kind=Transaction.Kind.REFUND,
        status__in=FAILED_STATUSES,
        parent__refunded__lt=F("parent__amount"),
        # SQLite has no exact decimals, so the difference is rounded.
        order__current_total_price__lt=Round(F("order__total_paid") - F("order__total_refunded"), precision=3),
        refund_payment__isnull=False,
    )
    return refunds.filter(in_materialized(failed.order_by("-pk").values("refund_payment__refund")[:MAX_ROWS]))
