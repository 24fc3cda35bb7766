"""What the buyer of an order may know of it, with nothing but the order's own link: a page, and the same in mails.

Whoever holds the link gets no address, name, e-mail or phone: mails are forwarded, and links stay in histories.
Rule: decisions, Fulfillment (order status page).
"""

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground.attrs import Attrs
from apps.orders.domain.bill import as_seen, sums_of
from apps.orders.domain.loading import lines_of, shipping_of
from apps.orders.domain.pricing import net
from apps.orders.models import Order
from apps.shops.domain.countries import told_country

SENT = {
    Order.FulfillmentStatus.UNFULFILLED: gettext_lazy("Not sent yet"),
    Order.FulfillmentStatus.PARTIAL: gettext_lazy("Partly sent"),
    Order.FulfillmentStatus.FULFILLED: gettext_lazy("Sent"),
    Order.FulfillmentStatus.RESTOCKED: gettext_lazy("Not sent"),
}


def url_of(shop_id: int, token: str) -> str:
    """Where a buyer follows an order, without an account."""
    return f"{settings.BASE_URL}/orders/{shop_id}/{token}"


def story_of(order: Order) -> Attrs:
    """What the page tells: what was bought, what it comes to, and how far it is."""
    money = as_seen(order)
    owed = [(_("Outstanding"), money(order.outstanding))] if order.outstanding > 0 and not order.cancelled_at else []
    address = order.shipping_address or {}
    country = told_country(address.get("country_code"), address.get("country"))
    return {
        "order": order,
        "lines": [
            {
                "name": line.name,
                "quantity": line.quantity,
                "removed": line.quantity - line.current_quantity,
                "amount": money(net(line)),
            }
            for line in lines_of(order)
        ],
        "sums": [*sums_of(order, money), *owed],
        "sent": SENT[Order.FulfillmentStatus(order.fulfillment_status)],
        "shipping": ", ".join(row.title for row in shipping_of(order) if not row.is_removed),
        "destination": ", ".join(part for part in (address.get("city"), country) if part),
        "status_url": url_of(order.shop_id, order.token),
    }
