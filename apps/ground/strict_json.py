"""Strict JSON: nothing comes through that could not be stored and shown again.

Against the defaults of the stack it refuses what would be lost, changed or crash later: double keys, deep nesting,
numbers that a float would round, NUL characters and lone surrogates, other encodings.
Rule: decisions, Conventions (Body, Numbers in bodies).
"""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from apps.ground.phrases import INVALID

MAX_DEPTH = 32
# Possessive, so that an unclosed string is not tried again from every quote inside it.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BadJson(ValueError):
    """The text is no JSON, or JSON that is not taken; the message says where or why."""


class TooLong(BadJson):
    """The text is longer than allowed."""


class Unstorable(BadJson):
    """A text in it holds a NUL or a lone surrogate.

    Attributes:
        errors: The refusal by the dotted path of the text, below the outermost key.
    """

    def __init__(self, path: tuple[str, ...]) -> None:
        """Say where it stands."""
        self.errors = {".".join(path[1:]) or "base": [INVALID]}
        super().__init__(self.errors)


def _refuse_constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is no number")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise BadJson("a number is out of range") from None


def _integer(text: str) -> int:
    if len(text) > 1000:
        raise BadJson("a number is out of range")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadJson("a key stands twice in one object")
    return found


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_decimal, parse_int=_integer, parse_constant=_refuse_constant
)


def parse_json(body: bytes, *, limit: int) -> Any:
    """The value of a JSON text in UTF-8, with ``Decimal`` for numbers with a point; None for an empty one.

    Raises:
        TooLong: It has more bytes than ``limit``.
        Unstorable: A text in it cannot be stored.
        BadJson: It is malformed.
    """
    if len(body) > limit:
        raise TooLong(f"is longer than {limit} bytes")
    if not body:
        return None
    _refuse_depth(body)
    try:
        text = body.decode()
        value = _decode(text)
    except UnicodeDecodeError as error:
        raise BadJson(f"invalid UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise BadJson(f"{error.msg}: line {error.lineno} column {error.colno} (char {error.pos})") from error
    if b"\\u" in body or b"\x00" in body:
        _refuse_unstorable(value, ())
    return value


def _decode(text: str) -> Any:
    stripped = text.strip(" \t\r\n")
    value, end = _decoder.raw_decode(stripped)
    if end != len(stripped):
        raise json.JSONDecodeError("Extra data", stripped, end)
    return value


def _refuse_depth(body: bytes) -> None:
    """Refuse deep nesting before a recursive parser meets it."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKETS.finditer(_STRINGS.sub(b"", body)):
        depth += 1 if match[0] in b"[{" else -1
        if depth > MAX_DEPTH:
            raise BadJson(f"nested deeper than {MAX_DEPTH}")


def _refuse_unstorable(value: object, path: tuple[str, ...]) -> None:
    """NUL and lone surrogates fit into JSON and into no database column."""
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            raise Unstorable(path)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unstorable(key, path)
            _refuse_unstorable(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unstorable(item, (*path, str(index)))
