"""Cleanup of webhook deliveries."""

from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.webhooks.domain.retention import delete_expired_rows

periodic_task("webhooks.delete_expired_rows", Every.HOUR)(delete_expired_rows)
