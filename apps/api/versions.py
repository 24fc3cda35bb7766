"""API versions: which are served, and which of them answers a request.

Rule: decisions, Conventions. Differences between versions are declared with ``since`` and ``until`` beside the field
or route they concern; both name a version of the list, ``until`` being the first one without it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings

UNSTABLE = "unstable"
LATEST = "latest"
_DATED = re.compile(r"\d{4}-(0[1-9]|1[0-2])", re.ASCII)


class UnknownVersion(LookupError):
    """The path names a version that is malformed or not out yet."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The versions in which something exists: from ``since`` on, and before ``until``."""

    since: str | None = None
    until: str | None = None

    def admits(self, version: str) -> bool:
        """Whether it exists in a served version; ``unstable`` is later than all dated ones."""
        rank = "9999-12" if version == UNSTABLE else version
        return (self.since is None or rank >= self.since) and (self.until is None or rank < self.until)


ALWAYS = Gate()


def newest() -> str:
    """The newest dated version."""
    return settings.API_VERSIONS[-1]


def served_versions() -> tuple[str, ...]:
    """Every version that has a schema of its own."""
    return (*settings.API_VERSIONS, UNSTABLE)


@lru_cache(maxsize=512)
def resolve(asked: str) -> str:
    """The version that serves a request for ``asked``.

    Raises:
        UnknownVersion: It is malformed, or newer than the newest.
    """
    if asked == UNSTABLE:
        return UNSTABLE
    if asked == LATEST:
        return newest()
    if not _DATED.fullmatch(asked) or asked > newest():
        raise UnknownVersion(asked)
    return max((version for version in settings.API_VERSIONS if version <= asked), default=settings.API_VERSIONS[0])
