"""Count the rows that an uninstallation deletes, for the confirmation page.

For each of the ``uninstall_cleaners``, there is a count with the same name.
"""

from collections.abc import Callable

from django.utils.translation import gettext_noop

from apps.core.registry import Registry
from apps.core.tenancy.models import AccessToken, Installation
from apps.shops.models import RecurringCharge, ShopFeedback, StorefrontAccessToken

# Functions that count rows to delete, by the label of the rows, e.g. ``script tags``.
uninstall_counts = Registry[str, Callable[[Installation], int]]("uninstall counts")


def count_deleted_rows(installation: Installation) -> list[tuple[str, int]]:
    return [(name, count(installation)) for name, count in uninstall_counts.items()]


uninstall_counts.register(
    gettext_noop("access tokens"),
    lambda installation: AccessToken.rows().filter(installation=installation, revoked_at=None).count(),
)
uninstall_counts.register(
    gettext_noop("feedback"),
    lambda installation: ShopFeedback.rows().filter(app_id=installation.app_id).count(),
)
uninstall_counts.register(
    gettext_noop("storefront access tokens"),
    lambda installation: StorefrontAccessToken.rows().filter(app_id=installation.app_id).count(),
)
uninstall_counts.register(
    gettext_noop("charges"),
    lambda installation: (
        RecurringCharge.rows().filter(installation=installation, status__in=("pending", "active")).count()
    ),
)
