"""The types of metafields: what a value may be, how it is kept, and how it is shown.

``read`` turns a value out of a body or a form into the text that is kept; it takes that text back, too. ``show`` turns
the text into the value of an answer: a truth value, a number or a text.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime

from django.conf import settings

from apps.ground.phrases import NOT_BOOLEAN, between, too_long
from apps.metafields.domain import compound, references
from apps.metafields.domain.elements import (
    Unfit,
    dumped,
    parsed,
    read_decimal,
    read_text,
    read_url,
)
from apps.metafields.domain.owners import owner_named

MAX_JSON = 524_288
MAX_ITEMS = 128
LARGEST_INTEGER = 2**53 - 1

Read = Callable[[object], object]
_INTEGER = re.compile(r"[+-]?[0-9]{1,16}", re.ASCII)
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?", re.ASCII
)


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
        element = _reader(inner) if inner not in compound.READERS else _parts_of(compound.READERS[inner])
        return _list_of(element) if element and inner not in _NEVER_LISTED and not inner.startswith("list.") else None
    if name.endswith("_reference"):
        resource = name.removesuffix("_reference")
        owner = owner_named(resource)
        return None if owner is None or resource == "shop" else lambda value: _reference(resource, value)
    return None


def _text_of(value: object) -> str:
    """What is kept: texts as they are, everything else as JSON."""
    return value if isinstance(value, str) else dumped(value)


def _single_line(value: object) -> str:
    text = read_text(value)
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
    text = value if isinstance(value, str) else dumped(value)
    if len(text) > MAX_JSON:
        raise Unfit(too_long(MAX_JSON))
    parsed(text)
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
    if not references.exists(owner, int(digits)):
        raise Unfit(f"names no {resource.replace('_', ' ')} of this shop")
    return str(value)


def _parts_of(element: Read) -> Read:
    """In a list stands the object itself, and not its text."""
    return lambda value: parsed(str(element(value)))


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
    "multi_line_text_field": read_text,
    "number_integer": _integer,
    "number_decimal": read_decimal,
    "boolean": _boolean,
    "date": _date,
    "date_time": _moment,
    "json": _json,
    "url": read_url,
    "color": _color,
    **compound.READERS,
    # As older clients named them; new ones are read as their successors.
    "string": read_text,
    "integer": _integer,
    "json_string": _json,
}
_SUCCESSORS = {"string": "single_line_text_field", "integer": "number_integer", "json_string": "json"}
_NEVER_LISTED = frozenset(
    {"boolean", "id", "json", "language", "money", "multi_line_text_field", "rich_text_field", *_SUCCESSORS}
)


def successor(name: str, value: object) -> str:
    """The type that a new metafield has if a client asks for a type; a string of several lines is a text of several."""
    if name == "string" and isinstance(value, str) and ("\n" in value or "\r" in value):
        return "multi_line_text_field"
    return _SUCCESSORS.get(name, name)


def type_names() -> tuple[str, ...]:
    """The types to choose from, without lists, references and what only older clients use."""
    return tuple(name for name in _READERS if name not in _SUCCESSORS)
