"""Countries and their provinces: completed from whatever an address gives of them.

Names are English, as the interface writes them; codes are those of ISO 3166. Names are found ignoring case, accents and
punctuation. Pages tell them in the reader's language.
"""

import gettext as catalogues
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import pycountry
from babel import Locale, UnknownLocaleError
from django.utils.translation import gettext

from apps.ground import languages
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK

_ENGLISH = Locale("en")


class UnknownCountry(DomainError):
    """No country has the name or code."""

    code = "unknown_country"
    field = "country"


@dataclass(frozen=True, slots=True)
class Country:
    """A country: its ISO 3166-1 code of two letters and its English name."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Province:
    """A part of a country: its code within it (``NY``, not ``US-NY``) and its name."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Region:
    """Where an address lies: a country, and the province as far as one is given."""

    country: Country
    province: str | None
    province_code: str | None


@cache
def countries() -> tuple[Country, ...]:
    """Every country, by name."""
    found = (Country(row.alpha_2, country_name(row.alpha_2)) for row in pycountry.countries)
    return tuple(sorted(found, key=lambda country: _folded(country.name)))


def country_choices() -> list[tuple[str, str]]:
    """Every country's code and name, in the reader's language and by its name."""
    language = str(languages.locale())
    found = ((row.alpha_2, localized_country_name(row.alpha_2, language)) for row in pycountry.countries)
    return sorted(found, key=lambda choice: _folded(choice[1]))


def country_name(code: str) -> str:
    """The English name of a country; the code itself where there is none."""
    return str(_ENGLISH.territories.get(code, code))


@lru_cache(maxsize=4096)
def localized_country_name(code: str, language: str) -> str:
    """A country's name in a language such as ``de`` or ``pt-BR``; the English one where that is not known."""
    try:
        locale = Locale.parse(language.replace("_", "-"), sep="-")
    except (UnknownLocaleError, ValueError):
        locale = _ENGLISH
    return str(locale.territories.get(code, country_name(code)))


def told_country(code: str | None, name: str | None = "") -> str:
    """A country in the reader's language, by its code or else its name; as it is written where neither is known."""
    known = code or (found.code if name and (found := find_country(name)) else "")
    return localized_country_name(known, str(languages.locale())) if known else name or ""


def told_province(country_code: str | None, name: str | None) -> str:
    """A province in the reader's language; as it is written where the country's list does not have it."""
    found = find_province(country_code, name) if country_code and name else None
    return _names_of_provinces(str(languages.locale())).gettext(found.name) if found else name or ""


@cache
def _names_of_provinces(language: str) -> catalogues.NullTranslations:
    return catalogues.translation("iso3166-2", pycountry.LOCALES_DIR, languages=[language], fallback=True)


def find_country(text: str) -> Country | None:
    """The country with this name or code of two or three letters; None where there is none."""
    return _countries_by_word().get(_folded(text))


@cache
def provinces(country_code: str) -> tuple[Province, ...]:
    """The parts of a country, by name; for most countries the first level only."""
    subdivisions: Any = pycountry.subdivisions
    rows: Iterable[Any] = subdivisions.get(country_code=country_code) or ()
    found = (Province(row.code.partition("-")[2], re.sub(r"\s*\[.*\]", "", row.name)) for row in rows)
    return tuple(sorted(found, key=lambda province: _folded(province.name)))


def find_province(country_code: str, text: str) -> Province | None:
    """The province of a country with this name or code; None where there is none."""
    return _provinces_by_word(country_code).get(_folded(text))


def complete(
    *,
    country: str | None = None,
    country_code: str | None = None,
    province: str | None = None,
    province_code: str | None = None,
) -> Region:
    """Complete names from codes and codes from names.

    A code counts more than a name. A province that the country's list does not have is kept as it was written.

    Raises:
        UnknownCountry: Neither word names a country, or both are missing.
    """
    named = next((found for word in (country_code, country) if word and (found := find_country(word))), None)
    if named is None:
        raise UnknownCountry(gettext("is not valid") if country or country_code else BLANK)
    for word in (province_code, province):
        if word and (part := find_province(named.code, word)):
            return Region(named, part.name, part.code)
    return Region(named, province or province_code or None, None)


def _folded(text: str) -> str:
    """A word without case, accents and punctuation."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return " ".join(re.findall(r"\w+", plain.casefold().replace("&", " and ")))


@cache
def _countries_by_word() -> dict[str, Country]:
    found: dict[str, Country] = {}
    for country in countries():
        row = pycountry.countries.get(alpha_2=country.code)
        words = (getattr(row, name, None) for name in ("name", "common_name", "official_name", "alpha_3", "alpha_2"))
        for word in (country.name, *words):
            if word:
                found[_folded(word)] = country
    return found


@cache
def _provinces_by_word(country_code: str) -> dict[str, Province]:
    by_name = {_folded(province.name): province for province in provinces(country_code)}
    # Two-letter words are codes first.
    return by_name | {_folded(province.code): province for province in provinces(country_code)}
