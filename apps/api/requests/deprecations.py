"""Deprecated routes: since which version, and the page that says why."""

from dataclasses import dataclass

from django.conf import settings

from apps.api.versions import Gate

# anchor -> (title, what to know)
REASONS = {
    "script-tag-count": (
        "Counting script tags",
        "An app has few script tags; list them with a limit of 250 and count what comes back.",
    ),
    "product-images": (
        "Product image list, create, update and delete",
        "Deprecated since 2025-01. Send images with their product, under its images field.",
    ),
    "fulfillment-event": (
        "Single and deleted fulfillment events",
        "List the events of a fulfillment instead; events are a record and stay.",
    ),
}


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Why a route is deprecated.

    Attributes:
        page: The anchor on the docs page of deprecations, a key of ``REASONS``.
        since: The first version in which it is; all versions when None.
    """

    page: str
    since: str | None = None

    def applies(self, version: str) -> bool:
        """Whether it is deprecated in a version."""
        return Gate(since=self.since).admits(version)

    @property
    def url(self) -> str:
        """Where the reason is told."""
        return f"{settings.BASE_URL}{self.path}"

    @property
    def path(self) -> str:
        """The same, below whatever host the reader is at."""
        return f"/docs/api/deprecations/#{self.page}"
