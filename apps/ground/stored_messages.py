"""Translate messages that were stored or sent in English into the reader's language."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext

Translate = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Pattern:
    words: str
    pattern: re.Pattern[str]
    parts: dict[str, Translate]

    def translate(self, text: str) -> str | None:
        """Translate a string. Return None if the string was not built from this message."""
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        try:
            values = {name: self.parts.get(name, str)(value) for name, value in match.groupdict().items()}
        except KeyError:
            return None
        return gettext(self.words).format(**values)


_messages: list[_Pattern] = []
_labels: list[_Pattern] = []


def register_message(message: str, **parts: Translate) -> str:
    """Register a message with named fields, so that strings built from the message can be translated.

    Args:
        message: The English message, marked with ``gettext_noop``, e.g. ``"Customer {number} was merged"``.
        parts: Functions that translate the values of fields, keyed by field name. Values without a function are not
            changed. A function raises ``KeyError`` if the string cannot have been built from this message.

    Returns:
        The message, so that the caller can assign it to a constant.
    """
    _messages.append(_compile_pattern(message, parts))
    # Try messages that begin with a field last, because they match almost any string.
    _messages.sort(key=lambda pattern: -pattern.words.index("{"))
    return message


def register_label(message: str, **parts: Translate) -> str:
    """Register a label for objects without a name, so that ``translate_label`` can translate the label."""
    _labels.append(_compile_pattern(message, parts))
    return message


def _compile_pattern(message: str, parts: dict[str, Translate]) -> _Pattern:
    fragments = re.split(r"\{(\w+)\}", message)
    pattern = "".join(
        f"(?P<{fragment}>.*)" if index % 2 else re.escape(fragment) for index, fragment in enumerate(fragments)
    )
    return _Pattern(message, re.compile(pattern, re.DOTALL), parts)


def translate_stored(text: str) -> str:
    """Translate a stored message to the active language. Unregistered messages are returned unchanged."""
    translation = gettext(text) if text else ""
    if translation != text:
        return translation
    return next((translated for pattern in _messages if (translated := pattern.translate(text)) is not None), text)


def translate_label(text: str) -> str:
    """Translate the label of an object. Names entered by people are returned unchanged."""
    return next((translated for pattern in _labels if (translated := pattern.translate(text)) is not None), text)


def require_number(text: str) -> str:
    """Return the value of a field unchanged if it is a number.

    Raises:
        KeyError: The value is not a number.
    """
    if not text.isdecimal():
        raise KeyError(text)
    return text
