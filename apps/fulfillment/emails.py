"""The shipping confirmation email, which is enqueued when a fulfillment is saved and then sent by a worker."""

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import get_current_shop
from apps.fulfillment.domain.tracking import SHIPPED_TASK
from apps.fulfillment.models import Fulfillment
from apps.orders.domain.statuses import get_status_page_url


@job_task(
    SHIPPED_TASK,
    title=gettext_lazy("Shipping confirmation email"),
    former_names=("fulfillment.shipped",),
)
def send_shipping_confirmation(job: Job, *, fulfillment_id: int) -> None:
    """Send the email, unless the fulfillment was canceled or the order's email address was erased."""
    rows = Fulfillment.objects.filter(pk=fulfillment_id).exclude(status=Fulfillment.Status.CANCELLED)
    row = rows.exclude(order__email="").select_related("order").first()
    if row is None:
        return
    shop, order = get_current_shop(), row.order
    with formats.language_override(order.customer_locale, shop.primary_locale):
        text = render_to_string(
            "fulfillment/shipping_confirmation.txt",
            {
                "shop": shop,
                "order": order,
                "fulfillment": row,
                "lines": row.lines.select_related("line_item").order_by("pk"),
                "status_url": get_status_page_url(order.shop_id, order.token),
            },
        )
        subject = _("Your order {order} from {shop} has shipped").format(order=order.name, shop=shop.name)
    emails.send_customer_email(order.email, subject, text)
