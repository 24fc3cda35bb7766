from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.store_imports.domain import background_runs


@job_task(background_runs.RUN_TASK, title=gettext_lazy("Import of a store"), on_give_up=background_runs.mark_run_failed)
def run_background_import(job: Job, *, import_id: int, run: int) -> None:
    background_runs.execute_run(job, import_id=import_id, run=run)
