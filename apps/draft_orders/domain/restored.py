"""Set the status of draft orders from another system."""

from datetime import datetime

from django.db import transaction

from apps.core.events.recording import apply_changes, record_event
from apps.core.types import ReadOnlyAttrs
from apps.draft_orders.domain.draft_orders import ALREADY_COMPLETED, UPDATED, DraftOrderCompleted, lock_draft_order
from apps.draft_orders.models import DraftOrder
from apps.orders.models import Order


def mark_invoice_sent(draft: DraftOrder, sent_at: datetime, *, actor: str, at: datetime) -> None:
    """Record that the other system has sent the invoice. Nothing is sent.

    Raises:
        DraftOrderCompleted: The draft order is completed.
    """
    values = {"status": DraftOrder.Status.INVOICE_SENT, "invoice_sent_at": sent_at}
    _save_status(draft, values, actor=actor, at=at)


def mark_completed(draft: DraftOrder, order: Order, completed_at: datetime, *, actor: str, at: datetime) -> None:
    """Record that an existing order completes a draft order.

    Raises:
        DraftOrderCompleted: The draft order is already completed.
    """
    values = {
        "status": DraftOrder.Status.COMPLETED,
        "completed_at": completed_at,
        "order_id": order.pk,
        "customer_id": order.customer_id,
    }
    _save_status(draft, values, actor=actor, at=at)


@transaction.atomic
def _save_status(draft: DraftOrder, values: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
    draft = lock_draft_order(draft)
    if draft.is_completed:
        raise DraftOrderCompleted(ALREADY_COMPLETED)
    if changes := apply_changes(draft, values):
        draft.save(update_fields=list(changes))
        record_event(UPDATED, draft, actor=actor, at=at, changes=changes)
