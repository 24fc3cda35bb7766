"""Render image thumbnails for lists and forms."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.catalog.domain.image_files import get_local_image_url
from apps.media.names import parse_transformation


def thumbnail(shop_id: int, key: str, name: str, alt: str = "", side: int = 48) -> SafeString:
    """Return the HTML of a thumbnail, or of an empty square if there is no image."""
    if not key:
        # The empty square may be the only content of a link, so it needs an accessible name.
        label_attrs = format_html(' role="img" aria-label="{}"', alt) if alt else ""
        return format_html('<span class="bo-thumb" data-side="{}"{}></span>', side, label_attrs)
    stem, _, extension = name.rpartition(".")
    small = f"{stem}_{2 * side}x{2 * side}.{extension}"
    file_name = small if parse_transformation(small) else name
    return format_html(
        '<img class="bo-thumb" data-side="{}" src="{}" alt="{}" loading="lazy">',
        side,
        get_local_image_url(shop_id, key, file_name),
        alt,
    )
