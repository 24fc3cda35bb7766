"""Tags in their stored form: trimmed, without duplicates (ignoring case), sorted, comma-separated."""

from collections.abc import Iterable

from apps.ground.error_messages import too_long, too_many

MAX_TAGS = 250
MAX_LENGTH = 255


def normalize_tags(words: Iterable[str]) -> list[str]:
    """Normalize words to tags; of tags that differ only in case the first is used."""
    tags = {word.strip().casefold(): word.strip() for word in reversed([*words])}
    tags.pop("", None)
    return [tags[key] for key in sorted(tags)]


def find_tag_error(tags: list[str]) -> str | None:
    """Return the error message for tags that cannot be stored, or None if there is no problem."""
    if len(tags) > MAX_TAGS:
        return too_many("tags", MAX_TAGS)
    if any(len(tag) > MAX_LENGTH for tag in tags):
        return too_long(MAX_LENGTH)
    return None
