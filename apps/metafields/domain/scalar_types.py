"""Readers for scalar values: strings, numbers, URLs and JSON.

A reader validates a value and returns it without losing precision, or raises ``InvalidValue``.
"""

import json
import re
from decimal import Decimal
from typing import cast

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

from apps.core.i18n.error_messages import BLANK, INVALID, too_long
from apps.core.strict_json import InvalidJson, parse_json

MAX_LENGTH = 65_535
MAX_URL = 2048
# The maximum exponent of a number. Writing out all digits of a larger number could exhaust memory.
MAX_EXPONENT = 30
MAX_DIGITS = 13
MAX_DECIMALS = 9

_DECIMAL = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}(\.[0-9]{{1,{MAX_DECIMALS}}})?", re.ASCII)
# The part of a mailto, sms or tel URL after the colon, without spaces or characters that HTML treats as markup.
_PERSONAL = re.compile(r"(mailto|sms|tel):[^\s<>\"]{1,2000}", re.ASCII)
# Unlike Django, accept top-level domains of one letter, such as https://a.b.
_URL = cast("re.Pattern[str]", URLValidator.regex).pattern.replace("{2,63}", "{1,63}")
_is_url = URLValidator(schemes=["http", "https"], regex=re.compile(_URL, re.IGNORECASE))


class InvalidValue(ValueError):
    """Raised when a value does not fit its type. The message contains the reason."""


def dump_json(value: object) -> str:
    """Serialize a value to JSON. Numbers keep their exact digits."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{dump_json(key)}:{dump_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump_json, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def read_text(value: object, *, limit: int = MAX_LENGTH) -> str:
    """Read a string that the database can store. A number becomes a string with the same digits."""
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise InvalidValue("must be text")
    text = str(value)
    if not text:
        raise InvalidValue(BLANK)
    if len(text) > limit:
        raise InvalidValue(too_long(limit))
    if "\x00" in text:
        raise InvalidValue(INVALID)
    return text


def read_single_line(value: object, *, limit: int = MAX_LENGTH) -> str:
    text = read_text(value, limit=limit)
    if "\n" in text or "\r" in text:
        raise InvalidValue("must be a single line of text")
    return text


def read_decimal(value: object) -> str:
    """Read a decimal number and return it as a string with the same digits."""
    is_huge = isinstance(value, Decimal) and abs(value.adjusted()) > MAX_EXPONENT
    if is_huge or isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise InvalidValue("must be a number")
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    if not _DECIMAL.fullmatch(text):
        raise InvalidValue(f"must be a number of at most {MAX_DIGITS} digits and {MAX_DECIMALS} decimals")
    return text


def parse_json_text(text: str) -> object:
    """Parse JSON text. Reject characters that the database cannot store."""
    try:
        body = text.encode()
        if not body.strip():
            raise InvalidValue("must be valid JSON")
        return parse_json(body, limit=settings.API_BODY_LIMIT)
    except (UnicodeEncodeError, InvalidJson):
        raise InvalidValue("must be valid JSON") from None


def read_url(value: object) -> str:
    """Read a URL for a web page, an email, a phone call or a text message."""
    text = read_text(value, limit=MAX_URL)
    if _PERSONAL.fullmatch(text):
        return text
    try:
        _is_url(text)
    except ValidationError:
        raise InvalidValue("must be a URL that begins with http://, https://, mailto:, sms: or tel:") from None
    return text
