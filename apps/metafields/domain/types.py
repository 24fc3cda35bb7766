"""The types of metafields: what a value may be, how it is kept, and how it is shown.

``read`` turns a value out of a body or a form into the text that is kept; it takes that text back, too. ``show`` turns
the text into the value of an answer: a truth value, a number or a text.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

from apps.ground.phrases import BLANK, INVALID, NOT_BOOLEAN, between, too_long
from apps.ground.strict_json import BadJson, parse_json
from apps.metafields.domain.owners import owner_named

MAX_LENGTH = 65_535
MAX_JSON = 524_288
MAX_ITEMS = 128
MAX_URL = 2048
LARGEST_INTEGER = 2**53 - 1
# Beyond it the digits of a number as text could fill the memory.
MAX_EXPONENT = 30
MAX_DIGITS = 13
MAX_DECIMALS = 9

Read = Callable[[object], object]
_INTEGER = re.compile(r"[+-]?[0-9]{1,16}", re.ASCII)
_DECIMAL = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}(\.[0-9]{{1,{MAX_DECIMALS}}})?", re.ASCII)
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?", re.ASCII
)
_is_url = URLValidator(schemes=["http", "https"])


class Unfit(ValueError):
    """The value does not fit its type; the text says how."""


def is_type(name: str) -> bool:
    """Whether there is a type of that name."""
    return _reader(name) is not None


def read(name: str, value: object) -> str:
    """The text that is kept of a value.

    Raises:
        Unfit: It does not fit the type.
    """
    reader = _reader(name)
    if reader is None:
        raise LookupError(name)
    return _text_of(reader(value))


def show(name: str, text: str) -> bool | int | str:
    """The value of an answer."""
    if name in {"number_integer", "integer"}:
        return int(text)
    return text == "true" if name == "boolean" else text


def _reader(name: str) -> Read | None:
    if name in _READERS:
        return _READERS[name]
    if name.startswith("list."):
        inner = name.removeprefix("list.")
        element = _reader(inner)
        return _list_of(element) if element and inner not in _NEVER_LISTED and not inner.startswith("list.") else None
    if name.endswith("_reference"):
        resource = name.removesuffix("_reference")
        owner = owner_named(resource)
        return None if owner is None or resource == "shop" else lambda value: _reference(resource, value)
    return None


def _text_of(value: object) -> str:
    """What is kept: texts as they are, everything else as JSON."""
    return value if isinstance(value, str) else _dumped(value)


def _dumped(value: object) -> str:
    """JSON without loss: numbers keep their digits, which no float would do."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_dumped(key)}:{_dumped(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_dumped, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def _text(value: object, *, limit: int = MAX_LENGTH) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise Unfit("must be a text")
    text = str(value)
    if not text:
        raise Unfit(BLANK)
    if len(text) > limit:
        raise Unfit(too_long(limit))
    if "\x00" in text:
        raise Unfit(INVALID)
    return text


def _single_line(value: object) -> str:
    text = _text(value)
    if "\n" in text or "\r" in text:
        raise Unfit("must be a single line of text")
    return text


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not _INTEGER.fullmatch(str(value)):
        raise Unfit("must be a whole number")
    number = int(value)
    if abs(number) > LARGEST_INTEGER:
        raise Unfit(between(-LARGEST_INTEGER, LARGEST_INTEGER))
    return number


def _decimal(value: object) -> str:
    if isinstance(value, Decimal) and abs(value.adjusted()) > MAX_EXPONENT:
        raise Unfit("must be a number")
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise Unfit("must be a number")
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    if not _DECIMAL.fullmatch(text):
        raise Unfit(f"must be a number of at most {MAX_DIGITS} digits and {MAX_DECIMALS} decimals")
    return text


def _boolean(value: object) -> bool:
    if not isinstance(value, bool | str) or value not in {True, False, "true", "false"}:
        raise Unfit(NOT_BOOLEAN)
    return value in {True, "true"}


def _date(value: object) -> str:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise Unfit("must be a date as YYYY-MM-DD")
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        raise Unfit("must be a date as YYYY-MM-DD") from None


def _moment(value: object) -> str:
    message = "must be a date and time as YYYY-MM-DDTHH:MM:SS, with or without an offset"
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise Unfit(message)
    try:
        return datetime.fromisoformat(value).isoformat()
    except ValueError:
        raise Unfit(message) from None


def _json(value: object) -> str:
    """A document as text is kept byte for byte."""
    text = value if isinstance(value, str) else _dumped(value)
    if len(text) > MAX_JSON:
        raise Unfit(too_long(MAX_JSON))
    parsed(text)
    return text


def parsed(text: str) -> object:
    """The value of a JSON text, which must be there and hold nothing that could not be stored.

    Raises:
        Unfit: It is no such JSON.
    """
    try:
        body = text.encode()
        if not body.strip():
            raise Unfit("must be valid JSON")
        return parse_json(body, limit=settings.API_BODY_LIMIT)
    except (UnicodeEncodeError, BadJson):
        raise Unfit("must be valid JSON") from None


def _url(value: object) -> str:
    text = _text(value, limit=MAX_URL)
    try:
        _is_url(text)
    except ValidationError:
        raise Unfit("must be a URL that begins with http:// or https://") from None
    return text


def _color(value: object) -> str:
    if not isinstance(value, str) or not _COLOR.fullmatch(value):
        raise Unfit("must be a color as #RRGGBB")
    return value


def _reference(resource: str, value: object) -> str:
    """The global id of a row of this shop."""
    owner = owner_named(resource)
    assert owner is not None
    beginning = f"gid://{settings.BRAND}/{owner.gid}/"
    digits = value.removeprefix(beginning) if isinstance(value, str) and value.startswith(beginning) else ""
    if not re.fullmatch(r"[1-9][0-9]{0,18}", digits, re.ASCII) or int(digits) >= 2**63:
        raise Unfit(f"must be a global id such as {beginning}1")
    if not owner.model._default_manager.filter(pk=int(digits)).exists():
        raise Unfit(f"names no {resource.replace('_', ' ')} of this shop")
    return str(value)


def _list_of(element: Read) -> Read:
    def read_list(value: object) -> list[object]:
        items = parsed(value) if isinstance(value, str) else value
        if not isinstance(items, list):
            raise Unfit("must be a list")
        if len(items) > MAX_ITEMS:
            raise Unfit(f"must have at most {MAX_ITEMS} items")
        return [element(item) for item in items]

    return read_list


_READERS: Mapping[str, Read] = {
    "single_line_text_field": _single_line,
    "multi_line_text_field": _text,
    "number_integer": _integer,
    "number_decimal": _decimal,
    "boolean": _boolean,
    "date": _date,
    "date_time": _moment,
    "json": _json,
    "url": _url,
    "color": _color,
    # As older clients name them.
    "string": _text,
    "integer": _integer,
    "json_string": _json,
}
_NEVER_LISTED = frozenset({"json", "multi_line_text_field", "string", "integer", "json_string"})


def type_names() -> tuple[str, ...]:
    """The types to choose from, without lists, references and what only older clients use."""
    return tuple(name for name in _READERS if name not in {"string", "integer", "json_string"})
