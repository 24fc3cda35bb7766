"""Check the contents of theme files, and convert text to UTF-8.

The REST API, the panel and archives have the same rules.
"""

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, NoReturn

from apps.content.domain.theme_archive import DEFAULT_LIMITS, TEXT_SUFFIXES, list_names
from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import Message, as_message, define_message, define_text

_TOO_LARGE = define_message("theme_files.too_large", "The file {key} is larger than {size}")
_NO_TEXT = define_message("theme_files.not_text", "The file {key} is not UTF-8 text")
_NO_JSON = define_message("theme_files.not_json", "The file {key} is not valid JSON: {problem}")
_NESTED = define_text("theme_files.nested", "it is nested too deeply")
_CONVERTED = define_message("theme_files.converted", "Converted from {encoding} to UTF-8 ({number}): {names}")
_MARK_REMOVED = define_message("theme_files.mark_removed", "Removed the byte order mark ({number}): {names}")

_COMMENT = re.compile(r"\s*/\*.*?\*/", re.DOTALL)
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# Text has none of these characters, but binary data usually has some.
_BINARY = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f]")


class ContentRefused(ValueError):
    """Raised when a theme file is too large, or its content does not fit its name."""


class Conversion(StrEnum):
    """A change that turns text into UTF-8 without a byte order mark."""

    MARK_REMOVED = "mark removed"
    FROM_UTF_16 = "UTF-16"
    FROM_WINDOWS_1252 = "Windows-1252"


class CheckedContent(NamedTuple):
    """The content of a theme file as it is stored, and how it was converted."""

    data: bytes
    conversion: Conversion | None = None


def describe_conversions(keys: Mapping[Conversion, Sequence[str]]) -> list[Message]:
    """Return a note for each kind of conversion, with the keys of the converted files."""
    notes: list[Message] = []
    for conversion, converted in sorted(keys.items()):
        number, names = len(converted), list_names(converted)
        if conversion is Conversion.MARK_REMOVED:
            notes.append(_MARK_REMOVED(number=number, names=names))
        else:
            notes.append(_CONVERTED(encoding=conversion.value, number=number, names=names))
    return notes


def is_text_file(key: str) -> bool:
    return key[key.rfind(".") :].lower() in TEXT_SUFFIXES if "." in key.rpartition("/")[2] else False


def check_content(key: str, data: bytes) -> CheckedContent:
    """Check the size of a theme file and the text or JSON that its file type requires. Convert text to UTF-8.

    Raises:
        ContentRefused: The file is too large, is not text, or is not valid JSON.
    """
    _check_size(key, data)
    if not is_text_file(key):
        return CheckedContent(data)
    text, conversion = _decode_text(key, data)
    converted = text.encode() if conversion else data
    _check_size(key, converted)
    if key.lower().endswith(".json"):
        _check_json(key, text)
    return CheckedContent(converted, conversion)


def _check_size(key: str, data: bytes) -> None:
    limit = DEFAULT_LIMITS.asset_bytes(key)
    if len(data) > limit:
        raise ContentRefused(_TOO_LARGE(key=key, size=format_bytes(limit)))


def _decode_text(key: str, data: bytes) -> tuple[str, Conversion | None]:
    mark, encoding = next(((mark, name) for mark, name in _MARKS.items() if data.startswith(mark)), (b"", "utf-8"))
    try:
        text = data.removeprefix(mark).decode(encoding)
    except UnicodeDecodeError:
        if mark:
            raise ContentRefused(_NO_TEXT(key=key)) from None
        return _decode_legacy_text(key, data), Conversion.FROM_WINDOWS_1252
    if not mark:
        return text, None
    return text, Conversion.MARK_REMOVED if encoding == "utf-8" else Conversion.FROM_UTF_16


def _decode_legacy_text(key: str, data: bytes) -> str:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise ContentRefused(_NO_TEXT(key=key)) from None
    if _BINARY.search(text):
        raise ContentRefused(_NO_TEXT(key=key))
    return text


def _check_json(key: str, text: str) -> None:
    comment = _COMMENT.match(text)
    try:
        # Skip parsing numbers, which can be very long. Reject NaN and Infinity, which Python accepts but JSON does not.
        json.loads(
            text[comment.end() :] if comment else text, parse_int=str, parse_float=str, parse_constant=_reject_constant
        )
    except (ValueError, RecursionError) as error:
        reason = _NESTED if isinstance(error, RecursionError) else as_message(str(error))
        raise ContentRefused(_NO_JSON(key=key, problem=reason)) from None


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
