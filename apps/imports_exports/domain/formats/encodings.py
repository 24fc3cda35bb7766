"""Detect the character encoding of a CSV file. Spreadsheets also write other encodings than UTF-8.

A byte order mark identifies UTF-16. Any other file is UTF-8, unless it has more bytes that are not UTF-8 than
characters beyond ASCII. Such a file is read as Windows-1252. This is a guess, which staff confirm or correct.
"""

import codecs
import re

from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.imports_exports.models import Encoding

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# The surrogates that represent bytes that are not UTF-8.
_INVALID = re.compile(r"[\udc80-\udcff]")
_CODECS = {Encoding.UTF8: "utf-8-sig"}
# The encodings that users can choose if the detected encoding is a guess.
CHOICES = [(value, label) for value, label in Encoding.choices if value not in {Encoding.UTF8, Encoding.UTF16}]


class EncodingDetector:
    """Detects the encoding of a file that is passed in pieces."""

    def __init__(self) -> None:
        self._is_utf16 = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._valid = self._invalid = 0

    def feed(self, piece: bytes) -> None:
        """Examine the next piece of the file. Raise the same error as ``finish``."""
        if self._decoder is None:
            self._is_utf16 = piece.startswith(_UTF16_MARKS)
            name, errors = ("utf-16", "strict") if self._is_utf16 else ("utf-8", "surrogateescape")
            self._decoder = codecs.getincrementaldecoder(name)(errors)
        self._decode(piece)

    def finish(self) -> Encoding:
        """Return the encoding of the complete file.

        Raises:
            DomainError: If the file has the byte order mark of UTF-16, but is not UTF-16.
        """
        if self._decoder is not None:
            self._decode(b"", final=True)
        if self._is_utf16:
            return Encoding.UTF16
        return Encoding.WINDOWS_1252 if self._invalid > self._valid else Encoding.UTF8

    def _decode(self, piece: bytes, *, final: bool = False) -> None:
        assert self._decoder is not None
        try:
            text = self._decoder.decode(piece, final)
        except UnicodeDecodeError:
            message = _("is marked as UTF-16, but has other characters. Save it as CSV UTF-8 and upload it again")
            raise DomainError(message, field="file") from None
        if not self._is_utf16 and not text.isascii():
            invalid = len(_INVALID.findall(text))
            self._invalid += invalid
            self._valid += len(_NOT_ASCII.findall(text)) - invalid


def get_codec(encoding: str) -> str:
    """Return the name of Python's codec for an encoding. The codec for UTF-8 skips the byte order mark."""
    return _CODECS.get(Encoding(encoding), encoding)
