"""Move orders when two customers are merged."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import QuerySet

from apps.events.domain.recording import EventInput, record_events
from apps.orders.domain import order_customers
from apps.orders.models import Order


def get_orders_to_merge(customer_id: int) -> QuerySet[Order]:
    orders: QuerySet[Order] = Order.objects.filter(customer_id=customer_id)
    return orders


def move_orders(orders: Sequence[Order], keep_id: int, other_id: int, actor: str, at: datetime) -> None:
    """Move locked orders to another customer in a fixed number of statements, and update both customers' totals."""
    if not orders:
        return
    Order.objects.filter(pk__in=[order.pk for order in orders]).update(customer_id=keep_id, updated_at=at)
    for order in orders:
        order.customer_id, order.updated_at = keep_id, at
    order_customers.move_orders_to_customer(orders, keep_id, other_id)
    changes = {"customer_id": [other_id, keep_id]}
    record_events([EventInput("orders/updated", order, changes) for order in orders], actor=actor, at=at)
