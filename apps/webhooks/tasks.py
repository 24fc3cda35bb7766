"""Background jobs for webhooks: warnings, replays and cleanup. The dispatcher sends deliveries without jobs."""

from django.utils.translation import gettext_lazy

from apps.jobs.domain import housekeeping, queue
from apps.webhooks import emails
from apps.webhooks.domain import privacy_webhooks, replay, retention
from apps.webhooks.domain.engine import subscription_health


def register_webhook_tasks() -> None:
    """Register the background jobs for webhooks and the hourly cleanup."""
    queue.register_task(
        subscription_health.SEND_WARNING, emails.send_warning, gettext_lazy("Warning about failing webhooks")
    )
    queue.register_task(
        privacy_webhooks.SEND_SHOP_REDACT,
        privacy_webhooks.send_shop_redact,
        gettext_lazy("Data erasure request to an app"),
    )
    queue.register_task(replay.REPLAY_JOB, replay.run_replay_job, gettext_lazy("Replaying webhook deliveries"))
    housekeeping.register_hourly_task("webhook deliveries", retention.delete_expired_rows)
