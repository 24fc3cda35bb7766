"""New orders before they are stored: what comes in, checked and priced, without a lock and without a write.

Rule: decisions, Orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext

from apps.customers.models import Customer
from apps.ground.attrs import Errors, Given
from apps.ground.errors import DomainError
from apps.ground.money import is_currency, quantum_of
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST
from apps.ground.tenancy import current_shop
from apps.metafields.domain.setting import Draft
from apps.orders.domain import items, payments, pricing
from apps.orders.domain.validation import clean
from apps.orders.models import ACCEPTED, LineItem, Order, ShippingLine, Transaction
from apps.shops.domain.presentment import presentment_of
from apps.shops.models import App

Financial = Order.FinancialStatus

# What an order that was dealt with elsewhere may be said to be, and the movements of money that this stands for.
STANDS_FOR: dict[str, tuple[str, ...]] = {
    Financial.PENDING: (),
    Financial.AUTHORIZED: (Transaction.Kind.AUTHORIZATION,),
    Financial.PAID: (Transaction.Kind.SALE,),
    Financial.VOIDED: (Transaction.Kind.AUTHORIZATION, Transaction.Kind.VOID),
}


class OrderRefused(DomainError):
    """The values do not make an order."""

    code = "order_refused"


@dataclass
class Parts:
    """What comes with an order beside its own columns.

    Attributes:
        lines: ``items.build`` says of what.
        shipping: Columns of ``ShippingLine``.
        customer: ``id`` or contact details; None for none.
        codes: Discount codes: ``code``, ``amount``, ``type``.
        taxes: Taxes of the order as a whole: ``title``, ``rate``, ``price``.
        transactions: See ``payments.draft``.
        totals: Totals that the sender worked out, to be compared.
        financial_status: Of an order that comes without transactions.
        fulfillment_status: ``fulfilled`` for an order that was sent already.
        sent: How many units of each line were sent already, where that is known; else none.
        metafields: Checked metafields.
        send_receipt: Whether the buyer gets a mail.
        others: What of the body belongs to other apps.
    """

    lines: Sequence[Given] = ()
    shipping: Sequence[Given] = ()
    customer: Given | None = None
    codes: Sequence[Given] = ()
    taxes: Sequence[Given] = ()
    transactions: Sequence[Given] = ()
    totals: Mapping[str, Decimal] = field(default_factory=dict)
    financial_status: str | None = None
    fulfillment_status: str | None = None
    sent: Sequence[int] = ()
    metafields: Sequence[Draft] = ()
    send_receipt: bool = False
    others: Given = field(default_factory=dict)


@dataclass
class Drafted:
    """A new order that is checked and priced, and not yet stored.

    Attributes:
        order: Unsaved; without a customer, a number and statuses.
        lines: Unsaved.
        shipping: Unsaved.
        parts: What it comes with.
        name: The name that it has already, or blank.
        paid: Its movements of money, unsaved, once they are known (``move_money``).
    """

    order: Order
    lines: list[LineItem]
    shipping: list[ShippingLine]
    parts: Parts
    name: str
    paid: list[Transaction] = field(default_factory=list)


def draft(
    attrs: Given, parts: Parts, *, at: datetime, app: App | None = None, found: items.Found | None = None
) -> Drafted:
    """A new order out of its values, with all amounts; nothing is written or locked.

    Args:
        attrs: Of ``ACCEPTED``, and ``currency``, ``presentment_currency``, ``exchange_rate``, ``processed_at``,
            ``closed_at``; of an order that comes from elsewhere also its own ``name``, kept where it is free, and
            ``created_at``.
        parts: What comes with it.
        at: When.
        app: The app that brings it.
        found: What its lines name of the catalog, where that was read before.

    Raises:
        OrderRefused: ``{field: [messages]}`` of all values that do not fit.
    """
    shop = current_shop()
    cleaned, errors = clean(attrs)
    order = Order(
        shop=shop,
        app=app,
        created_at=attrs.get("created_at") or at,
        processed_at=attrs.get("processed_at") or attrs.get("created_at") or at,
        closed_at=attrs.get("closed_at"),
        **{name: cleaned[name] for name in ACCEPTED if cleaned.get(name) is not None},
    )
    errors |= _currencies(order, attrs)
    if errors:
        raise OrderRefused(errors)
    lines, errors = items.build(order, parts.lines, found)
    shipping = [ShippingLine(shop=shop, order=order, created_at=at, **row) for row in parts.shipping]
    if not errors:
        errors = pricing.price(order, lines, shipping, codes=parts.codes, taxes=parts.taxes)
    if not errors:
        errors = pricing.disagreements(order, parts.totals)
    errors |= _send(parts, lines)
    if errors:
        raise OrderRefused(errors)
    return Drafted(order, lines, shipping, parts, attrs.get("name") or "")


def belong(made: Drafted, customer: Customer | None) -> None:
    """Let a new order be a customer's, whose e-mail it has where it came without."""
    order = made.order
    order.customer = customer
    if customer is not None and not order.email:
        order.email = customer.email


def move_money(made: Drafted, *, at: datetime) -> None:
    """Set the movements of money that come with the order, else those that its status stands for.

    Raises:
        OrderRefused: One of them cannot be.
    """
    made.paid = _transactions(made.order, made.parts, at=at)


def _currencies(order: Order, attrs: Given) -> Errors:
    errors: Errors = {}
    order.currency = attrs.get("currency") or current_shop().currency
    order.presentment_currency = attrs.get("presentment_currency") or order.currency
    rate = attrs.get("exchange_rate") or _rate(order)
    order.exchange_rate = rate or Decimal(1)
    for name in ("currency", "presentment_currency"):
        if not is_currency(getattr(order, name)):
            errors[name] = [NOT_IN_LIST]
    if order.is_multi_currency and not rate:
        errors["exchange_rate"] = [BLANK]
    if not order.is_multi_currency and order.exchange_rate != 1:
        errors["exchange_rate"] = [gettext("must be 1 where there is one currency")]
    if errors:
        return errors
    tiny = quantum_of(order.presentment_currency) / order.exchange_rate
    return {} if tiny < 10**9 else {"exchange_rate": [INVALID]}


def _rate(order: Order) -> Decimal | None:
    """The shop's own rate for what the buyer saw, where it has one."""
    shop = current_shop()
    each = presentment_of(shop, order.presentment_currency) if order.currency == shop.currency else None
    return each.rate if each else None


def _send(parts: Parts, lines: Sequence[LineItem]) -> Errors:
    """Mark what was sent already of the lines, of which none has an error yet."""
    status = parts.fulfillment_status or ""
    if parts.sent:
        units = parts.sent
    elif not status:
        return {}
    elif status == Order.FulfillmentStatus.FULFILLED:
        units = [line.quantity for line in lines]
    else:
        return {"fulfillment_status": [NOT_IN_LIST]}
    errors: Errors = {}
    for index, (line, sent) in enumerate(zip(lines, units, strict=False)):
        if not 0 <= sent <= line.quantity:
            errors[f"line_items.{index}.fulfillable_quantity"] = [INVALID]
        line.fulfilled_quantity, line.fulfillable_quantity = sent, line.quantity - sent
    whole = sum(line.fulfillable_quantity for line in lines) == 0
    if status not in {"", Order.FulfillmentStatus.FULFILLED if whole else Order.FulfillmentStatus.PARTIAL}:
        errors["fulfillment_status"] = [gettext("does not agree with what was sent of the lines")]
    return errors


def _transactions(order: Order, parts: Parts, *, at: datetime) -> list[Transaction]:
    """The movements of money that come with the order, else those that its status stands for."""
    given: Sequence[Given] = parts.transactions
    status = parts.financial_status
    if not given and status:
        if status not in STANDS_FOR:
            raise OrderRefused(
                {"financial_status": [gettext("cannot be without the transactions that it follows from")]}
            )
        given = [{"kind": kind, "currency": order.currency} for kind in STANDS_FOR[status] if order.total_price]
    rows: list[Transaction] = []
    errors: Errors = {}
    for index, attrs in enumerate(given):
        try:
            rows.append(payments.draft(order, rows, {"processed_at": order.processed_at, **attrs}, at=at))
        except payments.PaymentRefused as refusal:
            errors |= {f"transactions.{index}.{name}": messages for name, messages in refusal.errors.items()}
    if errors:
        raise OrderRefused(errors)
    return rows
