"""Format the totals of an order for display, in the shop currency or in the presentment currency."""

from collections.abc import Callable
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.ground import languages
from apps.orders.models import Order

MoneyFormatter = Callable[[Decimal], str]


def get_shop_formatter(order: Order) -> MoneyFormatter:
    """Return a function that formats amounts in the order's currency."""
    return lambda amount: languages.format_money(amount, order.currency)


def get_presentment_formatter(order: Order) -> MoneyFormatter:
    """Return a function that formats amounts in the presentment currency."""
    currency = order.presentment_currency
    return lambda amount: languages.format_money(order.to_presentment(amount), currency)


def format_total(order: Order) -> list[str]:
    """Return the formatted original total and, if it is different, the current total."""
    money = get_shop_formatter(order)
    now = [] if order.current_total_price == order.total_price else [order.current_total_price]
    return [money(order.total_price), *(_("now {money}").format(money=money(amount)) for amount in now)]


def format_totals(order: Order, money: MoneyFormatter) -> list[tuple[str, str]]:
    """Return the order totals with labels. Optional rows with a zero amount are omitted."""
    codes = ", ".join(code["code"] for code in order.discount_codes)
    rows = [
        (_("Subtotal"), order.total_line_items_price, True),
        (_("Discounts ({codes})").format(codes=codes) if codes else _("Discounts"), -order.total_discounts, False),
        (_("Shipping"), order.total_shipping_price, False),
        (_("Tax (included)") if order.taxes_included else _("Tax"), order.total_tax, False),
        (_("Duties"), order.total_duties, False),
        (_("Tip"), order.total_tip_received, False),
        (_("Total"), order.total_price, True),
        *_current_total_rows(order),
        (_("Paid"), order.total_paid, True),
        (_("Refunded"), -order.total_refunded, False),
    ]
    return [(label, money(amount)) for label, amount, is_required in rows if is_required or amount]


def _current_total_rows(order: Order) -> list[tuple[str, Decimal, bool]]:
    """Return the removed amount and the current total, if the total has changed."""
    removed = order.current_total_price - order.total_price
    current_total = order.current_total_price
    return [(_("Removed or returned"), removed, True), (_("Current total"), current_total, True)] if removed else []
