"""Tags as they are stored: trimmed, once each ignoring case, sorted, separated by commas."""

from collections.abc import Iterable

from apps.ground.phrases import too_long, too_many

MAX_TAGS = 250
MAX_LENGTH = 255


def canonical(words: Iterable[str]) -> list[str]:
    """The tags among some words; of those that differ in case alone the first."""
    tags = {word.strip().casefold(): word.strip() for word in reversed([*words])}
    tags.pop("", None)
    return [tags[key] for key in sorted(tags)]


def fault_of(tags: list[str]) -> str | None:
    """What stands against storing these tags."""
    if len(tags) > MAX_TAGS:
        return too_many("tags", MAX_TAGS)
    if any(len(tag) > MAX_LENGTH for tag in tags):
        return too_long(MAX_LENGTH)
    return None
