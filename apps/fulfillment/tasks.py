from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.jobs.models import Job
from apps.core.jobs.queue import Task, tasks
from apps.fulfillment.domain.fulfillment_orders import routing, transitions
from apps.fulfillment.domain.services import polling


def route_order_task(job: Job, **arguments: Any) -> None:
    """Route the order ``order_id``. If ``fulfill_at`` is given, schedule the order's fulfillment orders."""
    fulfill_at = arguments.get("fulfill_at")
    scheduled_for = datetime.fromisoformat(fulfill_at) if fulfill_at else None
    routing.route_order(arguments["order_id"], at=timezone.now(), fulfill_at=scheduled_for)


def open_if_due_task(job: Job, **arguments: int) -> None:
    transitions.open_if_due(arguments["fulfillment_order_id"], at=timezone.now())


tasks.register(routing.ROUTE_TASK, Task(route_order_task, gettext_lazy("Create fulfillment orders")))
tasks.register(transitions.OPEN_TASK, Task(open_if_due_task, gettext_lazy("Open a scheduled fulfillment order")))
tasks.register(polling.PULL_TASK, Task(polling.run_pull, gettext_lazy("Request to a fulfillment service")))
