"""Format errors as sentences for staff.

The REST API returns messages such as "can't be blank" next to the field name. Apps compare these messages
literally, so their wording must not change. Pages show the same messages as full sentences, either below the field or
after the field label.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.forms.utils import ErrorList
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.display.fields import Models, get_field_label
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID
from apps.core.i18n.messages import COLUMN_ERROR, FIELD_ERROR, MEMBER_ERROR, PART_ERROR, Message, get_items, translate

_PHONE_WITHOUT_COUNTRY = gettext_lazy("Include the country code, such as +49 171 2345678.")
_ENDS = (".", "!", "?", "…", ":")
_URL_STARTS = ("http://", "https://")
# The beginning of messages that make a sentence together with the name of a field or column.
_PREDICATE = re.compile(r"(?:is|are|must|can't|cannot|has|have|does|contains)\b")


def as_sentence(text: str) -> str:
    """Translate a message, capitalize the first letter and add a period.

    A translation that already ends with punctuation is a complete sentence. It is returned unchanged, because its first
    word may be a lowercase name. A URL or a discount code at the beginning is not capitalized either.
    """
    code = text.params.get("code") if isinstance(text, Message) else None
    unchanged = (*_URL_STARTS, code) if isinstance(code, str) else _URL_STARTS
    text = translate(text if isinstance(text, Message) else text.strip())
    if not text or text.endswith(_ENDS):
        return text
    return f"{text}." if text.startswith(unchanged) else f"{text[0].upper()}{text[1:]}."


def explain_field_errors(field: str | None, messages: Iterable[str]) -> list[str]:
    """Return the errors of a form field. The error of a phone number says what is probably missing."""
    if field == "phone":
        return [str(_PHONE_WITHOUT_COUNTRY) if message == INVALID else message for message in messages]
    return list(messages)


def format_field_error(field: str, message: str, models: Models = ()) -> str:
    """Return a message as a sentence that begins with the field label, unless the message already is a sentence."""
    if field == "base" or message[:1].isupper():
        return as_sentence(message)
    return as_sentence(_("{field} {message}").format(field=get_field_label(field, models), message=translate(message)))


def format_message(message: str, models: Models = ()) -> str:
    """Format a stored message, such as the result of ``join_errors``, as sentences that begin with field labels."""
    if not isinstance(message, Message):
        return as_sentence(message)
    if message.code == FIELD_ERROR.code:
        return format_field_error(str(message.params["field"]), message.get("error"), models)
    if message.code == PART_ERROR.code:
        return f"{capfirst(message.get('part').localize())}: {format_message(message.get('error'), models)}"
    if message.code == MEMBER_ERROR.code:
        text = _("Field {name}: {message}")
        return as_sentence(text.format(name=message.params["member"], message=message.get("error").localize()))
    if message.code == COLUMN_ERROR.code:
        error = message.get("error")
        text = _("Column “{column}” {message}") if _PREDICATE.match(error) else _("Column “{column}”: {message}")
        return as_sentence(text.format(column=message.params["column"], message=error.localize()))
    return " ".join(
        as_sentence(item) if item is message else format_message(item, models) for item in get_items(message)
    )


def format_errors(error: DomainError) -> str:
    return " ".join(
        format_field_error(field, message) for field, messages in error.errors.items() for message in messages
    )


def add_domain_errors(
    form: BaseForm, error: DomainError | ValidationError, field_names: Mapping[str, str] | None = None
) -> None:
    """Add the errors of a service to their fields, or else to the whole form, with the label of the field.

    ``field_names`` are the fields of the form for columns with other names.
    """
    field_errors = error.message_dict if isinstance(error, ValidationError) else error.errors
    for column, messages in field_errors.items():
        name = (field_names or {}).get(column, column)
        if name in form.fields:
            form.add_error(name, explain_field_errors(name, messages))
        else:
            form.add_error(None, [format_field_error(column.rpartition(".")[2], message) for message in messages])


class SentenceErrorList(ErrorList):
    def __getitem__(self, index: Any) -> Any:
        message = super().__getitem__(index)
        return as_sentence(message) if isinstance(message, str) else message


def format_unchanged_error(error: DomainError) -> str:
    return _("{refusal} Nothing has been changed.").format(refusal=format_errors(error))
