"""HTML from outside: how much of it is taken, and how it is made harmless where the panel shows it.

The limits bound the sanitiser's work, which grows with the square of nested tags.
"""

import nh3

from apps.ground.phrases import too_long, too_many

MAX_BYTES = 512 * 1024
MAX_TAGS = 10_000


def refusal_of(html: str) -> str | None:
    """Why a text of markup is not taken; None where it is."""
    if len(html) > MAX_BYTES or len(html.encode(errors="replace")) > MAX_BYTES:
        return too_long(MAX_BYTES // 1024, "KB")
    if html.count("<") > MAX_TAGS:
        return too_many("tags", MAX_TAGS)
    return None


def harmless(html: str) -> str:
    """The markup without anything that could run, for previews."""
    return nh3.clean(html)
