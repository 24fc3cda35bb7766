"""Metafield types: how values are validated, stored and rendered.

``read_value`` converts a value from a request or form to the stored text. It also accepts a value that is already the
stored text. ``render_value`` converts the stored text to the value in a response: a bool, a number or a string.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime

from django.conf import settings

from apps.core.i18n.error_messages import NOT_BOOLEAN, between, too_long
from apps.metafields.domain import json_types, references
from apps.metafields.domain.owners import owner_types
from apps.metafields.domain.scalar_types import (
    InvalidValue,
    dump_json,
    parse_json_text,
    read_decimal,
    read_single_line,
    read_text,
    read_url,
)

MAX_JSON = 524_288
MAX_ITEMS = 128
LARGEST_INTEGER = 2**53 - 1

Reader = Callable[[object], object]
_INTEGER = re.compile(r"[+-]?[0-9]{1,16}", re.ASCII)
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?", re.ASCII
)


def is_type(name: str) -> bool:
    return _get_reader(name) is not None


def read_value(name: str, value: object) -> str:
    """Validate a value, and convert it to the stored text. Text is stored unchanged, and other values as JSON.

    Raises:
        InvalidValue: The value does not fit the type.
    """
    reader = _get_reader(name)
    if reader is None:
        raise LookupError(name)
    result = reader(value)
    return result if isinstance(result, str) else dump_json(result)


def render_value(name: str, text: str) -> bool | int | str:
    if name in {"number_integer", "integer"}:
        return int(text)
    return text == "true" if name == "boolean" else text


def _get_reader(name: str) -> Reader | None:
    if name in _READERS:
        return _READERS[name]
    if name.startswith("list."):
        inner = name.removeprefix("list.")
        element = _get_reader(inner)
        if element is None or inner in _NEVER_LISTED or inner.startswith("list."):
            return None
        return _list_reader(_object_element(element) if inner in json_types.JSON_READERS else element)
    if name.endswith("_reference"):
        resource = name.removesuffix("_reference")
        owner = owner_types.get(resource)
        return None if owner is None or resource == "shop" else lambda value: _read_reference(resource, value)
    return None


def _read_integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not _INTEGER.fullmatch(str(value)):
        raise InvalidValue("must be a whole number")
    number = int(value)
    if abs(number) > LARGEST_INTEGER:
        raise InvalidValue(between(-LARGEST_INTEGER, LARGEST_INTEGER))
    return number


def _read_boolean(value: object) -> bool:
    if not isinstance(value, bool | str) or value not in {True, False, "true", "false"}:
        raise InvalidValue(NOT_BOOLEAN)
    return value in {True, "true"}


def _read_date(value: object) -> str:
    return _normalize_iso(value, date, _DAY, "must be a date in the format YYYY-MM-DD")


def _read_datetime(value: object) -> str:
    message = "must be a date and time in the format YYYY-MM-DDTHH:MM:SS, with or without a UTC offset"
    return _normalize_iso(value, datetime, _MOMENT, message)


def _normalize_iso(value: object, kind: type[date], pattern: re.Pattern[str], message: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise InvalidValue(message)
    try:
        return kind.fromisoformat(value).isoformat()
    except ValueError:
        raise InvalidValue(message) from None


def _read_json(value: object) -> str:
    """Read a JSON document. Text is stored unchanged."""
    text = value if isinstance(value, str) else dump_json(value)
    if len(text) > MAX_JSON:
        raise InvalidValue(too_long(MAX_JSON))
    parse_json_text(text)
    return text


def _read_color(value: object) -> str:
    if not isinstance(value, str) or not _COLOR.fullmatch(value):
        raise InvalidValue("must be a color in the format #RRGGBB")
    return value


def _read_reference(resource: str, value: object) -> str:
    owner = owner_types[resource]
    prefix = f"gid://{settings.BRAND}/{owner.gid}/"
    digits = value.removeprefix(prefix) if isinstance(value, str) and value.startswith(prefix) else ""
    if not re.fullmatch(r"[1-9][0-9]{0,18}", digits, re.ASCII) or int(digits) >= 2**63:
        raise InvalidValue(f"must be a global ID such as {prefix}1")
    if not references.reference_exists(owner, int(digits)):
        raise InvalidValue(f"does not refer to an existing {resource.replace('_', ' ')}")
    return str(value)


def _object_element(element: Reader) -> Reader:
    """Return a reader for list elements that are JSON objects. Lists store objects instead of their JSON text."""
    return lambda value: parse_json_text(str(element(value)))


def _list_reader(element: Reader) -> Reader:
    def read_list(value: object) -> list[object]:
        items = parse_json_text(value) if isinstance(value, str) else value
        if not isinstance(items, list):
            raise InvalidValue("must be a list")
        if len(items) > MAX_ITEMS:
            raise InvalidValue(f"must have at most {MAX_ITEMS} items")
        return [element(item) for item in items]

    return read_list


_READERS: Mapping[str, Reader] = {
    "single_line_text_field": read_single_line,
    "multi_line_text_field": read_text,
    "number_integer": _read_integer,
    "number_decimal": read_decimal,
    "boolean": _read_boolean,
    "date": _read_date,
    "date_time": _read_datetime,
    "json": _read_json,
    "url": read_url,
    "color": _read_color,
    **json_types.JSON_READERS,
    # Older clients still use these types. New metafields get the successor type instead.
    "string": read_text,
    "integer": _read_integer,
    "json_string": _read_json,
}
_SUCCESSORS = {"string": "single_line_text_field", "integer": "number_integer", "json_string": "json"}
_NEVER_LISTED = frozenset(
    {"boolean", "id", "json", "language", "money", "multi_line_text_field", "rich_text_field", *_SUCCESSORS}
)


def get_successor_type(name: str, value: object) -> str:
    """Return the type to store for a requested type. A ``string`` with several lines becomes multi-line text."""
    if name == "string" and isinstance(value, str) and ("\n" in value or "\r" in value):
        return "multi_line_text_field"
    return _SUCCESSORS.get(name, name)


def get_type_names() -> tuple[str, ...]:
    """Return the types that a form offers, without list types, references and the types of older clients."""
    return tuple(name for name in _READERS if name not in _SUCCESSORS)
