from apps.bulk_edits.domain import edits
from apps.core.jobs.periodic_tasks import Every, periodic_task

periodic_task("bulk_edits.delete_old_edits", Every.HOUR)(edits.delete_old_edits)
