from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.discounts.domain import batches


@job_task(batches.TASK, title=gettext_lazy("Creation of discount codes"), on_give_up=batches.fail_batch)
def create_codes(job: Job, *, batch_id: int) -> None:
    batches.run_batch(job, batch_id=batch_id)
