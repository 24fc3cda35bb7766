"""The email with the invoice of a draft order. A worker sends the email after the change is committed."""

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy

from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import get_current_shop
from apps.draft_orders.domain.invoices import SEND_TASK, get_invoice_context, mark_sent
from apps.draft_orders.models import DraftOrderInvoice


@job_task(SEND_TASK, title=gettext_lazy("Invoice email for a draft order"))
def send_invoice_email(job: Job, *, invoice_id: int) -> None:
    """Send an invoice, unless it was already sent or its address was erased."""
    pending = DraftOrderInvoice.objects.filter(pk=invoice_id, sent_at=None).exclude(to_address="")
    invoice = pending.select_related("draft_order__customer", "draft_order__order").first()
    if invoice is None:
        return
    shop = get_current_shop()
    with formats.language_override(shop.primary_locale):
        context = {"shop": shop, "invoice": invoice, **get_invoice_context(invoice.draft_order)}
        text = render_to_string("draft_orders/invoice.txt", context)
    emails.send_email(
        EmailMessage(
            subject=invoice.subject,
            body=text,
            from_email=invoice.from_address,
            to=[invoice.to_address],
            bcc=invoice.bcc,
        )
    )
    mark_sent(invoice)
