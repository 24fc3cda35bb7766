"""Normalize tags for storage: trimmed, sorted, and without duplicates (ignoring case)."""

from collections.abc import Iterable

from apps.core.i18n.error_messages import too_long, too_many

MAX_TAGS = 250
MAX_LENGTH = 255


def normalize_tags(words: Iterable[str]) -> list[str]:
    """Return the normalized tags. If tags only differ in case, the first tag is used."""
    tags = {word.strip().casefold(): word.strip() for word in reversed([*words])}
    tags.pop("", None)
    return [tags[key] for key in sorted(tags)]


def find_tag_error(tags: list[str]) -> str | None:
    if len(tags) > MAX_TAGS:
        return too_many("tags", MAX_TAGS)
    if any(len(tag) > MAX_LENGTH for tag in tags):
        return too_long(MAX_LENGTH)
    return None
