"""Cleanup of webhook deliveries."""

from apps.core.jobs.periodic_tasks import hourly_tasks
from apps.webhooks.domain.retention import delete_expired_rows

hourly_tasks.register("webhook deliveries", delete_expired_rows)
