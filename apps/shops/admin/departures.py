"""What goes when an app is uninstalled, as the page that asks for confirmation lists it.

Each domain that registers a cleaner with ``on_uninstall`` also says here, under the same name, how much it would clean.
"""

from collections.abc import Callable

from django.utils.translation import gettext_noop

from apps.shops.models import AccessToken, Installation

Count = Callable[[Installation], int]

_counts: dict[str, Count] = {}


def leaves_with_app(name: str, count: Count) -> None:
    """Register how many rows of a kind an uninstallation takes; ``name`` is what people read, e.g. ``script tags``."""
    _counts[name] = count


def counted(installation: Installation) -> list[tuple[str, int]]:
    """Each kind that an uninstallation takes, with the number of rows."""
    return [(name, count(installation)) for name, count in _counts.items()]


def names() -> frozenset[str]:
    """The kinds that are registered."""
    return frozenset(_counts)


def _tokens(installation: Installation) -> int:
    return AccessToken.rows().filter(installation=installation, revoked_at=None).count()


leaves_with_app(gettext_noop("access tokens"), _tokens)
