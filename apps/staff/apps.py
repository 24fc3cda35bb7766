"""The staff app."""

from django.apps import AppConfig


class StaffConfig(AppConfig):
    """Users and memberships."""

    name = "apps.staff"
    label = "staff"

    def ready(self) -> None:
        """Add topics, and let expired sessions go."""
        from apps.jobs.domain import housekeeping
        from apps.staff import topics
        from apps.staff.domain.sessions import clear_expired

        topics.register_all()
        housekeeping.register("expired sessions", clear_expired)
