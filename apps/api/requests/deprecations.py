"""Deprecations of routes, with the first deprecated version and the section of the docs that gives the reason."""

from dataclasses import dataclass

from django.conf import settings

from apps.api.versions import VersionRange

# The title and the explanation of each deprecation, by its anchor on the docs page.
REASONS = {
    "script-tag-count": (
        "Counting script tags",
        "An app has few script tags. List them with a limit of 250 and count the results.",
    ),
    "product-images": (
        "Product image list, create, update and delete",
        "Deprecated since 2025-01. Send images with their product, in its images field.",
    ),
    "fulfillment-event": (
        "Fulfillment event retrieve and delete",
        "List the events of a fulfillment instead. Events are a permanent record.",
    ),
}


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The deprecation of a route.

    Attributes:
        anchor: The anchor on the docs page of deprecations, a key of ``REASONS``.
        since: The first version in which the route is deprecated, or None for all versions.
    """

    anchor: str
    since: str | None = None

    def applies_to(self, version: str) -> bool:
        """Return True if the route is deprecated in a version."""
        return VersionRange(since=self.since).includes(version)

    @property
    def url(self) -> str:
        """Return the absolute URL of the explanation."""
        return f"{settings.BASE_URL}{self.path}"

    @property
    def path(self) -> str:
        """Return the path of the explanation."""
        return f"/docs/api/deprecations/#{self.anchor}"
