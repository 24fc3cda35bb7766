"""Count the webhook subscriptions that will be deleted when an app is uninstalled, for the confirmation page."""

from django.utils.translation import gettext_noop

from apps.core.tenancy.models import Installation
from apps.shops.admin.uninstall_preview import uninstall_counts
from apps.webhooks.domain.subscriptions import get_api_subscriptions


def _count_subscriptions(installation: Installation) -> int:
    return get_api_subscriptions(installation.shop, installation.app_id).count()


uninstall_counts.register(gettext_noop("webhook subscriptions"), _count_subscriptions)
