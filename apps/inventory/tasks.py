from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.inventory.domain import low_stock


@job_task(low_stock.MARK_TASK, title=gettext_lazy("Update low stock"), former_names=("inventory.mark_low",))
def mark_low_stock(job: Job) -> None:
    low_stock.mark_low_levels()
