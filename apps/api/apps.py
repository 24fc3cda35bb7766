"""The REST kit as an app: its table of idempotency keys and their clearing."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Registers the housekeeping."""

    name = "apps.api"

    def ready(self) -> None:
        """Let expired idempotency keys go, and answers about people who are erased."""
        from apps.api.impersonal import IMPERSONAL
        from apps.api.requests.idempotency import clear_expired, forget_answers
        from apps.events.domain.forgetting import on_forget
        from apps.ground.personal import impersonal
        from apps.jobs.domain import housekeeping

        impersonal(IMPERSONAL)
        housekeeping.register("idempotency keys", clear_expired)
        on_forget(forget_answers)
