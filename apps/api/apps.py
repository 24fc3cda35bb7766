"""The REST kit as an app: its table of idempotency keys and their clearing."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Registers the housekeeping."""

    name = "apps.api"

    def ready(self) -> None:
        """Let expired idempotency keys go."""
        from apps.api.requests.idempotency import clear_expired
        from apps.jobs.domain import housekeeping

        housekeeping.register("idempotency keys", clear_expired)
