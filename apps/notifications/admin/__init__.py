"""The page *My notifications*, and the counts that the panel's script polls."""

from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.menu import AccountPage, account_pages
from apps.core.admin.routes import PanelRoute, panel_routes
from apps.notifications.admin import counts, settings

panel_routes.add(
    PanelRoute("notifications", "notifications/", settings.render_settings),
    PanelRoute("notification_counts", "notifications/counts/", counts.get_counts),
    PanelRoute("notifications_seen", "notifications/seen/", counts.mark_as_seen),
)
account_pages.add(
    AccountPage(
        gettext_lazy("My notifications"),
        "notifications",
        pgettext_lazy("search", "notifications, alerts, alarm, badge, sound, browser notification"),
    )
)
