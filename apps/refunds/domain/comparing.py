"""Comparing the books of gateways with ours: what moved there must have moved here, and the other way round.

Nothing is mended. Gateways are asked outside of transactions; what changes meanwhile is told at the next comparison.
"""

import logging
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from django.utils import timezone

from apps.ground.money import text_of
from apps.ground.tenancy import shop_scope
from apps.orders.models import Transaction
from apps.refunds.domain.gateways import Gateway, GatewayUnreachable, Movement, gateway_named
from apps.refunds.models import RefundPayment
from apps.shops.models import Shop

logger = logging.getLogger(__name__)

Status = Transaction.Status
DAYS = 30
# Younger promises may be on their way.
ON_THEIR_WAY = timedelta(hours=1)


def differences(*, days: int = DAYS, at: datetime | None = None) -> Iterator[str]:
    """All that does not agree, as sentences that name the shop, the gateway and the key.

    Args:
        days: How far back is compared.
        at: Now.
    """
    now = at or timezone.now()
    for shop in Shop.objects.order_by("pk").iterator():
        with shop_scope(shop):
            found = list(_of_shop(now - timedelta(days=days), now))
        yield from (f"shop {shop.pk}, {sentence}" for sentence in found)


def report(at: datetime) -> int:
    """Log all that does not agree; returns how much that is."""
    found = list(differences(at=at))
    for difference in found:
        logger.error("Gateways: %s", difference)
    return len(found)


def _of_shop(since: datetime, now: datetime) -> Iterator[str]:
    rows = RefundPayment.objects.filter(created_at__gte=since).order_by()
    for name in sorted(set(rows.values_list("transaction__gateway", flat=True))):
        gateway = gateway_named(name)
        if gateway is None:
            yield f"{name}: is not installed"
        elif not gateway.only_records:
            try:
                yield from (f"{name}: {sentence}" for sentence in _compare(name, gateway, since, now))
            except GatewayUnreachable as silence:
                yield f"{name}: does not answer ({silence})"


def _compare(name: str, gateway: Gateway, since: datetime, now: datetime) -> Iterator[str]:
    theirs = {each.key: each for each in gateway.movements(since)}
    ours = RefundPayment.objects.filter(transaction__gateway=name, created_at__gte=since)
    known: set[str] = set()
    for payment in ours.select_related("transaction").order_by("pk").iterator(chunk_size=1000):
        key = str(payment.key)
        known.add(key)
        if said := _difference(payment, theirs.get(key), gateway, now):
            yield f"{key}: {said}"
    yield from _unknown(theirs.values(), known)


def _difference(payment: RefundPayment, movement: Movement | None, gateway: Gateway, now: datetime) -> str:
    """What does not agree of one refund; blank where all does."""
    row = payment.transaction
    is_late = payment.created_at < now - ON_THEIR_WAY
    if row.status == Status.PENDING and not is_late:
        return ""
    if movement is None:
        # The gateway's clock may be another.
        answer = gateway.find(str(payment.key)) if row.status == Status.SUCCESS else None
        if row.status == Status.SUCCESS and (answer is None or answer.status != Status.SUCCESS):
            return f"{_shown(row)} are noted as given back; the gateway knows nothing of it"
        return f"pending since {payment.created_at:%Y-%m-%d %H:%M}" if row.status == Status.PENDING else ""
    if movement.status != row.status:
        return f"{row.status} here, {movement.status} at the gateway"
    if (movement.amount, movement.currency) != (row.amount, row.currency):
        return f"{_shown(row)} here, {_shown(movement)} at the gateway"
    return ""


def _unknown(theirs: Iterable[Movement], known: set[str]) -> Iterator[str]:
    """Movements of the gateway that no refund here asked for, whenever it was made."""
    strange = [each for each in theirs if each.key not in known]
    elsewhere = {
        str(key)
        for key in RefundPayment.objects.filter(key__in=[uuid.UUID(each.key) for each in strange if _is_key(each.key)])
        .order_by()
        .values_list("key", flat=True)
    }
    for each in strange:
        if each.key not in elsewhere:
            yield f"{each.key}: the gateway moved {_shown(each)} ({each.status}); no refund asked"


def _shown(moved: Transaction | Movement) -> str:
    return f"{text_of(moved.amount, moved.currency)} {moved.currency}"


def _is_key(text: str) -> bool:
    try:
        return bool(uuid.UUID(text))
    except ValueError:
        return False
