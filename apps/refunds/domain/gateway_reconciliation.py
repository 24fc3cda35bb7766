"""Compare refund transactions with the records of payment gateways.

Differences are reported, not fixed. Gateways are called outside of transactions, so rows may change during a
comparison. The next run compares the changed rows.
"""

import logging
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.core.money import format_decimal
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.models import Transaction
from apps.refunds.domain.gateways import Gateway, GatewayMovement, GatewayUnreachable, get_gateway
from apps.refunds.models import RefundPayment

logger = logging.getLogger(__name__)

Status = Transaction.Status
DEFAULT_DAYS = 30
# Newer pending refunds are not reported, because they may still be in progress.
PENDING_GRACE_PERIOD = timedelta(hours=1)


def find_gateway_differences(*, days: int = DEFAULT_DAYS, at: datetime | None = None) -> Iterator[str]:
    """Yield a message for each difference, with the shop, the gateway and the key."""
    now = at or timezone.now()
    for shop in Shop.objects.order_by("pk").iterator():
        with shop_scope(shop):
            sentences = list(_compare_shop(now - timedelta(days=days), now))
        yield from (f"shop {shop.pk}, {sentence}" for sentence in sentences)


def log_gateway_differences(at: datetime) -> int:
    sentences = list(find_gateway_differences(at=at))
    for difference in sentences:
        logger.error("Gateways: %s", difference)
    return len(sentences)


def _compare_shop(since: datetime, now: datetime) -> Iterator[str]:
    rows = _called_payments(since).order_by()
    for name in sorted(set(rows.values_list("transaction__gateway", flat=True))):
        gateway = get_gateway(name)
        if gateway is None:
            yield f"{name}: is not installed"
        elif not gateway.only_records:
            try:
                yield from (f"{name}: {sentence}" for sentence in _compare(name, gateway, since, now))
            except GatewayUnreachable as error:
                yield f"{name}: does not respond ({error})"


def _called_payments(since: datetime) -> "QuerySet[RefundPayment]":
    """Return the refunds that a gateway was called for or will be called for, without those only recorded here."""
    only_recorded = Q(asked_at=None, transaction__status=Status.SUCCESS)
    return RefundPayment.objects.filter(~only_recorded, created_at__gte=since)


def _compare(name: str, gateway: Gateway, since: datetime, now: datetime) -> Iterator[str]:
    movements = {movement.key: movement for movement in gateway.movements(since)}
    ours = _called_payments(since).filter(transaction__gateway=name)
    our_keys: set[str] = set()
    for payment in ours.select_related("transaction").order_by("pk").iterator(chunk_size=1000):
        key = str(payment.key)
        our_keys.add(key)
        if sentence := _describe_difference(payment, movements.get(key), gateway, now):
            yield f"{key}: {sentence}"
    yield from _unknown_movements(movements.values(), our_keys)


def _describe_difference(
    payment: RefundPayment, movement: GatewayMovement | None, gateway: Gateway, now: datetime
) -> str:
    """Describe the difference for one refund, or return an empty string if there is none."""
    row = payment.transaction
    is_late = payment.created_at < now - PENDING_GRACE_PERIOD
    if row.status == Status.PENDING and not is_late:
        return ""
    if movement is None:
        # Look up the key. If the gateway's clock is wrong, the movement may be outside of the compared period.
        result = gateway.find(str(payment.key)) if row.status == Status.SUCCESS else None
        if row.status == Status.SUCCESS and (result is None or result.status != Status.SUCCESS):
            return f"{_format_amount(row)} recorded as refunded, but the gateway does not know the refund"
        return f"pending since {payment.created_at:%Y-%m-%d %H:%M}" if row.status == Status.PENDING else ""
    if movement.status != row.status:
        return f"{row.status} here, {movement.status} at the gateway"
    if (movement.amount, movement.currency) != (row.amount, row.currency):
        return f"{_format_amount(row)} here, {_format_amount(movement)} at the gateway"
    return ""


def _unknown_movements(theirs: Iterable[GatewayMovement], our_keys: set[str]) -> Iterator[str]:
    """Yield a message for each gateway movement without a matching refund. Older refunds are searched, too."""
    unmatched = [movement for movement in theirs if movement.key not in our_keys]
    older_keys = {
        str(key)
        for key in RefundPayment.objects.filter(
            key__in=[uuid.UUID(movement.key) for movement in unmatched if _is_key(movement.key)]
        )
        .order_by()
        .values_list("key", flat=True)
    }
    for movement in unmatched:
        if movement.key not in older_keys:
            amount = _format_amount(movement)
            yield f"{movement.key}: the gateway refunded {amount} ({movement.status}), but no refund is recorded here"


def _format_amount(moved: Transaction | GatewayMovement) -> str:
    return f"{format_decimal(moved.amount, moved.currency)} {moved.currency}"


def _is_key(text: str) -> bool:
    try:
        return bool(uuid.UUID(text))
    except ValueError:
        return False
