"""The staff app, and the panel's admin site in place of Django's own."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class StaffConfig(AppConfig):
    """Users, memberships and the panel."""

    name = "apps.staff"
    label = "staff"

    def ready(self) -> None:
        """Add topics, and let expired sessions go."""
        from apps.jobs import housekeeping
        from apps.staff import topics
        from apps.staff.sessions import clear_expired

        topics.register_all()
        housekeeping.register("expired sessions", clear_expired)


class PanelConfig(AdminConfig):
    """Django's admin with our own site as the default one."""

    default_site = "apps.staff.site.StaffSite"
