"""Count an app's fulfillment services for the page that previews the removal of the app."""

from django.utils.translation import gettext_noop

from apps.fulfillment.models import FulfillmentService
from apps.shops.admin.uninstall_preview import register_uninstall_count
from apps.shops.models import Installation


def _count_services(installation: Installation) -> int:
    return FulfillmentService.rows().filter(app_id=installation.app_id).count()


register_uninstall_count(gettext_noop("fulfillment services"), _count_services)
