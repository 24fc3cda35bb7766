"""The staff face of webhooks."""

from apps.staff.domain.permissions import grant
from apps.webhooks.admin import deliveries, departures, subscriptions

grant("applications", "vc", "webhooks.subscription", "webhooks.delivery")

__all__ = ["deliveries", "departures", "subscriptions"]
