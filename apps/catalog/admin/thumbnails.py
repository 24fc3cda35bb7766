"""How pictures are shown in lists and forms."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.catalog.domain.pictures import local_address_of
from apps.media.names import parse_transformation


def thumbnail(shop_id: int, key: str, name: str, alt: str = "", side: int = 48) -> SafeString:
    """A small picture; an empty square where there is none."""
    if not key:
        # Where it is a link, it has a name as a picture would have.
        named = format_html(' role="img" aria-label="{}"', alt) if alt else ""
        return format_html('<span class="bo-thumb" data-side="{}"{}></span>', side, named)
    stem, _, extension = name.rpartition(".")
    small = f"{stem}_{2 * side}x{2 * side}.{extension}"
    shown = small if parse_transformation(small) else name
    return format_html(
        '<img class="bo-thumb" data-side="{}" src="{}" alt="{}" loading="lazy">',
        side,
        local_address_of(shop_id, key, shown),
        alt,
    )
