from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.orders.domain import deleted_products


@job_task(deleted_products.TASK, title=gettext_lazy("Webhooks for orders with deleted products"))
def record_updates(job: Job, *, order_ids: list[int]) -> None:
    deleted_products.record_updates(job, order_ids=order_ids)
