"""The mail that a buyer gets of a refund: asked for in its transaction, sent by a worker."""

from collections.abc import Iterable

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from apps.ground import languages
from apps.ground.tenancy import current_shop
from apps.jobs.domain import letters
from apps.jobs.models import Job
from apps.orders.domain.order_status import url_of
from apps.orders.models import Order, Transaction
from apps.refunds.models import Refund


def send(job: Job, **arguments: int) -> None:
    """Tell the buyer; the refund that ``refund_id`` names, or the order's address, may be gone meanwhile."""
    refund = Refund.objects.filter(pk=arguments["refund_id"]).exclude(order__email="").select_related("order").first()
    if refund is None:
        return
    rows = Transaction.objects.filter(refund_payment__refund=refund, status__in=("success", "pending")).order_by("pk")
    lines = refund.refund_line_items.select_related("line_item").order_by("pk")
    units = [(row.quantity, row.line_item.name) for row in lines]
    shipping, duties = refund.refund_shipping_lines.exists(), refund.duties.exists()
    letters.send(letter(refund.order, units, rows, shipping=shipping, duties=duties))


def letter(
    order: Order,
    units: Iterable[tuple[int, str]],
    rows: Iterable[Transaction],
    *,
    shipping: bool = False,
    duties: bool = False,
) -> EmailMessage:
    """What the buyer is told of a refund, also of one that is only looked at.

    Args:
        order: Whose; it has an address.
        units: How many of what.
        rows: What goes back.
        shipping: Whether the refund is for shipping too.
        duties: Whether for duties.
    """
    with languages.speaking(order.customer_locale, current_shop().primary_locale):
        return _written(order, units, rows, shipping=shipping, duties=duties)


def _written(
    order: Order, units: Iterable[tuple[int, str]], rows: Iterable[Transaction], *, shipping: bool, duties: bool
) -> EmailMessage:
    shop = current_shop()
    goods = [f"{quantity} × {name}" for quantity, name in units]
    goods += [name for name, is_meant in ((_("Shipping"), shipping), (_("Duties"), duties)) if is_meant]
    text = render_to_string(
        "refunds/notification.txt",
        {
            "shop": shop,
            "order": order,
            "goods": goods,
            "amounts": [languages.money(row.amount, row.currency) for row in rows],
            "status_url": url_of(order.shop_id, order.token),
        },
    )
    said = _("A refund for your order {order} at {shop}").format(order=order.name, shop=shop.name)
    subject = " ".join(said.split())
    return EmailMessage(subject=subject, body=text, from_email=shop.customer_email or shop.email, to=[order.email])
