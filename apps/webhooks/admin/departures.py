"""What an uninstallation takes along, as it is announced before."""

from django.utils.translation import gettext_noop

from apps.shops.admin.departures import leaves_with_app
from apps.shops.models import Installation
from apps.webhooks.domain.subscriptions import subscriptions_of


def _subscriptions(installation: Installation) -> int:
    return subscriptions_of(installation.shop, installation.app_id).count()


leaves_with_app(gettext_noop("webhook subscriptions"), _subscriptions)
