"""What happened, as people read it: stored in English, and told in the language of whoever reads."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext

from apps.events.domain import topics
from apps.events.models import Event

Retell = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Told:
    words: str
    pattern: re.Pattern[str]
    parts: dict[str, Retell]

    def again(self, message: str) -> str | None:
        """The message in the language that is read; None where it is not made of these words."""
        found = self.pattern.fullmatch(message)
        if found is None:
            return None
        try:
            values = {name: self.parts.get(name, str)(text) for name, text in found.groupdict().items()}
        except KeyError:
            return None
        return gettext(self.words).format(**values)


_told: list[_Told] = []


def tells(words: str, **parts: Retell) -> str:
    """Register how messages of events are made, so that they are told in other languages too.

    Args:
        words: In English, with named fields, e.g. ``"Customer {number} was merged"``; marked with ``gettext_noop``.
        parts: How fields are told that are words themselves, by their names; others are told as they are. A
            ``KeyError`` says that the message is not made of these words.

    Returns:
        The words, for the code that makes the messages.
    """
    pieces = re.split(r"\{(\w+)\}", words)
    pattern = "".join(f"(?P<{piece}>.*)" if place % 2 else re.escape(piece) for place, piece in enumerate(pieces))
    _told.append(_Told(words, re.compile(pattern, re.DOTALL), parts))
    # What begins with words of its own is surer than what begins with a field.
    _told.sort(key=lambda told: -told.words.index("{"))
    return words


def retold(message: str) -> str:
    """A message in the language that is read; one that nobody registered stays as it is."""
    whole = gettext(message) if message else ""
    if whole != message:
        return whole
    return next((again for told in _told if (again := told.again(message)) is not None), message)


def label_of(topic: str) -> str:
    """A topic in words; topics of domains that are gone stay as they are."""
    try:
        return gettext(topics.topic(topic).label)
    except topics.UnknownTopic:
        return topic


def sentence(event: Event) -> str:
    """What happened, in words."""
    return retold(event.message) or label_of(event.topic)
