"""Texts that are made in English, as they are stored or programs read them, told again in the reader's language."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext

Retell = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Told:
    words: str
    pattern: re.Pattern[str]
    parts: dict[str, Retell]

    def again(self, text: str) -> str | None:
        """The text in the language that is read; None where it is not made of these words."""
        found = self.pattern.fullmatch(text)
        if found is None:
            return None
        try:
            values = {name: self.parts.get(name, str)(part) for name, part in found.groupdict().items()}
        except KeyError:
            return None
        return gettext(self.words).format(**values)


_told: list[_Told] = []
_names: list[_Told] = []


def tells(words: str, **parts: Retell) -> str:
    """Register how texts are made, so that they are told in other languages too.

    Args:
        words: In English, with named fields, e.g. ``"Customer {number} was merged"``; marked with ``gettext_noop``.
        parts: How fields are told that are words themselves, by their names; others are told as they are. A
            ``KeyError`` says that the text is not made of these words.

    Returns:
        The words, for the code that makes the texts.
    """
    _told.append(_made_of(words, parts))
    # What begins with words of its own is surer than what begins with a field.
    _told.sort(key=lambda told: -told.words.index("{"))
    return words


def names(words: str, **parts: Retell) -> str:
    """Register how things are called that have no name of their own; the same as ``tells``, for ``renamed``."""
    _names.append(_made_of(words, parts))
    return words


def _made_of(words: str, parts: dict[str, Retell]) -> _Told:
    pieces = re.split(r"\{(\w+)\}", words)
    pattern = "".join(f"(?P<{piece}>.*)" if place % 2 else re.escape(piece) for place, piece in enumerate(pieces))
    return _Told(words, re.compile(pattern, re.DOTALL), parts)


def retold(text: str) -> str:
    """A text in the language that is read; one that nobody registered stays as it is."""
    whole = gettext(text) if text else ""
    if whole != text:
        return whole
    return next((again for told in _told if (again := told.again(text)) is not None), text)


def renamed(text: str) -> str:
    """What a thing is called, in the language that is read; names that people gave stay as they are."""
    return next((again for told in _names if (again := told.again(text)) is not None), text)


def number(text: str) -> str:
    """The part of a name that is a number, as it is.

    Raises:
        KeyError: It is none.
    """
    if not text.isdecimal():
        raise KeyError(text)
    return text
