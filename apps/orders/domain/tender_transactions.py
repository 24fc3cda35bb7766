"""Tender transactions: the transactions that moved money."""

from collections.abc import Sequence
from datetime import datetime

from apps.events.domain.recording import EventInput, has_audience, record_events
from apps.orders.models import Transaction

TENDER_TOPIC = "tender_transactions/create"
TENDER_KINDS = frozenset({Transaction.Kind.SALE, Transaction.Kind.CAPTURE, Transaction.Kind.REFUND})


def is_tender(row: Transaction) -> bool:
    """Return True if the transaction moved money, unlike authorizations and pending or failed transactions."""
    return row.kind in TENDER_KINDS and row.status == Transaction.Status.SUCCESS


def record_tender_events(rows: Sequence[Transaction], *, actor: str, at: datetime) -> None:
    """Record events for transactions that moved money. Call this once per transaction, when it succeeds."""
    if events := get_tender_events(rows):
        record_events(events, actor=actor, at=at)


def get_tender_events(rows: Sequence[Transaction]) -> list[EventInput]:
    """Return the events of transactions that moved money, or an empty list if no app subscribes to these events."""
    events = [EventInput(TENDER_TOPIC, row) for row in rows if is_tender(row)]
    return events if events and has_audience(TENDER_TOPIC) else []
