"""Public data of an order, for the order status page and emails to the customer.

The link alone grants access, and emails are often forwarded. The data therefore contains no address, name, email or
phone number.
"""

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground.types import Attrs
from apps.orders.domain.pricing import get_net_price
from apps.orders.domain.selectors import get_line_items, get_shipping_lines
from apps.orders.domain.totals_display import format_totals, get_presentment_formatter
from apps.orders.models import Order
from apps.shops.domain.countries import localize_country

FULFILLMENT_LABELS = {
    Order.FulfillmentStatus.UNFULFILLED: gettext_lazy("Not shipped yet"),
    Order.FulfillmentStatus.PARTIAL: gettext_lazy("Partially shipped"),
    Order.FulfillmentStatus.FULFILLED: gettext_lazy("Shipped"),
    Order.FulfillmentStatus.RESTOCKED: gettext_lazy("Not shipped"),
}


def get_status_page_url(shop_id: int, token: str) -> str:
    """Return the URL of the order status page."""
    return f"{settings.BASE_URL}/orders/{shop_id}/{token}"


def get_status_page_context(order: Order) -> Attrs:
    """Return the context of the order status page and of emails."""
    money = get_presentment_formatter(order)
    balance_row = (
        [(_("Balance due"), money(order.outstanding))] if order.outstanding > 0 and not order.cancelled_at else []
    )
    address = order.shipping_address or {}
    country = localize_country(address.get("country_code"), address.get("country"))
    return {
        "order": order,
        "lines": [
            {
                "name": line.name,
                "quantity": line.quantity,
                "removed": line.quantity - line.current_quantity,
                "amount": money(get_net_price(line)),
            }
            for line in get_line_items(order)
        ],
        "sums": [*format_totals(order, money), *balance_row],
        "sent": FULFILLMENT_LABELS[Order.FulfillmentStatus(order.fulfillment_status)],
        "shipping": ", ".join(row.title for row in get_shipping_lines(order) if not row.is_removed),
        "destination": ", ".join(part for part in (address.get("city"), country) if part),
        "status_url": get_status_page_url(order.shop_id, order.token),
    }
