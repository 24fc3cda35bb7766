"""Metafield types that are stored as JSON, such as links, amounts and measurements, and two types stored as text.

Clients send an object or its JSON text. Text is stored unchanged, so clients get back what they sent. An object is
serialized to equivalent JSON.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial

from babel import Locale, UnknownLocaleError

from apps.core.i18n.error_messages import one_of
from apps.core.money import is_currency
from apps.metafields.domain.scalar_types import (
    InvalidValue,
    dump_json,
    parse_json_text,
    read_decimal,
    read_single_line,
    read_text,
    read_url,
)

Members = Mapping[str, object]
WEIGHTS = ("oz", "lb", "g", "kg")
DIMENSIONS = ("in", "ft", "yd", "mm", "cm", "m")
VOLUMES = (
    *("ml", "cl", "l", "m3"),
    *("us_fl_oz", "us_pt", "us_qt", "us_gal"),
    *("imp_fl_oz", "imp_pt", "imp_qt", "imp_gal"),
)
MAX_DEPTH = 12
_CHILDREN = ("paragraph", "heading", "list", "list-item", "link", "text")
_TEXT_MARKS = ("bold", "italic")


def _object_reader(check: Callable[[Members], None], example: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        parts = parse_json_text(value) if isinstance(value, str) else value
        if not isinstance(parts, Mapping):
            raise InvalidValue(f"must be an object such as {example}")
        check(parts)
        return value if isinstance(value, str) else dump_json(dict(parts))

    return read


def _check_members(parts: Members, names: set[str], optional: frozenset[str] = frozenset()) -> None:
    if missing := names - parts.keys():
        raise InvalidValue(f"must have {', '.join(sorted(missing))}")
    if unknown := parts.keys() - names - optional:
        raise InvalidValue(f"must not have {', '.join(sorted(map(str, unknown)))}")


def _measure_checker(units: tuple[str, ...]) -> Callable[[Members], None]:
    def check(parts: Members) -> None:
        _check_members(parts, {"value", "unit"})
        read_decimal(parts["value"])
        if parts["unit"] not in units:
            raise InvalidValue(f"unit {one_of(units)}")

    return check


def _check_money(parts: Members) -> None:
    _check_members(parts, {"amount", "currency_code"})
    read_decimal(parts["amount"])
    code = parts["currency_code"]
    if not isinstance(code, str) or not is_currency(code):
        raise InvalidValue("currency_code must be an ISO 4217 currency code such as EUR")


def _check_rating(parts: Members) -> None:
    _check_members(parts, {"value", "scale_min", "scale_max"})
    value, minimum, maximum = (Decimal(read_decimal(parts[name])) for name in ("value", "scale_min", "scale_max"))
    if not minimum <= value <= maximum:
        raise InvalidValue("value must be between scale_min and scale_max")


def _check_link(parts: Members) -> None:
    _check_members(parts, {"text", "url"})
    if parts["text"] not in ("", None):
        read_text(parts["text"])
    read_url(parts["url"])


def _check_rich_text(parts: Members) -> None:
    _check_members(parts, {"type", "children"})
    if parts["type"] != "root":
        raise InvalidValue("must be an object with the type root")
    _check_nodes(parts["children"], MAX_DEPTH)


def _check_nodes(children: object, depth: int) -> None:
    if not isinstance(children, list) or not depth:
        raise InvalidValue("children must be a list of nodes, nested at most 12 levels deep")
    for node in children:
        kind = node.get("type") if isinstance(node, Mapping) else None
        if kind not in _CHILDREN:
            raise InvalidValue(f"the type of each node {one_of(_CHILDREN)}")
        if kind == "text":
            _check_members(node, {"type", "value"}, frozenset(_TEXT_MARKS))
            if not isinstance(node["value"], str) or not all(isinstance(node.get(m, False), bool) for m in _TEXT_MARKS):
                raise InvalidValue("a text node must have a value, and bold and italic must be true or false")
            continue
        _check_node(node, kind)
        _check_nodes(node.get("children"), depth - 1)


def _check_node(node: Members, kind: str) -> None:
    if kind == "heading" and (isinstance(node.get("level"), bool) or node.get("level") not in range(1, 7)):
        raise InvalidValue("a heading node must have a level from 1 to 6")
    if kind == "list" and node.get("listType") not in ("ordered", "unordered"):
        raise InvalidValue("a list node must have the listType ordered or unordered")
    if kind == "link":
        read_url(node.get("url"))


def _read_language(value: object) -> str:
    """Read a language code such as ``en``, ``pt-BR`` or ``zh-Hant``."""
    text = read_text(value, limit=20)
    try:
        locale = Locale.parse(text, sep="-")
    except (ValueError, UnknownLocaleError):
        locale = None
    if locale is None or locale.language not in Locale("en").languages or str(locale).replace("_", "-") != text:
        raise InvalidValue("must be a language code such as en or pt-BR")
    return text


JSON_READERS: Mapping[str, Callable[[object], object]] = {
    "link": _object_reader(_check_link, '{"text": "Care", "url": "https://example.com/care"}'),
    "money": _object_reader(_check_money, '{"amount": "5.99", "currency_code": "EUR"}'),
    "weight": _object_reader(_measure_checker(WEIGHTS), '{"value": "2.5", "unit": "kg"}'),
    "dimension": _object_reader(_measure_checker(DIMENSIONS), '{"value": "25", "unit": "cm"}'),
    "volume": _object_reader(_measure_checker(VOLUMES), '{"value": "20", "unit": "ml"}'),
    "rating": _object_reader(_check_rating, '{"value": "3.5", "scale_min": "1.0", "scale_max": "5.0"}'),
    "rich_text_field": _object_reader(_check_rich_text, '{"type": "root", "children": []}'),
    "language": _read_language,
    "id": partial(read_single_line, limit=255),
}
