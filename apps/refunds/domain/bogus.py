"""The bogus gateway, for trying things out: it moves no money, and keeps books of its own as if it did.

The authorization of the payment tells it how to behave: ``bogus:fail`` refuses, ``bogus:error`` cannot try,
``bogus:slow`` waits two seconds, ``bogus:twice`` tells its answer twice, ``bogus:later`` knows only when it is asked
again. Anything else succeeds.
"""

import time
import uuid
from collections.abc import Iterable
from datetime import datetime

from apps.ground.tenancy import current_shop
from apps.refunds.domain.gateways import Answer, Call, Movement, Status
from apps.refunds.models import BogusMovement

SLOW_SECONDS = 2
_REFUSALS = {"bogus:fail": (Status.FAILURE, "The card was closed"), "bogus:error": (Status.ERROR, "Try again later")}


class Bogus:
    """See the module."""

    only_records = False

    def refund(self, call: Call) -> Answer:
        """Behave as the payment says."""
        if call.authorization == "bogus:slow":
            time.sleep(SLOW_SECONDS)
        status, message = _REFUSALS.get(call.authorization, (Status.SUCCESS, "Bogus refund"))
        later = call.authorization == "bogus:later"
        row, made = BogusMovement.objects.get_or_create(
            key=uuid.UUID(call.key),
            defaults={
                "shop": current_shop(),
                "amount": call.amount,
                "currency": call.currency,
                "status": status,
                "message": message,
            },
        )
        if later and made:
            return Answer(Status.PENDING, message="The gateway will know later")
        answer = _answer(row)
        if call.authorization == "bogus:twice":
            from apps.refunds.domain.settling import conclude

            conclude(call.key, answer)
        return answer

    def find(self, key: str) -> Answer | None:
        """What the books say."""
        row = BogusMovement.objects.filter(key=uuid.UUID(key)).first()
        return None if row is None else _answer(row)

    def movements(self, since: datetime) -> Iterable[Movement]:
        """What the books say."""
        for row in BogusMovement.objects.filter(created_at__gte=since).order_by("pk"):
            yield Movement(str(row.key), row.amount, row.currency, Status(row.status))


def _answer(row: BogusMovement) -> Answer:
    return Answer(Status(row.status), reference=f"bogus-{row.pk}", message=row.message)
