"""The section of the order page with the order's documents, and their events in the timeline."""

from collections.abc import Iterator, Sequence

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.events.models import Event
from apps.core.events.timelines import describe_event
from apps.core.i18n import formats
from apps.documents.admin.documents import ISSUE, VIEW, VIEW_SLIPS
from apps.documents.domain.amounts import get_credit_note_amounts, get_invoice_amounts
from apps.documents.domain.issue import get_invoice_ids, get_objection
from apps.documents.domain.snapshots import serialize_amounts
from apps.documents.models import IssuedDocument, Kind
from apps.orders.admin.extension_points import (
    MAX_EVENTS,
    OrderAction,
    OrderSection,
    TimelineEvent,
    action_sources,
    order_sections,
    timeline_sources,
)
from apps.orders.models import Order
from apps.refunds.models import Refund


def _get_documents(request: HttpRequest, order: Order) -> Context | None:
    """Return the context of the documents, or None if there are none or the user may not view them."""
    if not has_permission(request, VIEW):
        return None
    documents = list(IssuedDocument.objects.filter(order=order).order_by("pk").defer("snapshot"))
    if not documents:
        return None
    invoice = next((row for row in documents if row.kind == Kind.INVOICE and row.cancelled_at is None), None)
    has_credit_notes = invoice is not None and any(row.invoice_id == invoice.pk for row in documents)
    may_issue = has_permission(request, ISSUE)
    refunds = _get_refunds(order, documents) if may_issue and invoice is not None else []
    return {
        "documents": [
            {"row": row, "total": formats.format_money(row.total, row.currency), "is_open": row is invoice}
            for row in documents
        ],
        "is_changed": invoice is not None and _is_changed(order, invoice),
        "has_credit_notes": has_credit_notes,
        "is_canceled": invoice is not None and order.cancelled_at is not None,
        "may_cancel": may_issue and not has_credit_notes,
        "refunds": refunds,
    }


def _get_refunds(order: Order, documents: Sequence[IssuedDocument]) -> list[Refund]:
    """Return the refunds that have an amount to credit and no credit note."""
    credited = [row.refund_id for row in documents if row.refund_id is not None]
    refunds = Refund.objects.filter(order=order).exclude(pk__in=credited).select_related("order").order_by("pk")
    return [refund for refund in refunds if get_credit_note_amounts(refund).total > 0]


def _is_changed(order: Order, invoice: IssuedDocument) -> bool:
    """Return True if a new invoice would have other amounts. Paid items that were removed will be refunded."""
    if order.cancelled_at is not None or order.outstanding < 0:
        return False
    current = serialize_amounts(order, get_invoice_amounts(order))
    return any(invoice.snapshot[name] != value for name, value in current.items())


def _get_timeline_events(request: HttpRequest, order: Order) -> list[TimelineEvent]:
    if not has_permission(request, VIEW):
        return []
    ids = list(IssuedDocument.objects.filter(order=order).values_list("pk", flat=True))
    if not ids:
        return []
    rows = Event.rows().filter(subject_type="documents.issueddocument", subject_id__in=ids).order_by("-id")
    return [(event, f"{describe_event(event)}: {event.subject_label}") for event in rows.defer("payload")[:MAX_EVENTS]]


def _get_actions(request: HttpRequest, order: Order) -> Iterator[OrderAction]:
    """Offer to issue the invoice, and the slips as files."""
    may_issue = has_permission(request, VIEW) and has_permission(request, ISSUE)
    if may_issue and not get_objection(order) and not get_invoice_ids([order.pk]):
        yield OrderAction(_("Issue invoice"), _url("issue", order), order=52, is_form=True)
    if has_permission(request, VIEW_SLIPS) and order.cancelled_at is None:
        yield OrderAction(_("Packing slip (PDF)"), _url("packing_slip", order), order=55, in_new_window=True)
    if has_permission(request, VIEW_SLIPS) and _has_returnable_items(order):
        yield OrderAction(_("Return slip (PDF)"), _url("return_slip", order), order=56, in_new_window=True)


def _url(name: str, order: Order) -> str:
    return reverse(f"admin:documents_issueddocument_{name}", args=[order.pk])


def _has_returnable_items(order: Order) -> bool:
    return order.fulfillment_status in {"fulfilled", "partial"}


action_sources.add(_get_actions)
order_sections.add(OrderSection("panel/documents/on_order.html", _get_documents, order=70))
timeline_sources.add(_get_timeline_events)
