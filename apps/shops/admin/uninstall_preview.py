"""Count the rows that an uninstallation deletes, for the confirmation page.

Code that registers a cleaner with ``register_uninstall_cleaner`` must register a count with the same name here.
"""

from collections.abc import Callable

from django.utils.translation import gettext_noop

from apps.shops.models import AccessToken, Installation

Count = Callable[[Installation], int]

_counts: dict[str, Count] = {}


def register_uninstall_count(name: str, count: Count) -> None:
    """Register a function that counts rows to delete. ``name`` is the label of the rows, e.g. ``script tags``."""
    _counts[name] = count


def count_deleted_rows(installation: Installation) -> list[tuple[str, int]]:
    """Return the label and the number of rows that the uninstallation deletes, for each registered count."""
    return [(name, count(installation)) for name, count in _counts.items()]


def get_registered_names() -> frozenset[str]:
    """Return the registered labels."""
    return frozenset(_counts)


def _count_tokens(installation: Installation) -> int:
    return AccessToken.rows().filter(installation=installation, revoked_at=None).count()


register_uninstall_count(gettext_noop("access tokens"), _count_tokens)
