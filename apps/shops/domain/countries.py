"""Countries and provinces: lookup by name or code, and localized names.

Names are English, as in the API. Codes follow ISO 3166. Lookups ignore case, accents and punctuation.
"""

import gettext as catalogs
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import pycountry
from babel import Locale, UnknownLocaleError
from django.utils.translation import gettext

from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.i18n.error_messages import BLANK

_ENGLISH = Locale("en")


class UnknownCountry(DomainError):
    field = "country"


@dataclass(frozen=True, slots=True)
class Country:
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Province:
    """A subdivision of a country with its name and its code within the country (``NY``, not ``US-NY``)."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Region:
    country: Country
    province: str | None
    province_code: str | None


@cache
def get_countries() -> tuple[Country, ...]:
    all_countries = (Country(row.alpha_2, get_country_name(row.alpha_2)) for row in pycountry.countries)
    return tuple(sorted(all_countries, key=lambda country: _normalize(country.name)))


def get_country_choices() -> tuple[tuple[str, str], ...]:
    return _get_country_choices(str(formats.get_locale()))


@lru_cache(maxsize=64)
def _get_country_choices(language: str) -> tuple[tuple[str, str], ...]:
    choices = ((row.alpha_2, get_localized_country_name(row.alpha_2, language)) for row in pycountry.countries)
    return tuple(sorted(choices, key=lambda choice: _normalize(choice[1])))


def get_country_name(code: str) -> str:
    return str(_ENGLISH.territories.get(code, code))


@lru_cache(maxsize=4096)
def get_localized_country_name(code: str, language: str) -> str:
    """Return a country's name in a language such as ``de`` or ``pt-BR``. The fallback is the English name."""
    try:
        locale = Locale.parse(language.replace("_", "-"), sep="-")
    except (UnknownLocaleError, ValueError):
        locale = _ENGLISH
    return str(locale.territories.get(code, get_country_name(code)))


def localize_country(code: str | None, name: str | None = "") -> str:
    """Return a country's name in the current language. An unknown code or name is returned unchanged."""
    known_code = code or (country.code if name and (country := find_country(name)) else "")
    return get_localized_country_name(known_code, str(formats.get_locale())) if known_code else name or ""


def localize_province(country_code: str | None, name: str | None) -> str:
    """Return a province's name in the current language. An unknown province is returned unchanged."""
    province = find_province(country_code, name) if country_code and name else None
    return _get_province_translations(str(formats.get_locale())).gettext(province.name) if province else name or ""


@cache
def _get_province_translations(language: str) -> catalogs.NullTranslations:
    return catalogs.translation("iso3166-2", pycountry.LOCALES_DIR, languages=[language], fallback=True)


def find_country(text: str) -> Country | None:
    """Return the country with this name, two-letter code or three-letter code."""
    return _index_countries().get(_normalize(text))


@cache
def get_provinces(country_code: str) -> tuple[Province, ...]:
    """Return the provinces of a country, usually only the first level of subdivisions, sorted by name."""
    subdivisions: Any = pycountry.subdivisions
    rows: Iterable[Any] = subdivisions.get(country_code=country_code) or ()
    all_provinces = (Province(row.code.partition("-")[2], re.sub(r"\s*\[.*\]", "", row.name)) for row in rows)
    return tuple(sorted(all_provinces, key=lambda province: _normalize(province.name)))


def find_province(country_code: str, text: str) -> Province | None:
    return _index_provinces(country_code).get(_normalize(text))


def complete_region(
    *,
    country: str | None = None,
    country_code: str | None = None,
    province: str | None = None,
    province_code: str | None = None,
) -> Region:
    """Complete the country and province of an address: names from codes, and codes from names.

    A code takes precedence over a name. An unknown province is returned unchanged.

    Raises:
        UnknownCountry: The country is missing or unknown.
    """
    matched_country = next((match for word in (country_code, country) if word and (match := find_country(word))), None)
    if matched_country is None:
        raise UnknownCountry(gettext("is not valid") if country or country_code else BLANK)
    for word in (province_code, province):
        if word and (matched_province := find_province(matched_country.code, word)):
            return Region(matched_country, matched_province.name, matched_province.code)
    return Region(matched_country, province or province_code or None, None)


def _normalize(text: str) -> str:
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return " ".join(re.findall(r"\w+", plain.casefold().replace("&", " and ")))


@cache
def _index_countries() -> dict[str, Country]:
    by_word: dict[str, Country] = {}
    for country in get_countries():
        row = pycountry.countries.get(alpha_2=country.code)
        words = (getattr(row, name, None) for name in ("name", "common_name", "official_name", "alpha_3", "alpha_2"))
        for word in (country.name, *words):
            if word:
                by_word[_normalize(word)] = country
    return by_word


@cache
def _index_provinces(country_code: str) -> dict[str, Province]:
    by_name = {_normalize(province.name): province for province in get_provinces(country_code)}
    # Codes take precedence over two-letter names.
    return by_name | {_normalize(province.code): province for province in get_provinces(country_code)}
