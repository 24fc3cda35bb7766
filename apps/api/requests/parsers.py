"""Reading request bodies: strict JSON, so that nothing reaches a service that could not be stored and shown again.

Against the defaults of the stack this parser refuses what would be lost, changed or crash later: double keys, deep
nesting, numbers that a float would round, NUL characters and lone surrogates, other encodings.
Rule: decisions, Conventions (Body, Numbers in bodies).
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import IO, Any, NoReturn

from django.conf import settings
from rest_framework.parsers import BaseParser

from apps.api.errors import ApiError, BadRequest, Unprocessable, reason

MAX_DEPTH = 32
# Possessive, so that an unclosed string is not tried again from every quote inside it.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _Malformed(ValueError):
    """Something that JSON allows and we do not."""


def _refuse_constant(name: str) -> NoReturn:
    raise _Malformed(f"{name} is no number")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise _Malformed("a number is out of range") from None


def _integer(text: str) -> int:
    if len(text) > 1000:
        raise _Malformed("a number is out of range")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Malformed("a key stands twice in one object")
    return found


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_decimal, parse_int=_integer, parse_constant=_refuse_constant
)


class StrictJSONParser(BaseParser):
    """Parses ``application/json`` bodies in UTF-8; numbers with a point become ``Decimal``."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The value of a body; ``None`` where the body is empty."""
        context = parser_context or {}
        upload = bool(getattr(context.get("view"), "takes_uploads", False))
        return parse_json(stream.read(), limit=settings.API_UPLOAD_BODY_LIMIT if upload else settings.API_BODY_LIMIT)


def parse_json(body: bytes, *, limit: int) -> Any:
    """The value of a JSON text.

    Raises:
        BadRequest: It is malformed; ``detail`` says where.
        Unprocessable: A text in it cannot be stored.
        ApiError: It is too large (413).
    """
    if len(body) > limit:
        raise ApiError(reason(413), status=413)
    if not body:
        return None
    _refuse_depth(body)
    try:
        text = body.decode()
        value = _decode(text)
    except UnicodeDecodeError as error:
        raise BadRequest("Bad Request", detail=f"invalid UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        where = f"{error.msg}: line {error.lineno} column {error.colno} (char {error.pos})"
        raise BadRequest("Bad Request", detail=where) from error
    except ValueError as error:
        raise BadRequest("Bad Request", detail=str(error)) from error
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
            raise BadRequest("Bad Request", detail=f"nested deeper than {MAX_DEPTH}")


def _refuse_unstorable(value: Any, path: tuple[str, ...]) -> None:
    """NUL and lone surrogates fit into JSON and into no database column."""
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            raise Unprocessable({".".join(path[1:]) or "base": ["is invalid"]})
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unstorable(key, path)
            _refuse_unstorable(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unstorable(item, (*path, str(index)))
