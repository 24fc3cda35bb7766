"""The background work of fulfillment."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.fulfillment import mails
from apps.fulfillment.domain import pulling, records, routing, transitions
from apps.jobs.domain import housekeeping, queue
from apps.jobs.domain.duties import each_minute
from apps.jobs.models import Job


def route(job: Job, **arguments: Any) -> None:
    """Make an order's fulfillment orders: ``order_id``, and ``fulfill_at`` for one that is sent later."""
    later = arguments.get("fulfill_at")
    due = datetime.fromisoformat(later) if later else None
    routing.route(arguments["order_id"], at=timezone.now(), fulfill_at=due)


def open_if_due(job: Job, **arguments: int) -> None:
    """Open a scheduled fulfillment order: ``fulfillment_order_id``."""
    transitions.open_if_due(arguments["fulfillment_order_id"], at=timezone.now())


def register_all() -> None:
    """Add the tasks and the duties."""
    queue.register(routing.ROUTE_TASK, route, gettext_lazy("Choosing from where an order is sent"))
    queue.register(transitions.OPEN_TASK, open_if_due, gettext_lazy("Opening what is to be sent later"))
    queue.register(pulling.PULL, pulling.run_pull, gettext_lazy("Asking a fulfillment service"))
    mails.register_all()
    each_minute.register("calls to fulfillment services", pulling.begin_due)
    housekeeping.register("orders that were never routed", routing.begin_missing)
    housekeeping.register("calls to fulfillment services", records.clear)
