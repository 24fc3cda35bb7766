"""Limits the size of HTML written by staff and apps, and sanitizes the HTML for display in the panel.

The limits are necessary, because the sanitizer's run time grows with the square of the number of nested tags.
"""

import nh3

from apps.ground.error_messages import too_long, too_many

MAX_BYTES = 512 * 1024
MAX_TAGS = 10_000


def find_html_error(html: str) -> str | None:
    """Return the error message for HTML that is too large, or None."""
    if len(html) > MAX_BYTES or len(html.encode(errors="replace")) > MAX_BYTES:
        return too_long(MAX_BYTES // 1024, "KB")
    if html.count("<") > MAX_TAGS:
        return too_many("tags", MAX_TAGS)
    return None


def sanitize_html(html: str) -> str:
    """Remove scripts and other active content from HTML for a preview."""
    return nh3.clean(html)
