"""A strict JSON parser, which only accepts values that can be stored and returned unchanged.

Unlike Python's default parser, this parser rejects duplicate keys, deep nesting, numbers that are out of range, NUL
characters, lone surrogates, and encodings other than UTF-8. Decimal numbers are not rounded to floats.
"""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from apps.core.i18n.error_messages import INVALID

MAX_DEPTH = 32
# The quantifiers are possessive, so that an unclosed string does not cause quadratic backtracking.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class InvalidJson(ValueError):
    """Raised when the input is not valid JSON or not accepted. The message contains the position or the reason."""


class JsonTooLong(InvalidJson):
    """Raised when the input is too long."""


class UnstorableText(InvalidJson):
    """Raised for a NUL or a lone surrogate. ``errors`` is keyed by the dotted path without the outermost key."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self.errors = {".".join(path[1:]) or "base": [INVALID]}
        super().__init__(self.errors)


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not a number")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidJson("a number is out of range") from None


def _integer(text: str) -> int:
    if len(text) > 1000:
        raise InvalidJson("a number is out of range")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidJson("a key occurs twice in one object")
    return result


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_decimal, parse_int=_integer, parse_constant=_refuse_constant
)


def parse_json(body: bytes, *, limit: int) -> Any:
    """Parse JSON in UTF-8. Return None for an empty body. Raise ``InvalidJson`` or one of its subclasses."""
    if len(body) > limit:
        raise JsonTooLong(f"is longer than {limit} bytes")
    if not body:
        return None
    _refuse_depth(body)
    try:
        text = body.decode().strip(" \t\r\n")
        value, end = _decoder.raw_decode(text)
        if end != len(text):
            raise json.JSONDecodeError("Extra data", text, end)
    except UnicodeDecodeError as error:
        raise InvalidJson(f"invalid UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise InvalidJson(f"{error.msg}: line {error.lineno} column {error.colno} (char {error.pos})") from error
    if b"\\u" in body or b"\x00" in body:
        _refuse_unstorable(value, ())
    return value


def _refuse_depth(body: bytes) -> None:
    """Reject deep nesting before the recursive parser runs."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKETS.finditer(_STRINGS.sub(b"", body)):
        depth += 1 if match[0] in b"[{" else -1
        if depth > MAX_DEPTH:
            raise InvalidJson(f"nested deeper than {MAX_DEPTH}")


def _refuse_unstorable(value: object, path: tuple[str, ...]) -> None:
    """Reject NUL characters and lone surrogates, which JSON allows but the database cannot store."""
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            raise UnstorableText(path)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unstorable(key, path)
            _refuse_unstorable(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unstorable(item, (*path, str(index)))
