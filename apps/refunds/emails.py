"""Refund notification emails. A worker sends the emails after the refund is committed."""

from collections.abc import Iterable

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import get_current_shop
from apps.orders.domain.statuses import get_status_page_url
from apps.orders.models import Order, Transaction
from apps.refunds.models import Refund


@job_task("refunds.send_notification", title=gettext_lazy("Refund email"), former_names=("refunds.notification",))
def send_refund_email(job: Job, *, refund_id: int) -> None:
    """Send the email for ``refund_id``, unless the refund or the order's email address was deleted."""
    refund = Refund.objects.filter(pk=refund_id).exclude(order__email="").select_related("order").first()
    if refund is None:
        return
    rows = Transaction.objects.filter(refund_payment__refund=refund, status__in=("success", "pending")).order_by("pk")
    lines = refund.refund_line_items.select_related("line_item").order_by("pk")
    units = [(row.quantity, row.line_item.name) for row in lines]
    shipping, duties = refund.refund_shipping_lines.exists(), refund.duties.exists()
    emails.send_email(build_refund_email(refund.order, units, rows, shipping=shipping, duties=duties))


def build_refund_email(
    order: Order,
    units: Iterable[tuple[int, str]],
    rows: Iterable[Transaction],
    *,
    shipping: bool = False,
    duties: bool = False,
) -> EmailMessage:
    shop = get_current_shop()
    with formats.language_override(order.customer_locale, shop.primary_locale):
        items = [f"{quantity} × {name}" for quantity, name in units]
        items += [name for name, is_included in ((_("Shipping"), shipping), (_("Duties"), duties)) if is_included]
        text = render_to_string(
            "refunds/notification.txt",
            {
                "shop": shop,
                "order": order,
                "goods": items,
                "amounts": [formats.format_money(row.amount, row.currency) for row in rows],
                "status_url": get_status_page_url(order.shop_id, order.token),
            },
        )
        subject_line = _("A refund for your order {order} at {shop}").format(order=order.name, shop=shop.name)
    subject = " ".join(subject_line.split())
    return EmailMessage(subject=subject, body=text, from_email=shop.customer_email or shop.email, to=[order.email])
