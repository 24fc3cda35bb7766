from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.fulfillment.domain.fulfillment_orders import routing, transitions
from apps.fulfillment.domain.services import polling


@job_task(
    routing.ROUTE_TASK,
    title=gettext_lazy("Create fulfillment orders"),
    former_names=("fulfillment.route",),
)
def route_order(job: Job, *, order_id: int, fulfill_at: str | None = None) -> None:
    """Route an order. If ``fulfill_at`` is given, schedule the order's fulfillment orders."""
    scheduled_for = datetime.fromisoformat(fulfill_at) if fulfill_at else None
    routing.route_order(order_id, at=timezone.now(), fulfill_at=scheduled_for)


@job_task(
    transitions.OPEN_TASK,
    title=gettext_lazy("Open a scheduled fulfillment order"),
    former_names=("fulfillment.open",),
)
def open_fulfillment_order(job: Job, *, fulfillment_order_id: int) -> None:
    transitions.open_if_due(fulfillment_order_id, at=timezone.now())


@job_task(
    polling.PULL_TASK,
    title=gettext_lazy("Request to a fulfillment service"),
    former_names=("fulfillment.pull",),
)
def poll_service(job: Job, *, pull_id: int, round: int, number: int, sku: str | None) -> None:
    """Run one attempt of a round of requests for stock or tracking numbers."""
    polling.run_pull(job, pull_id=pull_id, round=round, number=number, sku=sku)
