"""Panel pages for webhooks."""

from apps.core.tenancy.permissions import allow, grants
from apps.webhooks.admin import deliveries, subscriptions

grants.add(
    allow("applications", "vacd", "webhooks.subscription"),
    allow("applications", "vc", "webhooks.delivery"),
)
