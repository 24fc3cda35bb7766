"""The languages that people read: which there are, and which one a person, an order or a browser wants.

English is the source and needs no catalogue; every catalogue below ``locale/`` adds a language. The interface, tasks
and commands speak English unless they say ``speaking``.
"""

import re
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

from apps.ground.money import text_of

ENGLISH = "en"
# How dates are written; a language may write each of them in another way.
FORMATS = (
    pgettext_lazy("date format", "j M Y"),
    pgettext_lazy("date format", "j M Y, H:i"),
    pgettext_lazy("date format", "j M Y, H:i:s"),
    pgettext_lazy("date format", "j M"),
    pgettext_lazy("date format", "j M, H:i"),
    pgettext_lazy("date format", "j M, H:i:s"),
    pgettext_lazy("date format", "j F Y"),
    pgettext_lazy("date format", "l, j F"),
)
# How texts that are stored name an amount.
_STORED = re.compile(r"(-?\d+(?:\.\d+)?)( [A-Z]{3})?")


@lru_cache(maxsize=512)
def _spoken(wish: str) -> str:
    """The language that serves the wish (``de`` for ``de-AT``); empty where none does."""
    try:
        return translation.get_supported_language_variant(wish)
    except LookupError:
        return ""


def nearest(*wishes: str) -> str:
    """The language of the first wish that one serves, else English."""
    return next((code for wish in wishes if wish and (code := _spoken(wish.replace("_", "-").lower()[:20]))), ENGLISH)


def of_browser(accepted: str) -> str:
    """The language of a browser, by its ``Accept-Language``."""
    return nearest(*(code for code, _weight in parse_accept_lang_header(accepted[:500]) if code != "*"))


@contextmanager
def speaking(*wishes: str) -> Iterator[None]:
    """Within it, texts, numbers and dates are in the language of the first wish that one serves, else English."""
    with translation.override(nearest(*wishes)):
        yield


def dated(value: date, form: str) -> str:
    """A day or a moment in one of ``FORMATS``, as the language writes it; moments in the time zone that holds."""
    if isinstance(value, datetime) and timezone.is_aware(value):
        value = timezone.localtime(value)
    return date_format(value, pgettext("date format", form))


def amount(value: Decimal, currency: str) -> str:
    """An amount as people read it, in groups of three; the interface, files and fields have ``text_of``."""
    return str(number_format(text_of(value, currency), force_grouping=True))


def money(value: Decimal, currency: str) -> str:
    """An amount with its currency."""
    return f"{amount(value, currency)} {currency}"


def retold_amount(text: str) -> str:
    """An amount as texts store it (``48.00``, ``48.00 USD``), as people read it; what is none stays as it is."""
    found = _STORED.fullmatch(text)
    if found is None:
        return text
    return number_format(found[1], force_grouping=True) + (found[2] or "")


def retold_number(text: str) -> str:
    """The part of a text that is an amount.

    Raises:
        KeyError: It is none.
    """
    if not _STORED.fullmatch(text):
        raise KeyError(text)
    return retold_amount(text)


def lowered(text: str) -> str:
    """A name, such as that of a status, within a sentence: English writes it small, German writes nouns as they are."""
    return text.lower() if _is_english() else text


def count(number: int) -> str:
    """A whole number in groups of three."""
    return str(number_format(number, force_grouping=True))


def locale() -> Locale:
    """What is known of the language that is spoken: names of countries, currencies and languages."""
    return Locale.parse(translation.get_language() or ENGLISH, sep="-")


def _is_english() -> bool:
    """Whether English is spoken."""
    return (translation.get_language() or ENGLISH).startswith(ENGLISH)
