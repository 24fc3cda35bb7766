"""Emails to customers about orders. A worker sends the emails after the change is committed."""

from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import get_current_shop
from apps.orders.domain.statuses import get_status_page_context
from apps.orders.models import Order


@job_task("orders.send_receipt", title=gettext_lazy("Order confirmation email"), former_names=("orders.receipt",))
def send_receipt(job: Job, *, order_id: int) -> None:
    _send_order_email(order_id, "orders/receipt.txt", gettext_noop("Your order {name} at {shop}"))


@job_task(
    "orders.send_cancellation",
    title=gettext_lazy("Order cancellation email"),
    former_names=("orders.cancellation",),
)
def send_cancellation(job: Job, *, order_id: int) -> None:
    subject = gettext_noop("Your order {name} at {shop} has been canceled")
    _send_order_email(order_id, "orders/cancellation.txt", subject)


def _send_order_email(order_id: int, template: str, subject: str) -> None:
    """Send an email about an order, unless the order or the order's email address was deleted."""
    order = Order.objects.filter(pk=order_id).exclude(email="").first()
    if order is None:
        return
    shop = get_current_shop()
    with formats.language_override(order.customer_locale, shop.primary_locale):
        text = render_to_string(template, {"shop": shop, **get_status_page_context(order)})
        translated_subject = gettext(subject).format(name=order.name, shop=shop.name)
    emails.send_customer_email(order.email, translated_subject, text)
