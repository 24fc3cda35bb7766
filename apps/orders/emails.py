"""Emails to customers about orders. A worker sends the emails after the change is committed."""

from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.models import Job
from apps.core.jobs.queue import Task, tasks
from apps.core.tenancy.scope import get_current_shop
from apps.orders.domain.statuses import get_status_page_context
from apps.orders.models import Order

RECEIPT = "orders.receipt"
CANCELLATION = "orders.cancellation"
_SUBJECTS = {
    RECEIPT: gettext_noop("Your order {name} at {shop}"),
    CANCELLATION: gettext_noop("Your order {name} at {shop} has been canceled"),
}


def send_order_email(job: Job, **arguments: int) -> None:
    """Send the job's email, unless the order ``order_id`` or the order's email address was deleted."""
    order = Order.objects.filter(pk=arguments["order_id"]).exclude(email="").first()
    if order is None:
        return
    shop = get_current_shop()
    with formats.language_override(order.customer_locale, shop.primary_locale):
        text = render_to_string(f"{job.task.replace('.', '/')}.txt", {"shop": shop, **get_status_page_context(order)})
        subject = gettext(_SUBJECTS[job.task]).format(name=order.name, shop=shop.name)
    emails.send_customer_email(order.email, subject, text)


tasks.register(RECEIPT, Task(send_order_email, gettext_lazy("Order confirmation email")))
tasks.register(CANCELLATION, Task(send_order_email, gettext_lazy("Order cancellation email")))
