"""Declare deprecated routes, each with the version that deprecated it and a link to the reason in the docs."""

from dataclasses import dataclass

from django.conf import settings

from apps.core.rest.versions import VersionRange

# The title and explanation of each deprecation, keyed by the anchor on the docs page.
REASONS = {
    "script-tag-count": (
        "Counting script tags",
        "An app has few script tags. List them with a limit of 250 and count the results.",
    ),
    "product-images": (
        "Listing, creating, updating and deleting product images",
        "Deprecated since 2025-01. Send images in the images field of the product.",
    ),
    "fulfillment-event": (
        "Retrieving and deleting fulfillment events",
        "List the events of a fulfillment instead. Events are a permanent record.",
    ),
}


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The deprecation of a route since a version, or in all versions. ``anchor`` is a key of ``REASONS``."""

    anchor: str
    since: str | None = None

    def applies_to(self, version: str) -> bool:
        return VersionRange(since=self.since).includes(version)

    @property
    def url(self) -> str:
        return f"{settings.BASE_URL}{self.path}"

    @property
    def path(self) -> str:
        return f"/docs/api/deprecations/#{self.anchor}"
