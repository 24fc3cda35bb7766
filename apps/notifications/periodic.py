from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.notifications.domain.batches import enqueue_due_batches
from apps.notifications.domain.recording import delete_old_notifications

periodic_task("notifications.enqueue_emails", Every.MINUTE)(enqueue_due_batches)
periodic_task("notifications.delete_old", Every.NIGHT)(delete_old_notifications)
