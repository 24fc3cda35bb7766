"""Create orders: from a checkout, an app or an import.

An order is first validated and priced without locks (``drafts``). Then one transaction locks the customer, the
order counter, stock and products in the common locking order. A refused order leaves no rows behind and no gap in the
order numbers. Bulk creation uses the same functions.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import transaction

from apps.catalog.domain.sales_counters import lock_sold_products
from apps.core.db.statement_batches import collect_statements
from apps.core.events.recording import EventInput, has_audience, record_events
from apps.core.exceptions import DomainError
from apps.core.jobs.queue import enqueue_many
from apps.core.tenancy.models import App
from apps.core.types import ReadOnlyAttrs
from apps.metafields.domain import write as metafields
from apps.orders.domain import customer_totals, hooks, payments, statuses, stock_reservation
from apps.orders.domain.create import customers, numbering
from apps.orders.domain.create.drafts import OrderDraft, OrderParts, assign_customer, build_order, complete_draft
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.models import LineItem, Order, ShippingLine


@transaction.atomic
def create_order(attrs: ReadOnlyAttrs, parts: OrderParts, *, actor: str, at: datetime, app: App | None = None) -> Order:
    """Create an order from the values that ``drafts.build_order`` accepts.

    Raises:
        OrderRefused, OrderCustomerRefused, PaymentRefused: Values are invalid.
        DomainError: A payment hook refuses a transaction.
        NotEnoughStock: A variant has too little stock and must not be oversold.
    """
    drafted = build_order(attrs, parts, app=app, at=at)
    if not drafted.has_no_customer:
        assign_customer(drafted, customers.get_or_create_customer(drafted.order, parts.customer, actor=actor, at=at))
    complete_draft(drafted, at=at)
    if not parts.is_imported:
        hooks.lock_money(drafted.order, drafted.transactions)
    numbering.assign_numbers([(drafted.order, drafted.name)])
    stock_reservation.take_stock(drafted.order, drafted.lines, actor=actor, at=at)
    _save([drafted], actor=actor, at=at)
    return drafted.order


@transaction.atomic
def create_orders(drafts: Sequence[OrderDraft], *, actor: str, at: datetime) -> list[DomainError | None]:
    """Create several orders, with the same results as separate calls to ``create_order``.

    The orders must bypass inventory.

    Returns:
        The error of each refused order, and None for each saved order. Refused orders leave no rows behind.

    Raises:
        CurrencyChanged: The shop currency has changed. Nothing is saved.
        IntegrityError: Another transaction has created the same order or customer, or an order must be created
            separately to get a precise error. Nothing is saved.
    """
    people = customers.OrderCustomers([(drafted.order, drafted.parts.customer) for drafted in drafts], locked=True)
    errors = [_complete(drafted, people, at=at) for drafted in drafts]
    accepted = [drafted for drafted, error in zip(drafts, errors, strict=True) if error is None]
    if accepted:
        people.create_customers(actor=actor, at=at)
        numbering.assign_numbers([(drafted.order, drafted.name) for drafted in accepted])
        for batch in _split_into_batches(accepted):
            _save(batch, actor=actor, at=at)
    return errors


def preview_orders(drafts: Sequence[OrderDraft], *, at: datetime) -> list[DomainError | None]:
    """Set the number and name that each order would get if created separately. Return the errors of the orders."""
    people = customers.OrderCustomers([(drafted.order, drafted.parts.customer) for drafted in drafts], locked=False)
    errors = [_complete(drafted, people, at=at) for drafted in drafts]
    accepted = [drafted for drafted, error in zip(drafts, errors, strict=True) if error is None]
    numbering.preview_numbers([(drafted.order, drafted.name) for drafted in accepted])
    return errors


def _complete(drafted: OrderDraft, people: customers.OrderCustomers, *, at: datetime) -> DomainError | None:
    order, data = drafted.order, drafted.parts.customer
    if order.inventory_behaviour != Order.InventoryBehaviour.BYPASS:
        raise ValueError("An order that takes stock must be created alone")
    try:
        customer, new_customer = (None, None) if drafted.has_no_customer else people.choose_customer(order, data, at=at)
        assign_customer(drafted, customer)
        complete_draft(drafted, at=at)
    except DomainError as error:
        return error
    if new_customer is not None:
        people.remember_new_customer(new_customer)
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
            customers.refresh_customers([drafted.order for drafted in batch])
        yield batch


def _save(drafts: Sequence[OrderDraft], *, actor: str, at: datetime) -> None:
    for drafted in drafts:
        statuses.update_statuses(drafted.order, drafted.lines, drafted.transactions)
    paid_drafts = [drafted for drafted in drafts if payments.mark_units_counted(drafted.order)]
    _insert_rows(drafts)
    for drafted in drafts:
        if not drafted.parts.is_imported and (errors := hooks.move_all_money(drafted.transactions, actor=actor, at=at)):
            raise OrderRefused(errors)
    if paid_drafts:
        payments.count_sold_units([line for drafted in paid_drafts for line in drafted.lines])
    customers_with_orders = customer_totals.add_orders_to_customers([drafted.order for drafted in drafts])
    for drafted in drafts:
        if drafted.parts.metafields:
            metafields.set_metafields(drafted.order, drafted.parts.metafields, actor=actor, at=at)
    for hook in hooks.creation_hooks.values():
        hook([(drafted.order, drafted.parts.other_members) for drafted in drafts], actor=actor, at=at)
    order_events = [event for drafted in drafts for event in _get_events(drafted)]
    customer_events = customer_totals.get_customer_events(customers_with_orders)
    new_orders = [drafted.order for drafted in drafts if not drafted.parts.is_imported]
    with collect_statements() as batch:
        record_events([*customer_events, *order_events], batch=batch, actor=actor, at=at)
        hooks.notify_new_order_listeners(new_orders, batch=batch, actor=actor, at=at)
    paid_orders = [order for order in new_orders if _is_paid(order)]
    hooks.notify_paid_listeners(paid_orders, actor=actor, at=at)
    receipts = [drafted.order.pk for drafted in drafts if drafted.parts.send_receipt and drafted.order.email]
    enqueue_many("orders.send_receipt", [{"order_id": pk} for pk in receipts], actor=actor)


def _insert_rows(drafts: Sequence[OrderDraft]) -> None:
    if len(drafts) == 1:
        drafts[0].order.save(force_insert=True)
    else:
        Order.objects.bulk_create([drafted.order for drafted in drafts])
    for drafted in drafts:
        rows: list[LineItem | ShippingLine] = [*drafted.lines, *drafted.shipping]
        for row in rows:
            row.order = drafted.order
    LineItem.objects.bulk_create([line for drafted in drafts for line in drafted.lines])
    ShippingLine.objects.bulk_create([row for drafted in drafts for row in drafted.shipping])
    payments.save_transactions([row for drafted in drafts for row in drafted.transactions])


def _get_events(drafted: OrderDraft) -> list[EventInput]:
    return [
        EventInput("orders/create", drafted.order),
        *(EventInput("order_transactions/create", row) for row in drafted.transactions),
        *payments.get_tender_events(drafted.transactions),
        *([EventInput("orders/paid", drafted.order)] if _is_paid(drafted.order) else []),
    ]


def _is_paid(order: Order) -> bool:
    return order.financial_status == Order.FinancialStatus.PAID
