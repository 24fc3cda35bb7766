from django.utils.translation import gettext_lazy

from apps.content.domain import theme_extraction, themes
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job


@job_task(
    themes.EXTRACT_TASK,
    title=gettext_lazy("Install theme files"),
    on_give_up=theme_extraction.record_extraction_failure,
)
def extract_theme(job: Job, *, theme_id: int) -> None:
    theme_extraction.extract_theme(job, theme_id=theme_id)
