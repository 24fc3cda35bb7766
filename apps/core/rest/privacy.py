from apps.core.events.redaction import deletion_hooks, redaction_hooks
from apps.core.rest.requests.idempotency import redact_stored_responses

redaction_hooks.add(redact_stored_responses)
deletion_hooks.add(redact_stored_responses)
