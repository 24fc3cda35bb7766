"""The types whose values have parts: kept as JSON, which is taken as an object or as its text.

A text is kept byte for byte, so that it comes back as it was sent; an object is kept as the JSON that says the same.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal

from babel import Locale, UnknownLocaleError

from apps.ground.money import is_currency
from apps.ground.phrases import one_of
from apps.metafields.domain.elements import (
    Unfit,
    dumped,
    parsed,
    read_decimal,
    read_text,
    read_url,
)

Parts = Mapping[str, object]
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
_LANGUAGES = frozenset(Locale("en").languages)


def _whole(check: Callable[[Parts], None], example: str) -> Callable[[object], str]:
    """A reader of an object whose parts a function checks."""

    def read(value: object) -> str:
        parts = parsed(value) if isinstance(value, str) else value
        if not isinstance(parts, Mapping):
            raise Unfit(f"must be an object such as {example}")
        check(parts)
        return value if isinstance(value, str) else dumped(dict(parts))

    return read


def _exactly(parts: Parts, names: set[str], optional: frozenset[str] = frozenset()) -> None:
    if missing := names - parts.keys():
        raise Unfit(f"must have {', '.join(sorted(missing))}")
    if unknown := parts.keys() - names - optional:
        raise Unfit(f"must not have {', '.join(sorted(map(str, unknown)))}")


def _measure(units: tuple[str, ...]) -> Callable[[Parts], None]:
    def check(parts: Parts) -> None:
        _exactly(parts, {"value", "unit"})
        read_decimal(parts["value"])
        if parts["unit"] not in units:
            raise Unfit(f"unit {one_of(units)}")

    return check


def _money(parts: Parts) -> None:
    _exactly(parts, {"amount", "currency_code"})
    read_decimal(parts["amount"])
    code = parts["currency_code"]
    if not isinstance(code, str) or not is_currency(code):
        raise Unfit("currency_code must be a currency as ISO 4217 writes it")


def _rating(parts: Parts) -> None:
    _exactly(parts, {"value", "scale_min", "scale_max"})
    value, least, most = (Decimal(read_decimal(parts[name])) for name in ("value", "scale_min", "scale_max"))
    if not least <= value <= most:
        raise Unfit("value must be between scale_min and scale_max")


def _link(parts: Parts) -> None:
    _exactly(parts, {"text", "url"})
    if parts["text"] not in ("", None):
        read_text(parts["text"])
    read_url(parts["url"])


def _rich_text(parts: Parts) -> None:
    _exactly(parts, {"type", "children"})
    if parts["type"] != "root":
        raise Unfit("must be an object of type root")
    _nodes(parts["children"], MAX_DEPTH)


def _nodes(children: object, depth: int) -> None:
    if not isinstance(children, list) or not depth:
        raise Unfit("children must be a list of nodes that are nested no deeper than 12")
    for node in children:
        kind = node.get("type") if isinstance(node, Mapping) else None
        if kind not in _CHILDREN:
            raise Unfit(f"each node {one_of(_CHILDREN)} as its type")
        if kind == "text":
            _exactly(node, {"type", "value"}, frozenset(_TEXT_MARKS))
            if not isinstance(node["value"], str) or not all(isinstance(node.get(m, False), bool) for m in _TEXT_MARKS):
                raise Unfit("a text must have a value, and bold and italic as true or false")
            continue
        _check_node(node, kind)
        _nodes(node.get("children"), depth - 1)


def _check_node(node: Parts, kind: str) -> None:
    """What the kinds of nodes that have children say besides."""
    if kind == "heading" and (isinstance(node.get("level"), bool) or node.get("level") not in range(1, 7)):
        raise Unfit("a heading must have a level from 1 to 6")
    if kind == "list" and node.get("listType") not in ("ordered", "unordered"):
        raise Unfit("a list must have a listType, ordered or unordered")
    if kind == "link":
        read_url(node.get("url"))


def _language(value: object) -> str:
    """A language as ISO 639 writes it, with a country or a script where it matters: ``en``, ``pt-BR``, ``zh-Hant``."""
    text = read_text(value, limit=20)
    try:
        locale = Locale.parse(text, sep="-")
    except (ValueError, UnknownLocaleError):
        locale = None
    if locale is None or locale.language not in _LANGUAGES or str(locale).replace("_", "-") != text:
        raise Unfit("must be a language such as en or pt-BR")
    return text


def _id(value: object) -> str:
    text = read_text(value, limit=255)
    if "\n" in text or "\r" in text:
        raise Unfit("must be a single line of text")
    return text


READERS: Mapping[str, Callable[[object], object]] = {
    "link": _whole(_link, '{"text": "Care", "url": "https://example.com/care"}'),
    "money": _whole(_money, '{"amount": "5.99", "currency_code": "EUR"}'),
    "weight": _whole(_measure(WEIGHTS), '{"value": "2.5", "unit": "kg"}'),
    "dimension": _whole(_measure(DIMENSIONS), '{"value": "25", "unit": "cm"}'),
    "volume": _whole(_measure(VOLUMES), '{"value": "20", "unit": "ml"}'),
    "rating": _whole(_rating, '{"value": "3.5", "scale_min": "1.0", "scale_max": "5.0"}'),
    "rich_text_field": _whole(_rich_text, '{"type": "root", "children": []}'),
    "language": _language,
    "id": _id,
}
