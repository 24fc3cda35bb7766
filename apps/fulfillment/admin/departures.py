"""What an uninstallation takes along, as it is announced before."""

from django.utils.translation import gettext_noop

from apps.fulfillment.models import FulfillmentService
from apps.shops.admin.departures import leaves_with_app
from apps.shops.models import Installation


def _services(installation: Installation) -> int:
    return FulfillmentService.rows().filter(app_id=installation.app_id).count()


leaves_with_app(gettext_noop("fulfillment services"), _services)
