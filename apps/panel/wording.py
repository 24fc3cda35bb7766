"""Refusals as staff read them: sentences.

The interface writes a refusal as what follows the name of its field ("can't be blank"), in words that its clients
compare letter by letter. A page shows the same words as a sentence, under the field or with the field's name before.
"""

import re
from collections.abc import Container
from typing import Any

from django.forms.utils import ErrorList
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.ground.errors import DomainError
from apps.ground.retelling import retold
from apps.panel.told import Models, name_of

_ABOUT_FIELD = re.compile(r"(?P<field>(?P<root>[a-z]\w*)(?:\.\w+)*) (?P<message>.+)", re.DOTALL)
# What the interface says of a part: ``variants.0.price is invalid`` as ``variant 1: price is invalid`` (rows of files).
_ABOUT_PART = re.compile(r"(?P<part>[a-z]+(?: [a-z]+)* \d+): (?P<said>.+)", re.DOTALL)
_ABOUT_COLUMN = re.compile(r"(?P<column>[^:]+): ")
_ENDS = (".", "!", "?", "…", ":")


def sentence(text: str) -> str:
    """A text with a capital letter at its beginning and a full stop at its end.

    What ends as a sentence is one, and may begin with a name that is written small.
    """
    text = retold(text.strip())
    return text if not text or text.endswith(_ENDS) else f"{text[0].upper()}{text[1:]}."


def about(field: str, message: str, models: Models = ()) -> str:
    """A message as a sentence that names its field; what is a sentence already is not about a field."""
    if field == "base" or message[:1].isupper():
        return sentence(message)
    return sentence(_("{field} {message}").format(field=name_of(field, models), message=retold(message)))


def reason(text: str, fields: Container[str], models: Models = ()) -> str:
    """A refusal that was stored as one line, as sentences; of messages on ``fields`` each begins with one's name.

    Args:
        text: As it was stored, in English.
        fields: Of the object, and the columns of the table that it came in.
        models: What has them.
    """
    parts = text.split("; ")
    if (found := _ABOUT_COLUMN.match(text)) and found["column"] in fields:
        return _of_column(text, found["column"])
    each_is_told = all(retold(part) != part for part in parts)
    if not _ABOUT_PART.match(text) and not each_is_told and retold(text) != text:
        return sentence(text)
    return " ".join(_said(part, fields, models) for part in parts)


def _said(text: str, fields: Container[str] | None, models: Models) -> str:
    """One message: on a part behind the part's name, on a field behind the field's; None for any field."""
    if found := _ABOUT_PART.fullmatch(text):
        return f"{capfirst(retold(found['part']))}: {_said(found['said'], None, models)}"
    found = _ABOUT_FIELD.fullmatch(text)
    if found and (fields is None or found["root"] in fields):
        return about(found["field"], found["message"], models)
    return sentence(text)


def _of_column(text: str, column: str) -> str:
    """What is wrong with a cell of a table; people look for its column by the name that it has there."""
    said = retold(text).removeprefix(f"{column}: ")
    return sentence(_("Column {column}: {message}").format(column=column, message=retold(said)))


def in_words(refusal: DomainError) -> str:
    """All that a refusal says, as sentences."""
    return " ".join(about(field, message) for field, messages in refusal.errors.items() for message in messages)


class Sentences(ErrorList):
    """The errors of a field, or of a form, as its page shows them."""

    def __getitem__(self, index: Any) -> Any:
        shown = super().__getitem__(index)
        return sentence(shown) if isinstance(shown, str) else shown


def nothing_changed(refusal: DomainError) -> str:
    """All that a refusal says, and that it has changed nothing."""
    return _("{refusal} Nothing has been changed.").format(refusal=in_words(refusal))
