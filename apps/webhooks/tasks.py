"""The background work of webhooks: warnings, recoveries, and what housekeeping clears. Deliveries are no jobs."""

from apps.jobs.domain import housekeeping, queue
from apps.webhooks import mails
from apps.webhooks.domain import compliance, recovery, retention
from apps.webhooks.domain.engine import outcomes


def register_all() -> None:
    """Add the tasks and the duty."""
    queue.register(outcomes.WARN, mails.send_warning)
    queue.register(compliance.TELL, compliance.tell)
    queue.register(recovery.RECOVER, recovery.run_recovery)
    housekeeping.register("webhook deliveries", retention.clear)
