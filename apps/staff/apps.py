"""App configuration for users and memberships."""

from django.apps import AppConfig


class StaffConfig(AppConfig):
    name = "apps.staff"
    label = "staff"

    def ready(self) -> None:
        """Register topics and housekeeping tasks."""
        from apps.ground.privacy_registry import declare_non_personal
        from apps.jobs.domain import housekeeping
        from apps.shops.domain.staff_access import register_member_lookup
        from apps.staff import topics
        from apps.staff.domain import submitted_forms
        from apps.staff.domain.delegated_scopes import get_member
        from apps.staff.domain.sessions import delete_expired_sessions
        from apps.staff.privacy import NON_PERSONAL_COLUMNS

        declare_non_personal(NON_PERSONAL_COLUMNS)
        topics.register_staff_topics()
        register_member_lookup(get_member)
        housekeeping.register_hourly_task("expired sessions", delete_expired_sessions)
        housekeeping.register_hourly_task("sent forms", submitted_forms.delete_old_submissions)
