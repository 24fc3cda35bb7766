"""The orders of a customer who is merged into another go to the one who stays."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import QuerySet

from apps.events.domain.recording import Happening, record_events
from apps.orders.domain import buyers
from apps.orders.models import Order


def rows(customer_id: int) -> QuerySet[Order]:
    """A customer's orders."""
    found: QuerySet[Order] = Order.objects.filter(customer_id=customer_id)
    return found


def move(orders: Sequence[Order], keep_id: int, other_id: int, actor: str, at: datetime) -> None:
    """Give orders that are held to another customer, in a fixed number of statements; both show what they have."""
    if not orders:
        return
    Order.objects.filter(pk__in=[order.pk for order in orders]).update(customer_id=keep_id, updated_at=at)
    for order in orders:
        order.customer_id, order.updated_at = keep_id, at
    buyers.hand_over(orders, keep_id, other_id)
    changes = {"customer_id": [other_id, keep_id]}
    record_events([Happening("orders/updated", order, changes) for order in orders], actor=actor, at=at)
