from typing import Any

from django.utils.translation import gettext_lazy

from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.customers.domain import erasure, merge, privacy_webhooks, search_columns


@job_task(
    privacy_webhooks.REDACT_TASK,
    title=gettext_lazy("Customer erasure request to apps"),
    former_names=("customers.tell_redact",),
)
def publish_redact_webhook(job: Job, *, customer_id: int) -> None:
    privacy_webhooks.publish_redact_webhook(job, customer_id=customer_id)


@job_task(erasure.ERASE_TASK, title=gettext_lazy("Erasure of personal data"), former_names=("customers.erase",))
def erase_customer(job: Job, *, customer_id: int) -> None:
    erasure.run_erasure_job(job, customer_id=customer_id)


@job_task(merge.MERGE_TASK, title=gettext_lazy("Customer merge"), former_names=("customers.merge",))
def merge_customers(job: Job, *, keep_id: int, other_id: int, choices: dict[str, Any]) -> None:
    merge.run_merge_job(job, keep_id=keep_id, other_id=other_id, choices=choices)


@job_task(
    search_columns.CLEAR_TASK,
    title=gettext_lazy("Removal of erased data from the search index"),
    former_names=("customers.shred",),
)
def clear_erased_text(job: Job) -> None:
    search_columns.clear_erased_text(job)
