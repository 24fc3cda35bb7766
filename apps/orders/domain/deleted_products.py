"""Report to apps the orders with line items of a deleted product or variant.

The deletion updates all these orders in one statement. A best seller may be in too many orders to render them in the
same transaction, so the deletion enqueues jobs in its transaction, and each job records the events of some orders.
"""

from collections.abc import Sequence
from itertools import islice

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.catalog.domain.notifications.removal_hooks import Removal
from apps.core.events.recording import EventInput, has_audience, record_secondary_events
from apps.core.jobs.models import Job
from apps.core.jobs.queue import enqueue_many
from apps.orders.domain.hooks import has_line_audience, notify_line_listeners
from apps.orders.models import LineItem, Order

TASK = "orders.record_updates"
TOPIC = "orders/updated"
_ORDERS_PER_JOB = 1000
_BATCH_SIZE = 50


def enqueue_updates(removal: Removal, *, actor: str) -> None:
    """Enqueue events for the orders with these products or variants, if an app subscribes to the events.

    The line listeners tell apps about rows that contain the orders' line items, so their events also count.
    """
    if not has_audience(TOPIC) and not has_line_audience():
        return
    shows_removed = Q(product_id__in=removal.product_ids) | Q(variant_id__in=removal.variant_ids)
    order_ids = LineItem.objects.filter(shows_removed).order_by("order_id").values_list("order_id", flat=True)
    # A best seller can be in more orders than fit into memory.
    rows = order_ids.distinct().iterator(chunk_size=_ORDERS_PER_JOB)
    while ids := list(islice(rows, _ORDERS_PER_JOB)):
        enqueue_many(TASK, [{"order_ids": ids}], actor=actor)


def record_updates(job: Job, *, order_ids: Sequence[int]) -> None:
    """Record ``orders/updated`` for the orders that still exist, and tell the line listeners."""
    for chunk in _split(order_ids, _BATCH_SIZE):
        with transaction.atomic():
            # Without the lock, an event could have an older state but a higher id than another event of the order.
            orders = Order.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=chunk).order_by("pk")
            events = [EventInput(TOPIC, order) for order in orders]
            now = timezone.now()
            record_secondary_events(events, actor=job.actor, at=now)
            notify_line_listeners(LineItem.objects.filter(order__in=orders).order_by("pk"), actor=job.actor, at=now)


def _split(ids: Sequence[int], size: int) -> list[Sequence[int]]:
    return [ids[start : start + size] for start in range(0, len(ids), size)]
