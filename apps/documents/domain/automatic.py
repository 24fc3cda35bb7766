"""Issue invoices in background jobs: of paid orders, and of orders that staff selected."""

from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import get_current_shop
from apps.documents.domain.issue import NotIssued, get_invoice, get_objection, issue_invoice
from apps.documents.models import IssuedDocument, Kind
from apps.orders.models import Order

TASK = "documents.issue_invoice"


def enqueue_invoices(orders: Sequence[Order], *, actor: str, at: datetime) -> None:
    """Enqueue the invoices of paid orders, if the shop issues them automatically.

    Orders from before the setting was turned on get no invoices. A job issues the invoice, so
    that payments do not wait for the counter of the numbers.
    """
    issued_from = get_current_shop().invoices_from
    if issued_from is None:
        return
    ids = [order.pk for order in orders if order.processed_at >= issued_from and not order.test]
    if ids:
        queue.enqueue_many(TASK, [{"order_id": pk} for pk in ids], actor=actor)


def get_orders_to_invoice(ids: Sequence[int]) -> list[int]:
    """Return the orders that can have an invoice and have none, oldest first, so that their numbers have this order."""
    invoiced = IssuedDocument.objects.filter(order__in=ids, kind=Kind.INVOICE, cancelled_at=None).values("order")
    rows = Order.objects.filter(pk__in=ids, cancelled_at=None, redacted_at=None, test=False).exclude(pk__in=invoiced)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def run_issue_job(job: Job, *, order_id: int) -> None:
    """Issue the invoice of an order, unless the order has one or was deleted or canceled in the meantime."""
    order = _find_order_to_invoice(order_id)
    if order is None:
        return
    try:
        issue_invoice(order, actor=job.actor, at=timezone.now())
    except NotIssued as error:
        # Another job or person was faster.
        if _find_order_to_invoice(order_id) is None:
            return
        raise queue.GiveUp(error.sentence) from error


def _find_order_to_invoice(order_id: int) -> Order | None:
    order = Order.objects.filter(pk=order_id).first()
    return None if order is None or get_objection(order) or get_invoice(order) is not None else order
