from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.refunds.domain import gateways


@job_task(gateways.PROCESS_TASK, title=gettext_lazy("Refund payment"), former_names=("refunds.payment",))
def process_payment(job: Job, *, transaction_id: int) -> None:
    gateways.process_refund_payment(job, transaction_id=transaction_id)
