"""Panel pages for webhooks."""

from apps.core.tenancy.permissions import allow, grants
from apps.webhooks.admin import deliveries, subscriptions

grants.add(allow("applications", "vc", "webhooks.subscription", "webhooks.delivery"))
