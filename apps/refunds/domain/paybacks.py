"""The transactions of a refund: which payments money goes back to, and how much of it."""

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.ground import languages
from apps.ground.attrs import Errors
from apps.ground.money import MAX_AMOUNT, ZERO, fits, text_of
from apps.ground.phrases import BLANK, INVALID, at_most
from apps.ground.retelling import tells
from apps.ground.tenancy import current_shop
from apps.orders.models import Order, Transaction
from apps.refunds.domain import calculation
from apps.refunds.domain.calculation import Balance
from apps.refunds.domain.gateways import MANUAL, gateway_named
from apps.refunds.domain.requests import NOT_OURS, Books, Payback, RefundRefused, Wanted

Status = Transaction.Status
_THROUGH = gettext_noop("{amount} through {gateway}")
_PART = re.compile(r"(?P<amount>\S+ [A-Z]{3}) through (?P<gateway>.+)", re.DOTALL)


def _each(told: str) -> str:
    """Amounts that were joined, in the language that is read."""
    parts = re.split(r" and (?=\S+ [A-Z]{3} through )", told)
    found = [match for part in parts if (match := _PART.fullmatch(part))]
    if len(found) < len(parts):
        raise KeyError(told)
    return f" {_('and')} ".join(
        _(_THROUGH).format(amount=languages.retold_amount(part["amount"]), gateway=part["gateway"]) for part in found
    )


_REFUNDED = tells(gettext_noop("Refunded {amounts}"), amounts=_each)
_WITHOUT_MONEY = gettext_noop("Refunded without money")


def draft_all(
    books: Books, wanted: Wanted, *, at: datetime, user_id: int | None, source_name: str
) -> list[Transaction]:
    """The refund's transactions, not saved; their payments know what of them goes back.

    Those of a gateway that moves money are pending until it answered; those that are only noted are done.

    Raises:
        RefundRefused: ``{field: [messages]}`` of all that cannot be.
    """
    known = list(books.known)
    rows: list[Transaction] = []
    errors: Errors = {}
    for place, payback in enumerate(wanted.paybacks):
        try:
            parts = _parts(books.order, known, payback, wanted.currency)
        except RefundRefused as refusal:
            errors |= {f"transactions.{place}.{name}": messages for name, messages in refusal.errors.items()}
            continue
        for balance, amount in parts:
            payment = balance.payment
            gateway = payback.gateway or payment.gateway
            found = gateway_named(gateway)
            if found is None:
                errors[f"transactions.{place}.gateway"] = [_unknown(gateway)]
                continue
            row = Transaction(
                shop=current_shop(),
                order=books.order,
                parent=payment,
                sequence=len(known) + 1,
                kind=Transaction.Kind.REFUND,
                status=Status.SUCCESS if found.only_records else Status.PENDING,
                gateway=gateway,
                amount=amount,
                currency=payment.currency,
                shop_amount=calculation.in_order(books.order, balance, amount),
                source_name=source_name or books.order.source_name,
                user_id=user_id,
                test=payment.test or books.order.test,
                processed_at=wanted.processed_at or at,
                created_at=at,
            )
            payment.refunded += amount
            known.append(row)
            rows.append(row)
    if errors:
        raise RefundRefused(errors)
    return rows


def in_words(rows: Sequence[Transaction]) -> str:
    """What a refund gives back, for the order's timeline."""
    amounts = " and ".join(
        _THROUGH.format(amount=f"{text_of(row.amount, row.currency)} {row.currency}", gateway=row.gateway)
        for row in rows
    )
    return _REFUNDED.format(amounts=amounts) if amounts else _WITHOUT_MONEY


def _unknown(gateway: str) -> str:
    return f"{gateway} is not installed here; say {MANUAL} for money that was given back elsewhere"


def _parts(
    order: Order, known: Sequence[Transaction], payback: Payback, currency: str | None
) -> list[tuple[Balance, Decimal]]:
    """The payments that an amount goes back to, each with its part; none where nothing goes back.

    Raises:
        RefundRefused: ``{field: [messages]}``.
    """
    amount = payback.amount
    if amount is None:
        raise RefundRefused(BLANK, field="amount")
    if not amount:
        return []
    found = [each for each in calculation.balances(known) if _is_meant(each, payback)]
    if not found:
        raise RefundRefused(INVALID if payback.parent_id else _("must be a payment of the order"), field="parent_id")
    said = payback.currency or currency or (found[0].payment.currency if payback.parent_id else order.currency)
    if said not in {order.currency, order.presentment_currency}:
        raise RefundRefused(NOT_OURS, field="currency")
    fitting = [each for each in found if each.payment.currency == said]
    if not fitting:
        raise RefundRefused(
            _("must be {currency}, that of the payment").format(currency=found[0].payment.currency), field="currency"
        )
    if not fits(amount, said) or amount >= MAX_AMOUNT:
        raise RefundRefused(INVALID, field="amount")
    left = sum((each.left for each in fitting), ZERO)
    if amount > left:
        raise RefundRefused(at_most(text_of(left, said)), field="amount")
    parts = []
    for each in fitting:
        part = min(amount, each.left)
        if part:
            parts.append((each, part))
        amount -= part
    return parts


def _is_meant(balance: Balance, payback: Payback) -> bool:
    """A refund through another gateway than the payment's is noted, not made: by hand only."""
    payment = balance.payment
    if payback.parent_id is not None and payment.pk != payback.parent_id:
        return False
    return payback.gateway in {None, "", MANUAL, payment.gateway}
