"""Export and erase staff notes on refunds, which may contain personal data."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from apps.core.events.redaction import redact_events
from apps.core.privacy import get_blank_values
from apps.customers.models import Customer
from apps.refunds.models import Refund

_BATCH = 500


def erase_refund_notes(ids: Sequence[int], *, at: datetime) -> None:
    """Erase the notes on the refunds of orders. Amounts are kept for bookkeeping."""
    rows = Refund.objects.filter(order__in=ids)
    rows.update(**get_blank_values(Refund))
    redact_events(Refund, list(rows.values_list("pk", flat=True)))


def redact_refunds(customer: Customer, actor: str, at: datetime) -> None:
    """Do nothing, because ``erase_refund_notes`` removes the notes together with the order's personal data."""


def export_refund_notes(customer: Customer, after: int) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the notes on a customer's refunds with ids above ``after``, oldest first, as ``(id, JSON values)``."""
    rows = Refund.objects.filter(order__customer=customer).exclude(note="").select_related("order").order_by("pk")
    last = after
    while batch := list(rows.filter(pk__gt=last)[:_BATCH]):
        yield from ((row.pk, {"order": row.order.name, "note": row.note}) for row in batch)
        last = batch[-1].pk
