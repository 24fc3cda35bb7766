"""API versions: list the served versions and select the version for a request.

Fields and routes declare a range of dated versions. ``since`` is the first version with the field or route, and
``until`` is the first version without it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings
from django.utils import timezone

UNSTABLE = "unstable"
LATEST = "latest"
_DATED = re.compile(r"\d{4}-(0[1-9]|1[0-2])", re.ASCII)


class UnknownVersion(LookupError):
    """Raised when a path contains a version that is malformed or not released yet."""


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The versions that have a field or route: from ``since`` up to, but not including, ``until``."""

    since: str | None = None
    until: str | None = None

    def includes(self, version: str) -> bool:
        """Return True if the range contains a served version; ``unstable`` comes after all dated versions."""
        rank = "9999-12" if version == UNSTABLE else version
        return (self.since is None or rank >= self.since) and (self.until is None or rank < self.until)


ALL_VERSIONS = VersionRange()


def get_latest_version() -> str:
    return settings.API_VERSIONS[-1]


def get_served_versions() -> tuple[str, ...]:
    """Return every served version. Each version has its own schema."""
    return (*settings.API_VERSIONS, UNSTABLE)


def resolve_version(requested: str) -> str:
    """Return the version that serves a request. Malformed and future versions raise ``UnknownVersion``.

    The newest version also serves later versions up to the current quarter, so that clients which follow the calendar
    can call an installation that has not been updated.
    """
    if requested > get_latest_version() and requested not in {LATEST, UNSTABLE}:
        if not _DATED.fullmatch(requested) or requested > _get_current_quarter():
            raise UnknownVersion(requested)
        return get_latest_version()
    return _resolve_known_version(requested)


@lru_cache(maxsize=512)
def _resolve_known_version(requested: str) -> str:
    if requested == UNSTABLE:
        return UNSTABLE
    if requested == LATEST:
        return get_latest_version()
    if not _DATED.fullmatch(requested):
        raise UnknownVersion(requested)
    return max((version for version in settings.API_VERSIONS if version <= requested), default=settings.API_VERSIONS[0])


def _get_current_quarter() -> str:
    """Return the version that the calendar names now, such as ``2026-10`` from October to December 2026."""
    today = timezone.now()
    return f"{today.year}-{(today.month - 1) // 3 * 3 + 1:02d}"
