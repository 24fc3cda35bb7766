"""Tender transactions: those movements of an order's money that changed what the shop has."""

from collections.abc import Sequence
from datetime import datetime

from apps.events.domain.recording import Happening, is_heard, record_events
from apps.orders.models import Transaction

TENDERED = "tender_transactions/create"
KINDS = frozenset({Transaction.Kind.SALE, Transaction.Kind.CAPTURE, Transaction.Kind.REFUND})


def is_tender(row: Transaction) -> bool:
    """Whether money came or went by it: what is authorized or pending is with its owner, what failed too."""
    return row.kind in KINDS and row.status == Transaction.Status.SUCCESS


def tell(rows: Sequence[Transaction], *, actor: str, at: datetime) -> None:
    """Tell who listens of the money that came and went; call it once for a movement, when it has succeeded."""
    if happenings := heard(rows):
        record_events(happenings, actor=actor, at=at)


def heard(rows: Sequence[Transaction]) -> list[Happening]:
    """The money that came and went, where somebody wants to hear of it: an aspect of what else is told of it."""
    happenings = [Happening(TENDERED, row) for row in rows if is_tender(row)]
    return happenings if happenings and is_heard(TENDERED) else []
