from apps.content.domain import blob_store
from apps.core.jobs.periodic_tasks import hourly_tasks

hourly_tasks.register("file contents", blob_store.delete_unused_blobs)
