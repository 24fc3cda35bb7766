"""Find the screenshots that themes contain."""

from collections.abc import Collection, Mapping

from apps.content.models import Asset

# The keys under which themes store a screenshot of themselves, the preferred key first. SVG files are drawings.
SCREENSHOT_KEYS = tuple(
    f"assets/{name}.{suffix}"
    for name in ("screenshot", "preview", "theme-screenshot", "theme-preview", "thumbnail")
    for suffix in ("png", "jpg", "jpeg", "webp", "gif")
)


def find_screenshots(theme_ids: Collection[int]) -> Mapping[int, Asset]:
    """Return the screenshot of each theme that has one, keyed by the theme's ID. Call this in the shop's scope."""
    assets = Asset.objects.filter(theme__in=theme_ids, key__in=SCREENSHOT_KEYS).select_related("content")
    best_last = sorted(assets, key=lambda asset: -SCREENSHOT_KEYS.index(asset.key))
    return {asset.theme_id: asset for asset in best_last}
