"""What values of metafields are made of: texts, numbers, addresses and JSON, each checked and kept without loss."""

import json
import re
from decimal import Decimal

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

from apps.ground.phrases import BLANK, INVALID, too_long
from apps.ground.strict_json import BadJson, parse_json

MAX_LENGTH = 65_535
MAX_URL = 2048
# Beyond it the digits of a number as text could fill the memory.
MAX_EXPONENT = 30
MAX_DIGITS = 13
MAX_DECIMALS = 9

_DECIMAL = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}(\.[0-9]{{1,{MAX_DECIMALS}}})?", re.ASCII)
# What follows the scheme of an address of a person: no blanks, and nothing that a page would take as markup.
_PERSONAL = re.compile(r"(mailto|sms|tel):[^\s<>\"]{1,2000}", re.ASCII)
_is_url = URLValidator(schemes=["http", "https"])


class Unfit(ValueError):
    """The value does not fit its type; the text says how."""


def dumped(value: object) -> str:
    """JSON without loss: numbers keep their digits, which no float would do."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{dumped(key)}:{dumped(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumped, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def read_text(value: object, *, limit: int = MAX_LENGTH) -> str:
    """A text that can be stored; numbers are taken as their digits.

    Raises:
        Unfit: It is none, or too long.
    """
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


def read_decimal(value: object) -> str:
    """The digits of a decimal number, as they were given.

    Raises:
        Unfit: It is none, or has too many.
    """
    if isinstance(value, Decimal) and abs(value.adjusted()) > MAX_EXPONENT:
        raise Unfit("must be a number")
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise Unfit("must be a number")
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    if not _DECIMAL.fullmatch(text):
        raise Unfit(f"must be a number of at most {MAX_DIGITS} digits and {MAX_DECIMALS} decimals")
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


def read_url(value: object) -> str:
    """The address of a page or a person.

    Raises:
        Unfit: It is none.
    """
    text = read_text(value, limit=MAX_URL)
    if _PERSONAL.fullmatch(text):
        return text
    try:
        _is_url(text)
    except ValidationError:
        raise Unfit("must be a URL that begins with http://, https://, mailto:, sms: or tel:") from None
    return text
