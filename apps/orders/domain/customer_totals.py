"""Keep the order count, the spending and the last order of customers up to date.

The values are incremented, because a recount is slow for customers with many orders. ``recount_customer_orders``
corrects wrong values. Each change is reported to apps, together with the change of the order.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from apps.core.events.recording import EventInput, has_audience, record_events, record_secondary_events
from apps.core.tenancy.scope import get_current_shop
from apps.customers.domain.lookup import PURCHASING_SUMMARY
from apps.customers.models import NEVER_ORDERED, Customer
from apps.orders.models import Order


def lock_order_customer(customer_id: int | None) -> Customer | None:
    if customer_id is None:
        return None
    return Customer.objects.select_for_update(of=("self",)).filter(pk=customer_id).first()


def get_spent_amount(order: Order) -> Decimal:
    """Return an order's payments minus refunds, or zero for test orders and orders in other currencies."""
    if order.test or order.currency != get_current_shop().currency:
        return Decimal(0)
    return order.net_payment


def get_customer_events(customers: Iterable[Customer]) -> list[EventInput]:
    """Return the events of customers with changed totals, or an empty list if no app subscribes to these events."""
    topics = [topic for topic in ("customers/update", PURCHASING_SUMMARY) if has_audience(topic)]
    return [EventInput(topic, customer) for customer in customers for topic in topics]


def add_orders_to_customers(orders: Sequence[Order]) -> list[Customer]:
    """Add orders to the totals of their customers. Return the customers. The caller records their events."""
    if len(orders) > 1:
        return _add_in_bulk(orders)
    customer = lock_order_customer(orders[0].customer_id)
    if customer is None:
        return []
    Customer.objects.filter(pk=customer.pk).update(**_columns_with_orders(customer, orders))
    return [customer]


def _add_in_bulk(orders: Sequence[Order]) -> list[Customer]:
    orders_by_customer: dict[int, list[Order]] = {}
    for order in orders:
        if order.customer_id is not None:
            orders_by_customer.setdefault(order.customer_id, []).append(order)
    locked_rows = Customer.objects.select_for_update(of=("self",)).filter(pk__in=list(orders_by_customer))
    customers = list(locked_rows.order_by("pk"))
    for customer in customers:
        for name, value in _columns_with_orders(customer, orders_by_customer[customer.pk]).items():
            setattr(customer, name, value)
    Customer.objects.bulk_update(customers, ["orders_count", "total_spent", *_last_order_columns(None)])
    return customers


def _columns_with_orders(customer: Customer, orders: Sequence[Order]) -> dict[str, Any]:
    last, last_order_id = max(orders, key=lambda order: (order.processed_at, order.pk)), customer.last_order_id
    is_latest = last_order_id is None or (customer.last_order_at, last_order_id) < (last.processed_at, last.pk)
    return {
        "orders_count": customer.orders_count + len(orders),
        "total_spent": sum(map(get_spent_amount, orders), customer.total_spent),
        **(_last_order_columns(last) if is_latest else {}),
    }


def _columns_without_orders(customer: Customer, order_ids: Collection[int], spent: Decimal) -> dict[str, Any]:
    was_last = customer.last_order_id in order_ids
    return {
        "orders_count": max(customer.orders_count - len(order_ids), 0),
        "total_spent": customer.total_spent - spent,
        **(_last_order_columns(_get_last_order(customer.pk)) if was_last else {}),
    }


def update_total_spent(order: Order, before: Decimal, *, actor: str, at: datetime) -> None:
    """Update the customer's spending after a payment or refund. ``before`` is the order's previous spent amount."""
    change = get_spent_amount(order) - before
    customer = lock_order_customer(order.customer_id) if change else None
    if customer is not None:
        # The sum is calculated in Python, because SQLite does not add decimals exactly.
        Customer.objects.filter(pk=customer.pk).update(total_spent=customer.total_spent + change)
        record_secondary_events(get_customer_events([customer]), actor=actor, at=at)


def remove_order_from_customer(
    order_id: int, spent: Decimal, customer_id: int | None, *, actor: str, at: datetime
) -> None:
    customer = lock_order_customer(customer_id)
    if customer is not None:
        Customer.objects.filter(pk=customer.pk).update(**_columns_without_orders(customer, [order_id], spent))
        record_secondary_events(get_customer_events([customer]), actor=actor, at=at)


def get_customer_orders(customer_id: int) -> QuerySet[Order]:
    return Order.objects.filter(customer_id=customer_id)


def move_orders(orders: Sequence[Order], keep_id: int, other_id: int, actor: str, at: datetime) -> None:
    """Move locked orders to another locked customer in a fixed number of statements, and update both customers."""
    if not orders:
        return
    ids = [order.pk for order in orders]
    Order.objects.filter(pk__in=ids).update(customer_id=keep_id, updated_at=at)
    for order in orders:
        order.customer_id, order.updated_at = keep_id, at
    customers = Customer.objects.in_bulk([keep_id, other_id])
    spent = sum(map(get_spent_amount, orders), Decimal(0))
    Customer.objects.filter(pk=keep_id).update(**_columns_with_orders(customers[keep_id], orders))
    Customer.objects.filter(pk=other_id).update(**_columns_without_orders(customers[other_id], ids, spent))
    changes = {"customer_id": [other_id, keep_id]}
    record_events(
        [*get_customer_events(customers.values()), *(EventInput("orders/updated", order, changes) for order in orders)],
        actor=actor,
        at=at,
    )


def recount_customer_orders(customer_id: int, *, actor: str, at: datetime) -> None:
    customer = lock_order_customer(customer_id)
    if customer is None:
        return
    real = Q(test=False, currency=get_current_shop().currency)
    sums = Order.objects.filter(customer_id=customer_id).aggregate(
        count=Count("pk"), paid=Sum("total_paid", filter=real), refunded=Sum("total_refunded", filter=real)
    )
    Customer.objects.filter(pk=customer_id).update(
        orders_count=sums["count"],
        total_spent=(sums["paid"] or Decimal(0)) - (sums["refunded"] or Decimal(0)),
        **_last_order_columns(_get_last_order(customer_id)),
    )
    record_secondary_events(get_customer_events([customer]), actor=actor, at=at)


def _get_last_order(customer_id: int) -> Order | None:
    orders = Order.objects.filter(customer_id=customer_id).order_by("-processed_at", "-pk")
    return orders.only("name", "processed_at", "currency", "test").first()


def _last_order_columns(last: Order | None) -> dict[str, Any]:
    return {
        "last_order_id": last.pk if last else None,
        "last_order_name": last.name if last else "",
        "last_order_at": last.processed_at if last else NEVER_ORDERED,
        "last_order_currency": last.currency if last and not last.test else "",
    }
