"""App configuration for the REST API."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Registers the cleanup and redaction of idempotency keys."""

    name = "apps.api"

    def ready(self) -> None:
        """Register the cleanup of expired idempotency keys and the redaction of their stored responses."""
        from apps.api.privacy import NON_PERSONAL_COLUMNS
        from apps.api.requests.idempotency import delete_expired_keys, redact_stored_responses
        from apps.events.domain.redaction import register_redaction_hook
        from apps.ground.privacy_registry import declare_non_personal
        from apps.jobs.domain import housekeeping

        declare_non_personal(NON_PERSONAL_COLUMNS)
        housekeeping.register_hourly_task("idempotency keys", delete_expired_keys)
        register_redaction_hook(redact_stored_responses)
