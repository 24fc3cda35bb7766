"""The bogus gateway for testing: it moves no money, but records refunds like a real gateway.

The payment's authorization controls the gateway's behavior: ``bogus:fail`` refuses the refund, ``bogus:error`` reports
an error, ``bogus:slow`` waits two seconds, ``bogus:twice`` reports the result twice, and ``bogus:later`` returns
"pending" on the first call and the result on the next call. Any other authorization succeeds.
"""

import time
import uuid
from collections.abc import Iterable
from datetime import datetime

from apps.ground.tenancy import get_current_shop
from apps.refunds.domain.gateways import GatewayCall, GatewayMovement, GatewayResult, Status
from apps.refunds.models import BogusMovement

SLOW_SECONDS = 2
_REFUSALS = {"bogus:fail": (Status.FAILURE, "The card was closed"), "bogus:error": (Status.ERROR, "Try again later")}


class BogusGateway:
    """A gateway for testing that records refunds and moves no money."""

    only_records = False

    def refund(self, call: GatewayCall) -> GatewayResult:
        """Record the refund, with the result that the payment's authorization determines."""
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
            from apps.refunds.domain.gateway_processing import record_gateway_result

            record_gateway_result(call.key, result)
        return result

    def find(self, key: str) -> GatewayResult | None:
        """Return the recorded result."""
        row = BogusMovement.objects.filter(key=uuid.UUID(key)).first()
        return None if row is None else _to_result(row)

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        """Yield the recorded refunds."""
        for row in BogusMovement.objects.filter(created_at__gte=since).order_by("pk"):
            yield GatewayMovement(str(row.key), row.amount, row.currency, Status(row.status))


def _to_result(row: BogusMovement) -> GatewayResult:
    return GatewayResult(Status(row.status), reference=f"bogus-{row.pk}", message=row.message)
