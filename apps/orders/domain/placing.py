"""Taking in an order: from a checkout, an app or an import.

The order is priced and checked first, without a lock. Then come, in the one order of locks that everybody keeps, the
customer, the number, the stock and the products; all of it in one transaction, so an order that is refused leaves
nothing behind, not even a gap in the numbers.
Rule: decisions, Orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F

from apps.events.domain.recording import record_event
from apps.ground.attrs import Errors, Given
from apps.ground.errors import DomainError
from apps.ground.money import is_currency, quantum_of
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST
from apps.ground.tenancy import current_shop
from apps.jobs.domain.queue import enqueue
from apps.metafields.domain import setting as metafields
from apps.metafields.domain.setting import Draft
from apps.orders.domain import buyers, hooks, items, payments, pricing, statuses, stocking
from apps.orders.domain.validation import clean
from apps.orders.models import ACCEPTED, LineItem, Order, OrderCounter, ShippingLine, Transaction
from apps.orders.models.orders import FIRST_NAME
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
    metafields: Sequence[Draft] = ()
    send_receipt: bool = False
    others: Given = field(default_factory=dict)


@transaction.atomic
def create_order(attrs: Given, parts: Parts, *, actor: str, at: datetime, app: App | None = None) -> Order:
    """Take in an order.

    Args:
        attrs: Of ``ACCEPTED``, and ``currency``, ``presentment_currency``, ``exchange_rate``, ``processed_at``,
            ``closed_at``.
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
    _number(order)
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
    buyers.summarize(order.customer_id)
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
        created_at=at,
        processed_at=attrs.get("processed_at") or at,
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
    order.exchange_rate = attrs.get("exchange_rate") or Decimal(1)
    for name in ("currency", "presentment_currency"):
        if not is_currency(getattr(order, name)):
            errors[name] = [NOT_IN_LIST]
    if order.is_multi_currency and not attrs.get("exchange_rate"):
        errors["exchange_rate"] = [BLANK]
    if not order.is_multi_currency and order.exchange_rate != 1:
        errors["exchange_rate"] = ["must be 1 where there is one currency"]
    if errors:
        return errors
    tiny = quantum_of(order.presentment_currency) / order.exchange_rate
    return {} if tiny < 10**9 else {"exchange_rate": [INVALID]}


def _send(parts: Parts, lines: Sequence[LineItem]) -> Errors:
    """Mark the lines of an order that was sent already."""
    if parts.fulfillment_status in (None, ""):
        return {}
    if parts.fulfillment_status != Order.FulfillmentStatus.FULFILLED:
        return {"fulfillment_status": [NOT_IN_LIST]}
    for line in lines:
        line.fulfilled_quantity, line.fulfillable_quantity = line.quantity, 0
    return {}


def _number(order: Order) -> None:
    """Give an order the next number of its shop, which is kept from others until the transaction ends."""
    shop = current_shop()
    counter = OrderCounter.objects.filter(shop=shop)
    if not counter.update(last_number=F("last_number") + 1):
        OrderCounter.objects.bulk_create([OrderCounter(shop=shop)], ignore_conflicts=True)
        counter.update(last_number=F("last_number") + 1)
    order.number = counter.values_list("last_number", flat=True).get()
    order.name = f"#{order.number + FIRST_NAME - 1}"


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
    for row in paid:
        record_event("order_transactions/create", row, actor=actor, at=at)
    if order.financial_status == Financial.PAID:
        record_event("orders/paid", order, actor=actor, at=at)
