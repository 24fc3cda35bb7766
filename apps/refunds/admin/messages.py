"""Refund messages for staff: errors, and descriptions of the refund on the review page."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.core.i18n import formats
from apps.core.i18n.messages import translate
from apps.core.money import ZERO, format_plain
from apps.core.types import ReadOnlyAttrs
from apps.orders.models import Order, Transaction
from apps.refunds.domain.gateways import MANUAL, get_gateway, only_records_refunds
from apps.refunds.domain.refund_preview import RefundPreview
from apps.refunds.models import RefundLineItem

RestockType = RefundLineItem.RestockType
# The subjects of error messages, keyed by the last part of the field path.
_SUBJECTS = {
    "quantity": gettext_noop("The quantity"),
    "restock_type": gettext_noop("You"),
    "location_id": gettext_noop("The location"),
    "line_item_id": gettext_noop("The item"),
    "amount": gettext_noop("The amount"),
    "currency": gettext_noop("The currency"),
    "parent_id": gettext_noop("The payment"),
    "duty_id": gettext_noop("The duty"),
}


def format_tax_rate(rate: Decimal) -> str:
    """Return a tax rate in percent, without the percent sign."""
    return formats.format_plain_number(format_plain(rate * 100))


def describe_taxes(order: Order, taxes: Iterable[ReadOnlyAttrs]) -> list[str]:
    """Return the refunded taxes by rate, in the order's currency and in the presentment currency."""
    return [_describe_tax(order, tax) for tax in taxes if Decimal(tax["price"])]


def _describe_tax(order: Order, tax: ReadOnlyAttrs) -> str:
    rate, amount = Decimal(tax["rate"]), formats.format_money(Decimal(tax["price"]), order.currency)
    title = tax["title"]
    if rate:
        title = _("{tax} {rate}%").format(tax=title, rate=format_tax_rate(rate))
    if "presentment_price" in tax:
        converted = formats.format_money(Decimal(tax["presentment_price"]), order.presentment_currency)
        return f"{title}: {amount} ({converted})"
    return f"{title}: {amount}"


def format_refund_error(path: str, message: str) -> str:
    name = path.rpartition(".")[2]
    if name == "refund_type":
        return _("Enter the quantity of the item to refund, or choose “Full refundable amount”.")
    message = translate(message)
    if subject := _SUBJECTS.get(name):
        return f"{_(subject)} {message}."
    return f"{message[:1].upper()}{message[1:]}."


def format_sums(parts: Iterable[tuple[Decimal, str]]) -> str:
    """Format the sum per currency, such as ``12.94 USD and 4.50 EUR``. If all sums are zero, return an empty string."""
    sums: dict[str, Decimal] = {}
    for amount, currency in parts:
        sums[currency] = sums.get(currency, ZERO) + amount
    return f" {_('and')} ".join(formats.format_money(amount, currency) for currency, amount in sums.items() if amount)


def format_amounts(rows: Iterable[Transaction]) -> str:
    return format_sums((row.amount, row.currency) for row in rows)


def describe_transactions(rows: Sequence[Transaction]) -> list[str]:
    sentences = []
    for row in rows:
        payment, amount = row.parent, formats.format_money(row.amount, row.currency)
        assert payment is not None
        if row.gateway == MANUAL:
            text = _(
                "{amount} of the {paid} payment will be marked as refunded manually. You need to return the money to "
                "the customer yourself"
            )
        elif get_gateway(row.gateway) is None:
            text = _(
                "{amount} of the {paid} payment will be marked as refunded through {gateway}, which is not installed "
                "here. You need to return the money there yourself"
            )
        elif only_records_refunds(row.gateway, payment):
            text = _(
                "{amount} of the {paid} payment will be marked as refunded through {gateway}. You need to return the "
                "money there yourself"
            )
        else:
            text = _("{amount} of the {paid} payment will be refunded through {gateway}")
        paid_amount = formats.format_money(payment.amount, payment.currency)
        sentences.append(text.format(amount=amount, gateway=row.gateway, paid=paid_amount))
    return sentences


def describe_items(preview: RefundPreview) -> list[str]:
    sentences = []
    for line, location in zip(preview.refund_lines, preview.locations, strict=True):
        units = f"{line.quantity} × {line.line.name}"
        location_name = location.name if line.line.taken_from and location else ""
        if line.restock_type == RestockType.NO_RESTOCK:
            text = _("{units}: refunded, not restocked")
        elif line.restock_type == RestockType.CANCEL:
            text = _("{units}: canceled, restocked at {place}") if location_name else _("{units}: canceled")
        else:
            text = _("{units}: returned, restocked at {place}") if location_name else _("{units}: returned")
        sentences.append(text.format(units=units, place=location_name))
    return sentences


def describe_difference(discrepancy: Decimal, money: Callable[[Decimal], str]) -> str:
    """Describe the difference from the calculated amount, or return an empty string if there is no difference."""
    if discrepancy > 0:
        return _("{amount} less than the refund total.").format(amount=money(discrepancy))
    more = _("{amount} more than the customer is owed.")
    return more.format(amount=money(-discrepancy)) if discrepancy else ""
