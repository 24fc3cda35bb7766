"""The mail that tells a buyer that something was sent: asked for with the change, sent by a worker."""

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.fulfillment.domain.tracking import SHIPPED_TASK
from apps.fulfillment.models import Fulfillment
from apps.ground import languages
from apps.ground.tenancy import current_shop
from apps.jobs.domain import letters
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job
from apps.orders.domain.order_status import url_of


def send(job: Job, **arguments: int) -> None:
    """Tell the buyer of the fulfillment ``fulfillment_id``, unless it was cancelled or erased meanwhile."""
    rows = Fulfillment.objects.filter(pk=arguments["fulfillment_id"]).exclude(status=Fulfillment.Status.CANCELLED)
    row = rows.exclude(order__email="").select_related("order").first()
    if row is None:
        return
    shop, order = current_shop(), row.order
    with languages.speaking(order.customer_locale, shop.primary_locale):
        text = render_to_string(
            "fulfillment/shipped.txt",
            {
                "shop": shop,
                "order": order,
                "fulfillment": row,
                "lines": row.lines.select_related("line_item").order_by("pk"),
                "status_url": url_of(order.shop_id, order.token),
            },
        )
        subject = _("Your order {order} at {shop} is on its way").format(order=order.name, shop=shop.name)
    letters.write(order.email, subject, text)


def register_all() -> None:
    """Add the task."""
    jobs.register(SHIPPED_TASK, send, gettext_lazy("Mail about a parcel"))
