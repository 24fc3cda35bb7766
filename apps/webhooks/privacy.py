"""The personal data in webhook deliveries."""

from apps.core.events.redaction import redaction_hooks
from apps.webhooks.domain.privacy import redact_deliveries

redaction_hooks.add(redact_deliveries)
