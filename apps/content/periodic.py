from apps.content.domain import blob_store
from apps.core.jobs.periodic_tasks import Every, periodic_task

periodic_task("content.delete_unused_blobs", Every.HOUR)(blob_store.delete_unused_blobs)
