"""Background tasks for customers."""

from django.utils.translation import gettext_lazy

from apps.customers import emails
from apps.customers.domain import erasure, merge, privacy_webhooks, sqlite_fts
from apps.jobs.domain import queue


def register_customer_tasks() -> None:
    """Register the tasks."""
    emails.register_email_tasks()
    queue.register_task(
        privacy_webhooks.REDACT_TASK,
        privacy_webhooks.publish_redact_webhook,
        gettext_lazy("Customer erasure request to apps"),
    )
    queue.register_task(erasure.ERASE_TASK, erasure.run_erasure_job, gettext_lazy("Erasure of personal data"))
    queue.register_task(merge.MERGE_TASK, merge.run_merge_job, gettext_lazy("Customer merge"))
    queue.register_task(
        sqlite_fts.CLEAR_TASK,
        sqlite_fts.clear_erased_text,
        gettext_lazy("Removal of erased data from the search index"),
    )
