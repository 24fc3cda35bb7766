"""The mails that buyers get of their orders: asked for in the transaction of the change, sent by a worker."""

from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from apps.ground import languages
from apps.ground.tenancy import current_shop
from apps.jobs.domain import letters
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job
from apps.orders.domain.order_status import story_of
from apps.orders.models import Order

RECEIPT = "orders.receipt"
CANCELLATION = "orders.cancellation"
_SUBJECTS = {
    RECEIPT: gettext_noop("Your order {name} at {shop}"),
    CANCELLATION: gettext_noop("Your order {name} at {shop} was cancelled"),
}


def send(job: Job, **arguments: int) -> None:
    """Send the mail that the job is named after; ``order_id`` names the order, which may be gone meanwhile."""
    order = Order.objects.filter(pk=arguments["order_id"]).exclude(email="").first()
    if order is None:
        return
    shop = current_shop()
    with languages.speaking(order.customer_locale, shop.primary_locale):
        text = render_to_string(f"{job.task.replace('.', '/')}.txt", {"shop": shop, **story_of(order)})
        subject = gettext(_SUBJECTS[job.task]).format(name=order.name, shop=shop.name)
    letters.write(order.email, subject, text)


def register_all() -> None:
    """Add the tasks."""
    jobs.register(RECEIPT, send, gettext_lazy("Mail about a new order"))
    jobs.register(CANCELLATION, send, gettext_lazy("Mail about a cancelled order"))
