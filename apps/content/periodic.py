from apps.content.domain import blob_store, comments
from apps.core.jobs.periodic_tasks import Every, periodic_task

periodic_task("content.delete_unused_blobs", Every.HOUR)(blob_store.delete_unused_blobs)
periodic_task("content.delete_hidden_comments", Every.HOUR)(comments.delete_hidden_comments)
