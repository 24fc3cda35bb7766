"""The languages that people read: which there are, and which one a person, an order or a browser wants.

English is the source and needs no catalogue; every catalogue below ``locale/`` adds a language. The interface, tasks
and commands speak English unless they say ``speaking``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache

from babel import Locale
from django.utils import translation
from django.utils.formats import number_format
from django.utils.translation.trans_real import parse_accept_lang_header

from apps.ground.money import text_of

ENGLISH = "en"


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


def amount(value: Decimal, currency: str) -> str:
    """An amount as people read it; in English as the interface shows it."""
    text = text_of(value, currency)
    return text if _is_english() else number_format(text, force_grouping=True)


def money(value: Decimal, currency: str) -> str:
    """An amount with its currency."""
    return f"{amount(value, currency)} {currency}"


def count(number: int) -> str:
    """A whole number in groups of three."""
    return str(number_format(number, force_grouping=True))


def locale() -> Locale:
    """What is known of the language that is spoken: names of countries, currencies and languages."""
    return Locale.parse(translation.get_language() or ENGLISH, sep="-")


def _is_english() -> bool:
    """Whether English is spoken."""
    return (translation.get_language() or ENGLISH).startswith(ENGLISH)
