"""Messages that are stored as a code with parameters and displayed in the reader's language.

Each kind of message is defined once, with a code and an English text. A ``Message`` is a string: the English text that
the REST API, files and logs contain. It also has the code and the parameters, from which ``localize`` builds the text
in the active language. A ``MessageField`` stores only the code and the parameters.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from operator import attrgetter
from typing import Any, NamedTuple, Self, TypeAlias

import orjson
from django.db import models
from django.utils import translation
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext
from django_stubs_ext import StrOrPromise

from apps.core.i18n.formats import ENGLISH, format_date
from apps.core.registry import Registry

# A stored string parameter is cut to this length, and a list of messages to about this number of characters.
MAX_PARAMETER, MAX_LIST = 2000, 1000
_IN_UTC = "%Y-%m-%d %H:%M"


class Amount(NamedTuple):
    """A number in a message, with as many decimals as it is shown with. An amount of money has a currency."""

    value: Decimal | int | str
    currency: str = ""


# A value of ``Message.params``. Amounts, times and nested messages are objects.
JsonParameter: TypeAlias = "str | int | Mapping[str, Any] | Sequence[Mapping[str, Any]]"


class Message(str):
    """A message: the English text with its code and its parameters as JSON."""

    __slots__ = ("code", "params")

    code: str
    params: Mapping[str, JsonParameter]

    def __new__(cls, code: str, params: Mapping[str, JsonParameter] | None = None) -> Self:
        """Create a message from its stored form. An unknown code is shown with its parameters."""
        params = params or {}
        message = super().__new__(cls, _render(code, params, localized=False))
        message.code, message.params = code, params
        return message

    def __str__(self) -> "Message":
        return self

    def __getnewargs__(self) -> Any:
        return self.code, self.params

    def localize(self) -> str:
        return _render(self.code, self.params, localized=True)

    def get(self, name: str) -> "Message":
        return as_message(self.get_text(name))

    def get_text(self, name: str) -> str:
        value: Any = self.params[name]
        return value if isinstance(value, str) else decode(value)

    def get_list(self, name: str) -> "list[Message]":
        items: Any = self.params[name]
        return [decode(item) for item in items]

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "params": self.params} if self.params else {"code": self.code}


Parameter: TypeAlias = str | int | Amount | datetime | Sequence[Message]


@dataclass(frozen=True, slots=True)
class MessageTemplate:
    """A kind of message, with parameter names in braces. ``label`` replaces the translation of the English text."""

    code: str
    english: StrOrPromise
    label: StrOrPromise = ""

    def __call__(self, **params: Parameter) -> Message:
        return Message(self.code, {name: _encode(value) for name, value in params.items()})

    def render(self, params: Mapping[str, JsonParameter], *, localized: bool) -> str:
        text = self._get_text(localized=localized)
        values = {name: _format(value, localized=localized) for name, value in params.items()}
        return text.format(**values) if values else text

    def _get_text(self, *, localized: bool) -> str:
        if localized:
            return str(self.label) if self.label else gettext(str(self.english))
        if isinstance(self.english, Promise):
            with translation.override(ENGLISH):
                return str(self.english)
        return self.english


templates = Registry[str, MessageTemplate]("messages", get_key=attrgetter("code"))
# The messages without parameters, by their English text.
_texts: dict[str, Message] = {}


def define_message(code: str, english: str) -> MessageTemplate:
    """Define a message with parameters. ``makemessages`` finds the English text in the call."""
    return _add(MessageTemplate(code, english))


def define_text(code: str, english: StrOrPromise, label: StrOrPromise = "") -> Message:
    """Define a message without parameters, such as the label of a status (see ``MessageTemplate``)."""
    _add(MessageTemplate(code, english, label))
    text = Message(code)
    _texts.setdefault(text, text)
    return text


def define_format(code: str, text: str) -> MessageTemplate:
    """Define a message that only has punctuation around its parameters, which is the same in all languages."""
    return _add(MessageTemplate(code, text))


def _add(template: MessageTemplate) -> MessageTemplate:
    templates.add(template)
    templates.registrants[template.code] = sys._getframe(2).f_globals["__name__"]
    return template


TEXT = define_format("text", "{text}")
AMOUNT = define_format("amount", "{amount}")
SENTENCES = define_format("sentences", "{first} {second}")
_LIST = define_format("list", "{items}")
_MORE = define_message("list.more", "{count} more")
_PAIR = define_format("pair", "{first}, {second}")
# A message about a field: the field's name in the REST API, and a phrase such as "can't be blank".
FIELD_ERROR = define_format("error.field", "{field} {error}")
# A message about a member of a JSON object in a file, a column of a file, and a part of an object, such as a variant.
MEMBER_ERROR = define_format("error.member", "{member} {error}")
COLUMN_ERROR = define_format("error.column", "{column}: {error}")
PART_ERROR = define_format("error.part", "{part}: {error}")


def as_message(text: str) -> Message:
    """Return a string as a message. Libraries copy known messages into plain strings. Other strings are free text."""
    return text if isinstance(text, Message) else _texts.get(text) or TEXT(text=text)


def translate(text: str) -> str:
    """Return a message, or the English text of a library, in the active language."""
    return text.localize() if isinstance(text, Message) else gettext(text) if text else ""


def join_messages(messages: Iterable[str]) -> Message:
    """Return messages as one message: ``first; second``. A long list is cut, and its end says how many are missing."""
    items: list[Message] = []
    length = missing = 0
    for message in map(as_message, messages):
        if message.code == _MORE.code:
            missing += int(message.get_text("count"))
        elif length < MAX_LIST:
            items.append(message)
            length += len(message)
        else:
            missing += 1
    if missing:
        items.append(_MORE(count=str(missing)))
    return items[0] if len(items) == 1 else _LIST(items=items)


def pair_messages(messages: Iterable[str]) -> Message:
    """Return several phrases about the same thing as one phrase: ``first, second``."""
    first, *others = map(as_message, messages)
    return reduce(lambda before, message: _PAIR(first=before, second=message), others, first)


def join_errors(errors: Mapping[str, Iterable[str]]) -> Message:
    """Return the messages of several fields as one message, with the names of the fields."""
    return join_messages(
        message if field == "base" else FIELD_ERROR(field=field, error=as_message(message))
        for field, messages in errors.items()
        for message in messages
    )


def get_items(message: Message) -> list[Message]:
    """Return the messages that ``join_messages`` joined."""
    return message.get_list("items") if message.code == _LIST.code else [message]


def decode(value: Any) -> Message:
    return Message(value["code"], value.get("params"))


class MessageField(models.TextField[str, str]):
    """A column with a message, stored as JSON text. The value is a ``Message``, or "" if there is none.

    Text that is assigned instead of a message is stored as free text.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"blank": True, "default": "", **kwargs})

    def from_db_value(self, value: str | None, *_: object) -> str:
        return decode(orjson.loads(value)) if value else ""

    def get_prep_value(self, value: str | None) -> str | None:
        return encode_message(value) if value else value


def encode_message(text: str) -> str:
    return orjson.dumps(_shorten(as_message(text).to_json())).decode() if text else ""


def _shorten(value: Any) -> Any:
    """Cut the long strings of a stored message, and remove characters that a database can't store."""
    if isinstance(value, str):
        return value[:MAX_PARAMETER].replace("\0", "").encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {name: _shorten(item) for name, item in value.items()}
    return [_shorten(item) for item in value] if isinstance(value, list) else value


def _render(code: str, params: Mapping[str, JsonParameter], *, localized: bool) -> str:
    template = templates.get(code)
    try:
        if template is not None:
            return template.render(params, localized=localized)
    except LookupError:
        # Another release stored the message with other parameters.
        pass
    values = ", ".join(f"{name}: {_format(value, localized=localized)}" for name, value in params.items())
    return f"{code} ({values})" if values else code


def _encode(value: Parameter) -> Any:
    if isinstance(value, Message):
        return value.to_json()
    if isinstance(value, Amount):
        return {"amount": str(value.value)} | ({"currency": value.currency} if value.currency else {})
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    return value if isinstance(value, str | int) else [item.to_json() for item in value]


def _format(value: Any, *, localized: bool) -> str:
    if isinstance(value, list):
        return "; ".join(_format(item, localized=localized) for item in value)
    if not isinstance(value, Mapping):
        return str(value)
    if "code" in value:
        return _render(value["code"], value.get("params") or {}, localized=localized)
    if "time" in value:
        time = datetime.fromisoformat(value["time"])
        return format_date(time, "j M Y, H:i") if localized else f"{time.astimezone(UTC):{_IN_UTC}}"
    amount = number_format(value["amount"], force_grouping=True) if localized else value["amount"]
    return f"{amount} {value['currency']}" if "currency" in value else amount
