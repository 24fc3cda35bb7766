"""Counts of the rows that an uninstallation deletes, for its confirmation page.

Each app that registers a cleaner with ``register_uninstall_cleaner`` registers a count under the same name here.
"""

from collections.abc import Callable

from django.utils.translation import gettext_noop

from apps.shops.models import AccessToken, Installation

Count = Callable[[Installation], int]

_counts: dict[str, Count] = {}


def register_uninstall_count(name: str, count: Count) -> None:
    """Register how many rows of a kind an uninstallation deletes; ``name`` is a label, e.g. ``script tags``."""
    _counts[name] = count


def count_deleted_rows(installation: Installation) -> list[tuple[str, int]]:
    """Return a label and a row count for each kind of row that the uninstallation deletes."""
    return [(name, count(installation)) for name, count in _counts.items()]


def get_registered_names() -> frozenset[str]:
    """Return the registered labels."""
    return frozenset(_counts)


def _count_tokens(installation: Installation) -> int:
    return AccessToken.rows().filter(installation=installation, revoked_at=None).count()


register_uninstall_count(gettext_noop("access tokens"), _count_tokens)
