"""Taking in an order: from a checkout, an app or an import.

The order is priced and checked first, without a lock. Then come, in the one order of locks that everybody keeps, the
customer, the number, the stock and the products; all of it in one transaction, so an order that is refused leaves
nothing behind, not even a gap in the numbers.
Rule: decisions, Orders.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F

from apps.events.domain.recording import Happening, record_event, record_events
from apps.ground.attrs import Errors, Given
from apps.ground.errors import DomainError
from apps.ground.money import is_currency, quantum_of
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST
from apps.ground.tenancy import current_shop
from apps.jobs.domain.queue import enqueue
from apps.metafields.domain import setting as metafields
from apps.metafields.domain.setting import Draft
from apps.orders.domain import books, buyers, hooks, items, payments, pricing, statuses, stocking, tenders
from apps.orders.domain.validation import clean
from apps.orders.models import ACCEPTED, LineItem, Order, OrderCounter, ShippingLine, Transaction
from apps.orders.models.orders import FIRST_NAME
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

MAX_NAME = 64
# Beyond nine digits it is no number of a shop, and would leave none for the orders behind it.
_OUR_NAME = re.compile(r"#([1-9][0-9]{3,8})", re.ASCII)


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


@transaction.atomic
def create_order(attrs: Given, parts: Parts, *, actor: str, at: datetime, app: App | None = None) -> Order:
    """Take in an order.

    Args:
        attrs: Of ``ACCEPTED``, and ``currency``, ``presentment_currency``, ``exchange_rate``, ``processed_at``,
            ``closed_at``; of an order that comes from elsewhere also its own ``name``, kept where it is free, and
            ``created_at``.
        parts: What comes with it.
        actor: Who brings it.
        at: When.
        app: The app that brings it.

    Raises:
        OrderRefused: ``{field: [messages]}`` of all values that do not fit.
        BuyerRefused: The customer cannot be found or made.
        PaymentRefused: A transaction cannot be.
        NotEnoughStock: Units are missing that must not be sold.
    """
    order, lines, shipping = _priced(attrs, parts, app=app, at=at)
    order.customer = buyers.buyer_of(order, parts.customer, actor=actor, at=at)
    if order.customer is not None and not order.email:
        order.email = order.customer.email
    _number(order, attrs.get("name") or "")
    stocking.take(order, lines, actor=actor, at=at)
    paid = _transactions(order, parts, at=at)
    statuses.follow(order, lines, paid)
    sold = payments.mark_sold(order)
    order.save(force_insert=True)
    for line in lines:
        line.order = order
    for row in shipping:
        row.order = order
    LineItem.objects.bulk_create(lines)
    ShippingLine.objects.bulk_create(shipping)
    payments.save(paid)
    if sold:
        payments.count_sold(lines)
    buyers.add(order)
    if parts.metafields:
        metafields.set_many(order, parts.metafields, actor=actor, at=at)
    for created in hooks.creations:
        created(order, parts.others, actor=actor, at=at)
    _record(order, paid, actor=actor, at=at)
    if parts.send_receipt and order.email:
        enqueue("orders.receipt", actor=actor, order_id=order.pk)
    return order


def _priced(
    attrs: Given, parts: Parts, *, app: App | None, at: datetime
) -> tuple[Order, list[LineItem], list[ShippingLine]]:
    """The unsaved order and its rows, with all amounts."""
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
    lines, errors = items.build(order, parts.lines)
    shipping = [ShippingLine(shop=shop, order=order, created_at=at, **row) for row in parts.shipping]
    if not errors:
        errors = pricing.price(order, lines, shipping, codes=parts.codes, taxes=parts.taxes)
    if not errors:
        errors = pricing.disagreements(order, parts.totals)
    errors |= _send(parts, lines)
    if errors:
        raise OrderRefused(errors)
    return order, lines, shipping


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
        errors["exchange_rate"] = ["must be 1 where there is one currency"]
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
        errors["fulfillment_status"] = ["does not agree with what was sent of the lines"]
    return errors


def _number(order: Order, name: str) -> None:
    """Give an order its number and name; the shop's counter is kept from others until the transaction ends.

    That is the next number, and the name that follows from it. An order that has a name already keeps it where no
    other has it: ``#1234`` with the number that goes with it, so that it is never given again, and any other beside
    the next number.
    """
    shop = current_shop()
    counter = OrderCounter.objects.filter(shop=shop)
    if not counter.update(last_number=F("last_number") + 1):
        OrderCounter.objects.bulk_create([OrderCounter(shop=shop)], ignore_conflicts=True)
        counter.update(last_number=F("last_number") + 1)
    order.number, currency = counter.values_list("last_number", "shop__currency").get()
    if currency != shop.currency:
        raise books.CurrencyChanged("has just changed in the shop's settings; send the order again")
    if ours := _number_in(name):
        if not Order.objects.filter(number=ours).exists():
            counter.update(last_number=max(order.number - 1, ours))
            order.number = ours
    elif 0 < len(name) <= MAX_NAME and not Order.objects.filter(name=name).exists():
        order.name = name
    order.name = order.name or f"#{order.number + FIRST_NAME - 1}"


def _number_in(name: str) -> int:
    """The number that goes with a name like those that we give; 0 for other names."""
    match = _OUR_NAME.fullmatch(name)
    return max(int(match[1]) - FIRST_NAME + 1, 0) if match else 0


def _transactions(order: Order, parts: Parts, *, at: datetime) -> list[Transaction]:
    """The movements of money that come with the order, else those that its status stands for."""
    given: Sequence[Given] = parts.transactions
    status = parts.financial_status
    if not given and status:
        if status not in STANDS_FOR:
            raise OrderRefused({"financial_status": ["cannot be without the transactions that it follows from"]})
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


def _record(order: Order, paid: Sequence[Transaction], *, actor: str, at: datetime) -> None:
    record_event("orders/create", order, actor=actor, at=at)
    record_events([Happening("order_transactions/create", row) for row in paid], actor=actor, at=at)
    tenders.tell(paid, actor=actor, at=at)
    if order.financial_status == Financial.PAID:
        record_event("orders/paid", order, actor=actor, at=at)
