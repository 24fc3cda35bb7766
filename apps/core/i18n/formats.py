"""Choose the reader's language, and format dates, numbers and amounts in that language.

English is the source language and needs no catalog. Each catalog in ``locale/`` adds a language. The REST and
GraphQL API, tasks and commands use English unless they call ``language_override``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache

from babel import Locale
from django.utils import timezone, translation
from django.utils.formats import date_format, number_format
from django.utils.translation import pgettext, pgettext_lazy
from django.utils.translation.trans_real import parse_accept_lang_header

from apps.core.money import format_decimal

ENGLISH = "en"
# The date formats. Each translation can replace these formats.
DATE_FORMATS = (
    pgettext_lazy("date format", "j M Y"),
    pgettext_lazy("date format", "j M Y, H:i"),
    pgettext_lazy("date format", "j M Y, H:i:s"),
    pgettext_lazy("date format", "j M"),
    pgettext_lazy("date format", "j M, H:i"),
    pgettext_lazy("date format", "j M, H:i:s"),
    pgettext_lazy("date format", "j F Y"),
    pgettext_lazy("date format", "l, j F"),
)


@lru_cache(maxsize=512)
def _match_tag(tag: str) -> str:
    """Return the supported language for a language tag (``de`` for ``de-AT``), or an empty string."""
    try:
        return translation.get_supported_language_variant(tag)
    except LookupError:
        return ""


def match_language(*tags: str) -> str:
    """Return the language of the first supported language tag, otherwise English."""
    return next((code for tag in tags if tag and (code := _match_tag(tag.replace("_", "-").lower()[:20]))), ENGLISH)


def match_browser_language(accepted: str) -> str:
    return match_language(*(code for code, _weight in parse_accept_lang_header(accepted[:500]) if code != "*"))


@contextmanager
def language_override(*tags: str) -> Iterator[None]:
    with translation.override(match_language(*tags)):
        yield


def format_date(value: date, form: str) -> str:
    if isinstance(value, datetime) and timezone.is_aware(value):
        value = timezone.localtime(value)
    return date_format(value, pgettext("date format", form))


def format_amount(value: Decimal, currency: str) -> str:
    """Format an amount for people. For the REST API, files and form fields, use ``format_decimal``."""
    return str(number_format(format_decimal(value, currency), force_grouping=True))


def format_money(value: Decimal, currency: str) -> str:
    return f"{format_amount(value, currency)} {currency}"


def format_whole_money(value: int, currency: str) -> str:
    """Format a round amount of money, such as a value on an axis, without decimals."""
    return f"{format_integer(value)} {currency}"


def lowercase_label(text: str) -> str:
    """Lowercase a label, such as a status, for use within an English sentence, except abbreviations such as "URL".

    Other languages use the label unchanged.
    """
    if not _is_english():
        return text
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in text.split(" "))


def format_plain_number(number: str) -> str:
    return str(number_format(number, force_grouping=True))


def format_integer(number: int) -> str:
    return str(number_format(number, force_grouping=True))


def get_locale() -> Locale:
    """Return Babel's locale for the active language, which has the names of countries, currencies and languages."""
    return Locale.parse(translation.get_language() or ENGLISH, sep="-")


def _is_english() -> bool:
    return (translation.get_language() or ENGLISH).startswith(ENGLISH)
