"""The background work of webhooks: warnings, recoveries, and what housekeeping clears. Deliveries are no jobs."""

from django.utils.translation import gettext_lazy

from apps.jobs.domain import housekeeping, queue
from apps.webhooks import mails
from apps.webhooks.domain import compliance, recovery, retention
from apps.webhooks.domain.engine import outcomes


def register_all() -> None:
    """Add the tasks and the duty."""
    queue.register(outcomes.WARN, mails.send_warning, gettext_lazy("Warning about failing webhooks"))
    queue.register(compliance.TELL, compliance.tell, gettext_lazy("Telling an app to erase data"))
    queue.register(recovery.RECOVER, recovery.run_recovery, gettext_lazy("Sending lost webhooks again"))
    housekeeping.register("webhook deliveries", retention.clear)
