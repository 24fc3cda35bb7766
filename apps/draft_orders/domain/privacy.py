"""Export and erase the personal data in draft orders.

Amounts and the link to the customer's row are kept. An open draft order can still be completed without the data.
"""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import QuerySet

from apps.core.events.redaction import redact_events
from apps.core.privacy import get_blank_values
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.draft_orders.models import DraftOrder, DraftOrderInvoice, DraftOrderLine
from apps.metafields.models import Metafield

_INVOICE_COLUMNS = ("to_address", "from_address", "subject", "custom_message", "bcc")


def get_customer_drafts(customer_id: int) -> QuerySet[DraftOrder]:
    return DraftOrder.objects.filter(customer_id=customer_id)


def get_drafts_to_redact(customer: Customer) -> QuerySet[DraftOrder]:
    """Return the draft orders of a customer. The caller must lock them before the customer."""
    return get_customer_drafts(customer.pk)


def export_drafts(customer: Customer, after: int) -> Iterator[tuple[int, Attrs]]:
    """Yield a customer's draft orders with ids above ``after``, oldest first, as ``(id, JSON values)``."""
    rows = get_customer_drafts(customer.pk).filter(pk__gt=after).order_by("pk")
    for draft in rows.prefetch_related("line_items", "invoices").iterator(chunk_size=250):
        values: Attrs = {name: getattr(draft, name) for name in DraftOrder.personal_fields}
        yield (
            draft.pk,
            {
                **values,
                "name": draft.name,
                "created_at": draft.created_at.isoformat(),
                "total_price": str(draft.total_price),
                "currency": draft.currency,
                "line_items": [
                    {
                        "name": line.name,
                        "quantity": line.quantity,
                        "price": str(line.price),
                        "properties": line.properties,
                    }
                    for line in draft.line_items.all()
                ],
                "invoices": [{name: getattr(row, name) for name in _INVOICE_COLUMNS} for row in draft.invoices.all()],
            },
        )


def redact_drafts(customer: Customer, actor: str, at: datetime) -> None:
    """Erase the personal data of a locked customer's draft orders, which are also locked."""
    drafts = list(get_customer_drafts(customer.pk))
    if not drafts:
        return
    ids = [draft.pk for draft in drafts]
    DraftOrder.objects.filter(pk__in=ids).update(**get_blank_values(DraftOrder))
    DraftOrderLine.objects.filter(draft_order__in=ids).update(**get_blank_values(DraftOrderLine))
    DraftOrderInvoice.objects.filter(draft_order__in=ids).update(**get_blank_values(DraftOrderInvoice))
    owned = Metafield.objects.filter(owner_resource="draft_order", owner_id__in=ids)
    redact_events(DraftOrder, ids)
    redact_events(Metafield, list(owned.values_list("pk", flat=True)))
    owned.delete()
