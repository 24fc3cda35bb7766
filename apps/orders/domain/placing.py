"""Taking in orders: from a checkout, an app or an import.

An order is priced and checked first, without a lock (``drafting``). Then come, in the one order of locks that everybody
keeps, the customer, the number, the stock and the products; all of it in one transaction, so an order that is refused
leaves nothing behind, not even a gap in the numbers. Many orders at once go through the same functions.
Rule: decisions, Orders.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import transaction

from apps.catalog.domain.sales import hold_products
from apps.events.domain.recording import Happening, is_heard, record_event, record_events
from apps.ground.attrs import Given
from apps.ground.errors import DomainError
from apps.jobs.domain.queue import enqueue_many
from apps.metafields.domain import setting as metafields
from apps.orders.domain import buyers, hooks, numbering, payments, statuses, stocking, tenders
from apps.orders.domain.drafting import Drafted, Parts, belong, draft, move_money
from apps.orders.models import LineItem, Order, ShippingLine
from apps.shops.models import App

Financial = Order.FinancialStatus


@transaction.atomic
def create_order(attrs: Given, parts: Parts, *, actor: str, at: datetime, app: App | None = None) -> Order:
    """Take in an order.

    Args:
        attrs: See ``drafting.draft``.
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
    made = draft(attrs, parts, app=app, at=at)
    belong(made, buyers.buyer_of(made.order, parts.customer, actor=actor, at=at))
    numbering.number(made.order, made.name)
    stocking.take(made.order, made.lines, actor=actor, at=at)
    move_money(made, at=at)
    _write([made], actor=actor, at=at)
    return made.order


@transaction.atomic
def create_orders(drafts: Sequence[Drafted], *, actor: str, at: datetime) -> list[DomainError | None]:
    """Take in several orders, each as ``create_order`` after the one before; those that are refused leave nothing.

    Args:
        drafts: Of orders that take nothing from stock, and name their customers by contact details alone.
        actor: Who brings them.
        at: When.

    Returns:
        Why an order is refused; None for one that is stored.

    Raises:
        CurrencyChanged: Of all of them: nothing is stored.
        IntegrityError: Somebody else has brought the like of one meanwhile, or it must come alone to be told why it is
            refused; nothing is stored.
        ValueError: One takes from stock, or names a customer by id.
    """
    people = buyers.People([(each.order, each.parts.customer) for each in drafts], locked=True)
    refusals = [_refusal_of(each, people, at=at) for each in drafts]
    made = [each for each, refusal in zip(drafts, refusals, strict=True) if refusal is None]
    if made:
        people.create(actor=actor, at=at)
        numbering.number_many([(each.order, each.name) for each in made])
        for turn in _turns(made):
            _write(turn, actor=actor, at=at)
    return refusals


def foresee_orders(drafts: Sequence[Drafted], *, at: datetime) -> list[DomainError | None]:
    """What ``create_orders`` would say of each order if it came alone, and its number and name; nothing is written.

    Raises:
        CurrencyChanged, ValueError: As ``create_orders``.
    """
    people = buyers.People([(each.order, each.parts.customer) for each in drafts], locked=False)
    refusals = [_refusal_of(each, people, at=at) for each in drafts]
    made = [each for each, refusal in zip(drafts, refusals, strict=True) if refusal is None]
    numbering.foresee([(each.order, each.name) for each in made])
    return refusals


def _refusal_of(made: Drafted, people: buyers.People, *, at: datetime) -> DomainError | None:
    """Let a new order have its customer and its money, or say why that cannot be."""
    order, given = made.order, made.parts.customer
    if order.inventory_behaviour != Order.InventoryBehaviour.BYPASS or (given and given.get("id")):
        raise ValueError("Such an order comes alone")
    try:
        chosen = people.choose(order, given, at=at)
        belong(made, chosen.customer)
        move_money(made, at=at)
    except DomainError as refusal:
        return refusal
    people.keep(chosen)
    return None


def _turns(made: Sequence[Drafted]) -> Iterator[Sequence[Drafted]]:
    """The orders in as few goes as tell the same as if they came one by one.

    What listeners are told of an order shows its customer with the orders before it, so that each of these is written
    before. Products, which are locked last, are held for all of them then.
    """
    if not (is_heard("orders/create") or is_heard("orders/paid")):
        yield made
        return
    turns: list[list[Drafted]] = [[]]
    seen = set[int]()
    for each in made:
        customer = each.order.customer
        if customer is not None and customer.pk in seen:
            turns.append([])
            seen.clear()
        if customer is not None:
            seen.add(customer.pk)
        turns[-1].append(each)
    if len(turns) > 1:
        hold_products(line.product_id for each in made for line in each.lines if line.product_id is not None)
    for place, turn in enumerate(turns):
        if place:
            buyers.refresh([each.order for each in turn])
        yield turn


def _write(made: Sequence[Drafted], *, actor: str, at: datetime) -> None:
    """Store orders that have their customers, numbers and money, with all that comes with them, and tell of it."""
    for each in made:
        statuses.follow(each.order, each.lines, each.paid)
    sold = [each for each in made if payments.mark_sold(each.order)]
    _insert(made)
    if sold:
        payments.count_sold([line for each in sold for line in each.lines])
    buyers.add([each.order for each in made])
    for each in made:
        if each.parts.metafields:
            metafields.set_many(each.order, each.parts.metafields, actor=actor, at=at)
    for created in hooks.creations:
        created([(each.order, each.parts.others) for each in made], actor=actor, at=at)
    if len(made) == 1:
        _record(made[0], actor=actor, at=at)
    else:
        record_events([each for one in made for each in _happenings(one)], actor=actor, at=at)
    receipts = [each.order.pk for each in made if each.parts.send_receipt and each.order.email]
    enqueue_many("orders.receipt", [{"order_id": pk} for pk in receipts], actor=actor)


def _insert(made: Sequence[Drafted]) -> None:
    """The rows of orders, those of all of them table by table."""
    if len(made) == 1:
        made[0].order.save(force_insert=True)
    else:
        Order.objects.bulk_create([each.order for each in made])
    lines = [line for each in made for line in each.lines]
    for order, line in ((each.order, line) for each in made for line in each.lines):
        line.order = order
    shipping = [row for each in made for row in each.shipping]
    for row in shipping:
        row.order_id = row.order.pk
    LineItem.objects.bulk_create(lines)
    ShippingLine.objects.bulk_create(shipping)
    payments.save([row for each in made for row in each.paid])


def _record(made: Drafted, *, actor: str, at: datetime) -> None:
    order = made.order
    record_event("orders/create", order, actor=actor, at=at)
    record_events([Happening("order_transactions/create", row) for row in made.paid], actor=actor, at=at)
    tenders.tell(made.paid, actor=actor, at=at)
    if order.financial_status == Financial.PAID:
        record_event("orders/paid", order, actor=actor, at=at)


def _happenings(made: Drafted) -> list[Happening]:
    """What ``_record`` tells of, in its order."""
    moved = [Happening("order_transactions/create", row) for row in made.paid]
    paid = [Happening("orders/paid", made.order)] if made.order.financial_status == Financial.PAID else []
    return [Happening("orders/create", made.order), *moved, *tenders.heard(made.paid), *paid]
