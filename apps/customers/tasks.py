from django.utils.translation import gettext_lazy

from apps.core.jobs.queue import Task, tasks
from apps.customers.domain import erasure, merge, privacy_webhooks, search_columns

tasks.register(
    privacy_webhooks.REDACT_TASK,
    Task(privacy_webhooks.publish_redact_webhook, gettext_lazy("Customer erasure request to apps")),
)
tasks.register(erasure.ERASE_TASK, Task(erasure.run_erasure_job, gettext_lazy("Erasure of personal data")))
tasks.register(merge.MERGE_TASK, Task(merge.run_merge_job, gettext_lazy("Customer merge")))
tasks.register(
    search_columns.CLEAR_TASK,
    Task(search_columns.clear_erased_text, gettext_lazy("Removal of erased data from the search index")),
)
