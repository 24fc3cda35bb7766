from apps.bulk_edits.domain import edits
from apps.core.jobs.periodic_tasks import hourly_tasks

hourly_tasks.register("bulk edits", edits.delete_old_edits)
