from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.documents.domain import automatic


@job_task(automatic.TASK, title=gettext_lazy("Invoice of an order"))
def issue_invoice(job: Job, *, order_id: int) -> None:
    automatic.run_issue_job(job, order_id=order_id)
