"""Export the documents of a customer, and erase what the law does not require shops to keep.

An invoice must be kept for years with the name and address of its recipient, so the snapshot is not erased. Only the
delivery address and the PO number are erased together with the order's personal data.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from apps.core.privacy import get_blank_values
from apps.customers.models import Customer
from apps.documents.models import IssuedDocument

_BATCH = 500


def erase_delivery_addresses(ids: Sequence[int], *, at: datetime) -> None:
    """Erase the delivery addresses and PO numbers of the documents of orders."""
    IssuedDocument.objects.filter(order__in=ids).update(**get_blank_values(IssuedDocument))


def redact_documents(customer: Customer, actor: str, at: datetime) -> None:
    """Do nothing, because ``erase_delivery_addresses`` erases the addresses together with the order's personal data."""


def export_documents(customer: Customer, after: int) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield a customer's documents with ids above ``after``, oldest first, as ``(id, JSON values)``."""
    rows = IssuedDocument.objects.filter(order__customer=customer).order_by("pk")
    last = after
    while batch := list(rows.filter(pk__gt=last)[:_BATCH]):
        for row in batch:
            values = {"kind": row.kind, "name": row.name, "issued_at": row.issued_at.isoformat()}
            yield (
                row.pk,
                {
                    **values,
                    "delivery_address": row.delivery_address,
                    "po_number": row.po_number,
                    "content": row.snapshot,
                },
            )
        last = batch[-1].pk
