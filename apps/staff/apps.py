"""The staff app."""

from django.apps import AppConfig


class StaffConfig(AppConfig):
    """Users and memberships."""

    name = "apps.staff"
    label = "staff"

    def ready(self) -> None:
        """Add topics, and let expired sessions go."""
        from apps.ground.personal import impersonal
        from apps.jobs.domain import housekeeping
        from apps.shops.domain.members import use_members
        from apps.staff import topics
        from apps.staff.domain import sent_forms
        from apps.staff.domain.acting import member_of
        from apps.staff.domain.sessions import clear_expired
        from apps.staff.impersonal import IMPERSONAL

        impersonal(IMPERSONAL)
        topics.register_all()
        use_members(member_of)
        housekeeping.register("expired sessions", clear_expired)
        housekeeping.register("sent forms", sent_forms.clear)
