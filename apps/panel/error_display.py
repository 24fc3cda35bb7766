"""Format errors as sentences for staff.

The REST API returns messages such as "can't be blank" next to the field name. Apps compare these messages
literally, so their wording must not change. Pages show the same messages as full sentences, either below the field or
after the field label.
"""

import re
from collections.abc import Container
from typing import Any

from django.forms.utils import ErrorList
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.ground.exceptions import DomainError
from apps.ground.stored_messages import translate_stored
from apps.panel.field_display import Models, get_field_label

_ABOUT_FIELD = re.compile(r"(?P<field>(?P<root>[a-z]\w*)(?:\.\w+)*) (?P<message>.+)", re.DOTALL)
# Matches errors in the row results of imports, such as ``variant 1: price is invalid``. The API names the same field
# ``variants.0.price``.
_ABOUT_PART = re.compile(r"(?P<part>[a-z]+(?: [a-z]+)* \d+): (?P<said>.+)", re.DOTALL)
_ABOUT_COLUMN = re.compile(r"(?P<column>[^:]+): ")
_ENDS = (".", "!", "?", "…", ":")


def as_sentence(text: str) -> str:
    """Translate a message, capitalize the first letter and add a period.

    A translation that already ends with punctuation is a complete sentence. It is returned unchanged, because its first
    word may be a lowercase name.
    """
    text = translate_stored(text.strip())
    return text if not text or text.endswith(_ENDS) else f"{text[0].upper()}{text[1:]}."


def format_field_error(field: str, message: str, models: Models = ()) -> str:
    """Return a message as a sentence that begins with the field label, unless the message already is a sentence."""
    if field == "base" or message[:1].isupper():
        return as_sentence(message)
    return as_sentence(
        _("{field} {message}").format(field=get_field_label(field, models), message=translate_stored(message))
    )


def format_stored_error(text: str, fields: Container[str], models: Models = ()) -> str:
    """Format a stored one-line error as sentences that begin with field labels.

    Args:
        text: The stored English text.
        fields: Field names of the object and column names of the imported file.
        models: The models that have these fields.
    """
    parts = text.split("; ")
    if (column_match := _ABOUT_COLUMN.match(text)) and column_match["column"] in fields:
        return _format_column_error(text, column_match["column"])
    all_translatable = all(translate_stored(part) != part for part in parts)
    if not _ABOUT_PART.match(text) and not all_translatable and translate_stored(text) != text:
        return as_sentence(text)
    return " ".join(_format_part(part, fields, models) for part in parts)


def _format_part(text: str, fields: Container[str] | None, models: Models) -> str:
    """Format one message as a sentence. ``fields`` contains the known field names, or None to allow any name."""
    if field_match := _ABOUT_PART.fullmatch(text):
        return f"{capfirst(translate_stored(field_match['part']))}: {_format_part(field_match['said'], None, models)}"
    field_match = _ABOUT_FIELD.fullmatch(text)
    if field_match and (fields is None or field_match["root"] in fields):
        return format_field_error(field_match["field"], field_match["message"], models)
    return as_sentence(text)


def _format_column_error(text: str, column: str) -> str:
    """Format a message about a file column. The column name is not translated."""
    message = translate_stored(text).removeprefix(f"{column}: ")
    return as_sentence(_("Column {column}: {message}").format(column=column, message=translate_stored(message)))


def format_errors(error: DomainError) -> str:
    """Return all messages of an error as sentences."""
    return " ".join(
        format_field_error(field, message) for field, messages in error.errors.items() for message in messages
    )


class SentenceErrorList(ErrorList):
    """An error list that shows the errors of a field or form as sentences."""

    def __getitem__(self, index: Any) -> Any:
        message = super().__getitem__(index)
        return as_sentence(message) if isinstance(message, str) else message


def format_unchanged_error(error: DomainError) -> str:
    """Return all messages of an error and the sentence "Nothing has been changed"."""
    return _("{refusal} Nothing has been changed.").format(refusal=format_errors(error))
