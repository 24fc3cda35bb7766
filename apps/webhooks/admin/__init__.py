"""Panel pages for webhooks."""

from apps.staff.domain.permissions import grant_permissions
from apps.webhooks.admin import deliveries, subscriptions, uninstall_preview

grant_permissions("applications", "vc", "webhooks.subscription", "webhooks.delivery")

__all__ = ["deliveries", "subscriptions", "uninstall_preview"]
