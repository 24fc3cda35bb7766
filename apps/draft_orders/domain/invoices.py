"""Send the invoices of draft orders, and show them on a public page."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.i18n.messages import define_text
from apps.core.jobs.emails import find_message_errors
from apps.core.jobs.queue import enqueue
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.draft_orders.domain.calculation import build_draft
from apps.draft_orders.domain.draft_orders import UPDATED, DraftOrderCompleted, lock_draft_order
from apps.draft_orders.domain.edits import get_lines
from apps.draft_orders.domain.invoice_links import get_invoice_url
from apps.draft_orders.models import DraftOrder, DraftOrderInvoice
from apps.orders.domain.pricing.presentment import get_presentment_lines
from apps.orders.domain.pricing.totals import format_totals, get_presentment_formatter
from apps.orders.domain.statuses import get_status_page_url

SEND_TASK = "draft_orders.send_invoice"
_COMPLETED = define_text("draft_orders.no_invoice", "The draft order is completed, so no invoice can be sent")


class InvoiceRefused(DomainError):
    """Raised when the email with an invoice has invalid values."""

    field = "draft_order_invoice"


@transaction.atomic
def send_invoice(draft: DraftOrder, values: ReadOnlyAttrs, *, actor: str, at: datetime) -> DraftOrderInvoice:
    """Send a link to the invoice page by email, as often as needed. A worker sends the email.

    ``values`` are ``to``, ``from``, ``subject``, ``custom_message`` and ``bcc``. Missing values get defaults.

    Raises:
        InvoiceRefused: Values are invalid, or no address is known.
        DraftOrderCompleted: The draft order is completed.
    """
    shop, draft = get_current_shop(), lock_draft_order(draft)
    if draft.is_completed:
        raise DraftOrderCompleted(_COMPLETED)
    invoice = DraftOrderInvoice(
        shop=shop,
        draft_order=draft,
        to_address=values.get("to") or draft.recipient,
        from_address=values.get("from") or shop.customer_email or shop.email,
        subject=values.get("subject") or get_default_subject(draft),
        custom_message=values.get("custom_message") or "",
        bcc=list(values.get("bcc") or ()),
        created_at=at,
    )
    errors = find_message_errors(
        to=invoice.to_address, sender=invoice.from_address, subject=invoice.subject, bcc=invoice.bcc
    )
    if errors:
        raise InvoiceRefused(errors)
    invoice.save()
    changes = apply_changes(draft, {"status": DraftOrder.Status.INVOICE_SENT, "invoice_sent_at": at})
    draft.save(update_fields=list(changes))
    record_event(UPDATED, draft, actor=actor, at=at, changes=changes)
    enqueue(SEND_TASK, actor=actor, invoice_id=invoice.pk)
    return invoice


def get_default_subject(draft: DraftOrder) -> str:
    shop = get_current_shop()
    with formats.language_override(shop.primary_locale):
        return gettext("Invoice {name} from {shop}").format(name=draft.name, shop=" ".join(shop.name.split()))[:255]


def get_payment_instructions() -> str:
    """Return the shop's text about how to pay an invoice, or a default in the active language."""
    default = gettext("To pay, reply to the email with this invoice or contact the shop.")
    return get_current_shop().payment_instructions.strip() or default


def mark_sent(invoice: DraftOrderInvoice) -> None:
    DraftOrderInvoice.objects.filter(pk=invoice.pk).update(sent_at=timezone.now())


def get_invoice_context(draft: DraftOrder) -> Attrs:
    """Return the context of the invoice page and of the email, with amounts in the presentment currency."""
    calculated = build_draft(draft, get_lines(draft), at=draft.created_at)
    order, lines = calculated.order, calculated.lines
    money = get_presentment_formatter(order)
    amounts = get_presentment_lines(order, lines, calculated.shipping)
    completed_order = draft.order
    is_due = completed_order is None or completed_order.outstanding > 0
    payments = []
    if completed_order and is_due:
        due = completed_order.presentment_outstanding
        paid = completed_order.get_presentment("total_paid") - completed_order.get_presentment("total_refunded")
        payments = [(gettext("Paid"), money(paid)), (gettext("Balance due"), money(due))] if paid else []
    return {
        "draft": draft,
        "lines": [
            {
                "name": line.name,
                "quantity": line.quantity,
                "properties": [row for row in line.properties if not row["name"].startswith("_")],
                "amount": money(amounts[id(line)].get_subtotal(line.quantity)),
            }
            for line in lines
        ],
        # The last row is the paid amount, which only an order has.
        "sums": [*format_totals(order, in_presentment=True)[:-1], *payments],
        "shipping": ", ".join(row.title for row in calculated.shipping),
        "is_canceled": completed_order is not None and completed_order.cancelled_at is not None,
        "is_due": is_due,
        "payment_instructions": get_payment_instructions(),
        "invoice_url": get_invoice_url(draft.shop_id, draft.invoice_key),
        "status_url": get_status_page_url(draft.shop_id, completed_order.token) if completed_order else "",
    }
