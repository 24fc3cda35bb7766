"""Refunds in the words of staff: refusals of the service, and what is about to happen."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.ground import languages
from apps.ground.money import ZERO
from apps.orders.models import Transaction
from apps.refunds.domain.gateways import MANUAL
from apps.refunds.domain.previewing import Preview
from apps.refunds.models import RefundLineItem

Writer = Callable[[Decimal], str]
RestockType = RefundLineItem.RestockType
# What a message of the service is about, by the last part of its path.
_SUBJECTS = {
    "quantity": gettext_noop("The quantity"),
    "restock_type": gettext_noop("You"),
    "location_id": gettext_noop("The location"),
    "line_item_id": gettext_noop("The line"),
    "amount": gettext_noop("The amount"),
    "currency": gettext_noop("The currency"),
    "parent_id": gettext_noop("The payment"),
    "duty_id": gettext_noop("The duty"),
}


def in_words(path: str, message: str) -> str:
    """A refusal as a sentence."""
    name = path.rpartition(".")[2]
    if name == "gateway":
        gateway = message.partition(" ")[0]
        return _(
            "{gateway} is not installed here, so no money can move through it. Only note what went back by hand."
        ).format(gateway=gateway)
    if name == "refund_type":
        return _("Say how many units of the item are refunded, or choose all that is left.")
    message = _(message)
    if subject := _SUBJECTS.get(name):
        return f"{_(subject)} {message}."
    return f"{message[:1].upper()}{message[1:]}."


def summed(parts: Iterable[tuple[Decimal, str]]) -> str:
    """Amounts with their currencies as one: ``12.94 USD and 4.50 EUR``; empty where there is nothing."""
    sums: dict[str, Decimal] = {}
    for amount, currency in parts:
        sums[currency] = sums.get(currency, ZERO) + amount
    return f" {_('and')} ".join(languages.money(amount, currency) for currency, amount in sums.items() if amount)


def amounts(rows: Iterable[Transaction]) -> str:
    """What transactions come to, a sum for each currency."""
    return summed((row.amount, row.currency) for row in rows)


def money_moves(rows: Sequence[Transaction]) -> list[str]:
    """Which money goes where."""
    said = []
    for row in rows:
        payment, amount = row.parent, languages.money(row.amount, row.currency)
        assert payment is not None
        if row.gateway == MANUAL:
            text = _("{amount} of the payment of {paid} is noted as given back by hand; no money moves by itself")
        else:
            text = _("{amount} goes back through {gateway}, to the payment of {paid}")
        paid = languages.money(payment.amount, payment.currency)
        said.append(text.format(amount=amount, gateway=row.gateway, paid=paid))
    return said


def goods_move(preview: Preview) -> list[str]:
    """What becomes of the units."""
    said = []
    for each, place in zip(preview.named, preview.places, strict=True):
        units = f"{each.quantity} × {each.line.name}"
        counted = each.line.variant is not None and each.line.variant.inventory_item.tracked
        back = place.name if counted and place else ""
        if each.restock_type == RestockType.NO_RESTOCK:
            text = _("{units}: refunded, nothing goes back to stock")
        elif each.restock_type == RestockType.CANCEL:
            text = (
                _("{units}: not sent any more, back to stock at {place}") if back else _("{units}: not sent any more")
            )
        else:
            text = _("{units}: returned to stock at {place}") if back else _("{units}: returned")
        said.append(text.format(units=units, place=back))
    return said


def difference(discrepancy: Decimal, money: Writer) -> str:
    """What is kept or given beyond what was worked out; empty where it is the same."""
    if discrepancy > 0:
        return _("{amount} less goes back than was worked out.").format(amount=money(discrepancy))
    more = _("{amount} more goes back than the order is owed.")
    return more.format(amount=money(-discrepancy)) if discrepancy else ""
