"""Translate messages that are stored or sent in English to the reader's language."""

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
        """Translate the text; return None if it was not built from this message."""
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
    """Register a message with named fields, so that texts built from it can be translated.

    Args:
        message: The message in English, e.g. ``"Customer {number} was merged"``; marked with ``gettext_noop``.
        parts: Functions by field name that translate a field's value; other values stay unchanged. A ``KeyError`` means
            that the text was not built from this message.

    Returns:
        The message, for the code that builds the texts.
    """
    _messages.append(_compile_pattern(message, parts))
    # Prefer messages that begin with fixed text over messages that begin with a field.
    _messages.sort(key=lambda pattern: -pattern.words.index("{"))
    return message


def register_label(message: str, **parts: Translate) -> str:
    """Register a label of objects without a name of their own, for ``translate_label``; like ``register_message``."""
    _labels.append(_compile_pattern(message, parts))
    return message


def _compile_pattern(message: str, parts: dict[str, Translate]) -> _Pattern:
    fragments = re.split(r"\{(\w+)\}", message)
    pattern = "".join(
        f"(?P<{fragment}>.*)" if index % 2 else re.escape(fragment) for index, fragment in enumerate(fragments)
    )
    return _Pattern(message, re.compile(pattern, re.DOTALL), parts)


def translate_stored(text: str) -> str:
    """Translate a text to the active language; return unregistered texts unchanged."""
    translation = gettext(text) if text else ""
    if translation != text:
        return translation
    return next((translated for pattern in _messages if (translated := pattern.translate(text)) is not None), text)


def translate_label(text: str) -> str:
    """Translate the label of an object; names entered by people stay unchanged."""
    return next((translated for pattern in _labels if (translated := pattern.translate(text)) is not None), text)


def require_number(text: str) -> str:
    """Accept only a number as the value of a field.

    Raises:
        KeyError: The value is not a number.
    """
    if not text.isdecimal():
        raise KeyError(text)
    return text
