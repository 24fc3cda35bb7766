"""The money of an order as on a bill, for people: in the shop's currency, or as the buyer saw it."""

from collections.abc import Callable
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.ground import languages
from apps.orders.models import Order

Writer = Callable[[Decimal], str]


def in_shop_currency(order: Order) -> Writer:
    """Writes amounts of an order as they are."""
    return lambda amount: languages.money(amount, order.currency)


def as_seen(order: Order) -> Writer:
    """Writes amounts of an order as the buyer saw them."""
    seen = order.presentment_currency
    return lambda amount: languages.money(order.presentment(amount), seen)


def total_of(order: Order) -> list[str]:
    """What the order came to, and what it comes to now where that is something else; in words."""
    money = in_shop_currency(order)
    now = [] if order.current_total_price == order.total_price else [order.current_total_price]
    return [money(order.total_price), *(_("now {money}").format(money=money(amount)) for amount in now)]


def sums_of(order: Order, money: Writer) -> list[tuple[str, str]]:
    """What the order came to, line by line, and what it comes to now; amounts of nothing are left out."""
    codes = ", ".join(code["code"] for code in order.discount_codes)
    rows = [
        (_("Goods"), order.total_line_items_price, True),
        (_("Discounts ({codes})").format(codes=codes) if codes else _("Discounts"), -order.total_discounts, False),
        (_("Shipping"), order.total_shipping_price, False),
        (_("Taxes (included)") if order.taxes_included else _("Taxes"), order.total_tax, False),
        (_("Duties"), order.total_duties, False),
        (_("Tip"), order.total_tip_received, False),
        (_("Total"), order.total_price, True),
        *_now(order),
        (_("Paid"), order.total_paid, True),
        (_("Refunded"), -order.total_refunded, False),
    ]
    return [(label, money(amount)) for label, amount, always in rows if always or amount]


def _now(order: Order) -> list[tuple[str, Decimal, bool]]:
    """What became of the total, where an edit, a refund or a cancellation took something out."""
    gone = order.current_total_price - order.total_price
    now = order.current_total_price
    return [(_("Removed or returned"), gone, True), (_("Total now"), now, True)] if gone else []
