"""Background tasks for fulfillment."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.fulfillment import emails
from apps.fulfillment.domain import callback_retention, routing, service_polling, transitions
from apps.jobs.domain import housekeeping, queue
from apps.jobs.domain.periodic_tasks import minute_tasks
from apps.jobs.models import Job


def route_order_task(job: Job, **arguments: Any) -> None:
    """Route the order ``order_id``. If ``fulfill_at`` is given, schedule the order's fulfillment orders."""
    fulfill_at = arguments.get("fulfill_at")
    scheduled_for = datetime.fromisoformat(fulfill_at) if fulfill_at else None
    routing.route_order(arguments["order_id"], at=timezone.now(), fulfill_at=scheduled_for)


def open_if_due_task(job: Job, **arguments: int) -> None:
    """Open the scheduled fulfillment order ``fulfillment_order_id`` if its start date has passed."""
    transitions.open_if_due(arguments["fulfillment_order_id"], at=timezone.now())


def register_fulfillment_tasks() -> None:
    queue.register_task(routing.ROUTE_TASK, route_order_task, gettext_lazy("Create fulfillment orders"))
    queue.register_task(transitions.OPEN_TASK, open_if_due_task, gettext_lazy("Open a scheduled fulfillment order"))
    queue.register_task(
        service_polling.PULL_TASK, service_polling.run_pull, gettext_lazy("Request to a fulfillment service")
    )
    emails.register_email_tasks()
    minute_tasks.register("calls to fulfillment services", service_polling.begin_due_rounds)
    housekeeping.register_hourly_task("orders that were never routed", routing.enqueue_missing_routing)
    housekeeping.register_hourly_task("calls to fulfillment services", callback_retention.delete_old_attempts)
