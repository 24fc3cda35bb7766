"""Create orders: from a checkout, an app or an import.

An order is first validated and priced without locks (``order_drafts``). Then one transaction locks the customer, the
order counter, stock and products in the common locking order. A refused order leaves no rows behind and no gap in the
order numbers. Bulk creation uses the same functions.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import transaction

from apps.catalog.domain.sales_counters import lock_sold_products
from apps.events.domain.recording import EventInput, has_audience, record_event, record_events
from apps.ground.exceptions import DomainError
from apps.ground.types import ReadOnlyAttrs
from apps.jobs.domain.queue import enqueue_many
from apps.metafields.domain import write as metafields
from apps.orders.domain import (
    hooks,
    numbering,
    order_customers,
    payments,
    statuses,
    stock_reservation,
    tender_transactions,
)
from apps.orders.domain.order_drafts import OrderDraft, OrderParts, assign_customer, build_order, set_transactions
from apps.orders.models import LineItem, Order, ShippingLine
from apps.shops.models import App

FinancialStatus = Order.FinancialStatus


@transaction.atomic
def create_order(attrs: ReadOnlyAttrs, parts: OrderParts, *, actor: str, at: datetime, app: App | None = None) -> Order:
    """Create an order.

    Args:
        attrs: See ``order_drafts.build_order``.
        parts: Line items, transactions and other related data.
        actor: The actor of the events.
        at: The current time.
        app: The app that creates the order.

    Raises:
        OrderRefused: Values are invalid. The errors are ``{field: [messages]}``.
        OrderCustomerRefused: The customer can be neither found nor created.
        PaymentRefused: A transaction is not possible.
        NotEnoughStock: A variant has too little stock and must not be oversold.
    """
    drafted = build_order(attrs, parts, app=app, at=at)
    assign_customer(drafted, order_customers.get_or_create_customer(drafted.order, parts.customer, actor=actor, at=at))
    numbering.assign_number(drafted.order, drafted.name)
    stock_reservation.take_stock(drafted.order, drafted.lines, actor=actor, at=at)
    set_transactions(drafted, at=at)
    _save([drafted], actor=actor, at=at)
    return drafted.order


@transaction.atomic
def create_orders(drafts: Sequence[OrderDraft], *, actor: str, at: datetime) -> list[DomainError | None]:
    """Create several orders, with the same results as separate calls to ``create_order``.

    Args:
        drafts: Orders that bypass inventory and do not refer to customers by id.
        actor: The actor of the events.
        at: The current time.

    Returns:
        The error of each refused order, and None for each saved order. Refused orders leave no rows behind.

    Raises:
        CurrencyChanged: The shop currency has changed. Nothing is saved.
        IntegrityError: Another transaction has created the same order or customer, or an order must be created
            separately to get a precise error. Nothing is saved.
        ValueError: An order does not bypass inventory, or has a customer id.
    """
    people = order_customers.OrderCustomers(
        [(drafted.order, drafted.parts.customer) for drafted in drafts], locked=True
    )
    errors = [_complete(drafted, people, at=at) for drafted in drafts]
    accepted = [drafted for drafted, error in zip(drafts, errors, strict=True) if error is None]
    if accepted:
        people.create_customers(actor=actor, at=at)
        numbering.assign_numbers([(drafted.order, drafted.name) for drafted in accepted])
        for batch in _split_into_batches(accepted):
            _save(batch, actor=actor, at=at)
    return errors


def preview_orders(drafts: Sequence[OrderDraft], *, at: datetime) -> list[DomainError | None]:
    """Set the number and name that each order would get if created separately, and return the errors of the orders.

    Nothing is saved.

    Raises:
        CurrencyChanged, ValueError: See ``create_orders``.
    """
    people = order_customers.OrderCustomers(
        [(drafted.order, drafted.parts.customer) for drafted in drafts], locked=False
    )
    errors = [_complete(drafted, people, at=at) for drafted in drafts]
    accepted = [drafted for drafted, error in zip(drafts, errors, strict=True) if error is None]
    numbering.preview_numbers([(drafted.order, drafted.name) for drafted in accepted])
    return errors


def _complete(drafted: OrderDraft, people: order_customers.OrderCustomers, *, at: datetime) -> DomainError | None:
    """Assign the customer and transactions of a new order, or return the error."""
    order, data = drafted.order, drafted.parts.customer
    if order.inventory_behaviour != Order.InventoryBehaviour.BYPASS or (data and data.get("id")):
        raise ValueError("An order that takes stock or has a customer id must be created alone")
    try:
        choice = people.choose_customer(order, data, at=at)
        assign_customer(drafted, choice.customer)
        set_transactions(drafted, at=at)
    except DomainError as error:
        return error
    people.remember_new_customer(choice)
    return None


def _split_into_batches(drafts: Sequence[OrderDraft]) -> Iterator[Sequence[OrderDraft]]:
    """Yield the orders in batches that produce the same events as if the orders were created one by one.

    An order event contains the customer's order totals, so earlier orders of the same customer must be saved first.
    With several batches, the products of all batches are locked first, because locking them batch by batch could cause
    deadlocks.
    """
    if not (has_audience("orders/create") or has_audience("orders/paid")):
        yield drafts
        return
    batches: list[list[OrderDraft]] = [[]]
    customer_ids = set[int]()
    for drafted in drafts:
        customer = drafted.order.customer
        if customer is not None and customer.pk in customer_ids:
            batches.append([])
            customer_ids.clear()
        if customer is not None:
            customer_ids.add(customer.pk)
        batches[-1].append(drafted)
    if len(batches) > 1:
        lock_sold_products(
            line.product_id for drafted in drafts for line in drafted.lines if line.product_id is not None
        )
    for index, batch in enumerate(batches):
        if index:
            order_customers.refresh_customers([drafted.order for drafted in batch])
        yield batch


def _save(drafts: Sequence[OrderDraft], *, actor: str, at: datetime) -> None:
    """Save complete orders with their related rows, and record the events."""
    for drafted in drafts:
        statuses.update_statuses(drafted.order, drafted.lines, drafted.transactions)
    paid_drafts = [drafted for drafted in drafts if payments.mark_units_counted(drafted.order)]
    _insert_rows(drafts)
    if paid_drafts:
        payments.count_sold_units([line for drafted in paid_drafts for line in drafted.lines])
    order_customers.add_orders_to_customers([drafted.order for drafted in drafts])
    for drafted in drafts:
        if drafted.parts.metafields:
            metafields.set_metafields(drafted.order, drafted.parts.metafields, actor=actor, at=at)
    for hook in hooks.creation_hooks:
        hook([(drafted.order, drafted.parts.other_members) for drafted in drafts], actor=actor, at=at)
    if len(drafts) == 1:
        _record_events(drafts[0], actor=actor, at=at)
    else:
        record_events([event for drafted in drafts for event in _get_events(drafted)], actor=actor, at=at)
    receipts = [drafted.order.pk for drafted in drafts if drafted.parts.send_receipt and drafted.order.email]
    enqueue_many("orders.receipt", [{"order_id": pk} for pk in receipts], actor=actor)


def _insert_rows(drafts: Sequence[OrderDraft]) -> None:
    """Insert the orders with their related rows, one table after the other."""
    if len(drafts) == 1:
        drafts[0].order.save(force_insert=True)
    else:
        Order.objects.bulk_create([drafted.order for drafted in drafts])
    lines = [line for drafted in drafts for line in drafted.lines]
    for order, line in ((drafted.order, line) for drafted in drafts for line in drafted.lines):
        line.order = order
    shipping = [row for drafted in drafts for row in drafted.shipping]
    for row in shipping:
        row.order_id = row.order.pk
    LineItem.objects.bulk_create(lines)
    ShippingLine.objects.bulk_create(shipping)
    payments.save_transactions([row for drafted in drafts for row in drafted.transactions])


def _record_events(drafted: OrderDraft, *, actor: str, at: datetime) -> None:
    order = drafted.order
    record_event("orders/create", order, actor=actor, at=at)
    record_events([EventInput("order_transactions/create", row) for row in drafted.transactions], actor=actor, at=at)
    tender_transactions.record_tender_events(drafted.transactions, actor=actor, at=at)
    if order.financial_status == FinancialStatus.PAID:
        record_event("orders/paid", order, actor=actor, at=at)


def _get_events(drafted: OrderDraft) -> list[EventInput]:
    """Return the events that ``_record_events`` records, in the same order."""
    transaction_events = [EventInput("order_transactions/create", row) for row in drafted.transactions]
    paid_events = (
        [EventInput("orders/paid", drafted.order)] if drafted.order.financial_status == FinancialStatus.PAID else []
    )
    return [
        EventInput("orders/create", drafted.order),
        *transaction_events,
        *tender_transactions.get_tender_events(drafted.transactions),
        *paid_events,
    ]
