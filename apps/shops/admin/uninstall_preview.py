"""Count the rows that an uninstallation deletes, for the confirmation page.

For each of the ``uninstall_cleaners``, there is a count with the same name.
"""

from collections.abc import Callable

from django.utils.translation import gettext_noop

from apps.core.registry import Registry
from apps.core.tenancy.models import AccessToken, Installation

Count = Callable[[Installation], int]

# Functions that count rows to delete, by the label of the rows, e.g. ``script tags``.
uninstall_counts = Registry[str, Count]("uninstall counts")


def count_deleted_rows(installation: Installation) -> list[tuple[str, int]]:
    """Return the label and the number of rows that the uninstallation deletes, for each registered count."""
    return [(name, count(installation)) for name, count in uninstall_counts.items()]


def _count_tokens(installation: Installation) -> int:
    return AccessToken.rows().filter(installation=installation, revoked_at=None).count()


uninstall_counts.register(gettext_noop("access tokens"), _count_tokens)
