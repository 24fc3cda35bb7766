"""Countries and provinces: lookup by name or code, and localized names.

Names are English, as in the API. Codes of countries follow ISO 3166-1. Existing clients know the names and codes
of provinces in ``region_data/regions.json``. The names and codes of ISO 3166-2 are aliases. Lookups ignore
case, accents and punctuation.
"""

import gettext as catalogs
import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import orjson
from babel import Locale, UnknownLocaleError
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext

from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.i18n.error_messages import BLANK
from apps.core.types import ReadOnlyAttrs

# pycountry takes 0.1 seconds to load, so functions import it when they need it.

_ENGLISH = Locale("en")
_REGIONS = Path(__file__).with_name("region_data") / "regions.json"


class UnknownCountry(DomainError):
    field = "country"


@dataclass(frozen=True, slots=True)
class Country:
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Province:
    """A subdivision of a country with its name and the code that clients know (``NY``, ``JP-13``)."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Region:
    country: Country
    province: str | None
    province_code: str | None


@cache
def load_regions() -> dict[str, dict[str, Any]]:
    """Return the countries by code, each with ``name`` and optionally ``aliases``, ``format`` and ``zones``.

    A zone has ``code``, ``name`` and optionally ``aliases`` and ``iso``, the ISO codes if they differ from the code.
    """
    regions: dict[str, dict[str, Any]] = orjson.loads(_REGIONS.read_bytes())
    return regions


@cache
def get_countries() -> tuple[Country, ...]:
    all_countries = (Country(code, row["name"]) for code, row in load_regions().items())
    return tuple(sorted(all_countries, key=lambda country: _normalize(country.name)))


def get_country_choices() -> tuple[tuple[str, str], ...]:
    return _get_country_choices(str(formats.get_locale()))


@lru_cache(maxsize=64)
def _get_country_choices(language: str) -> tuple[tuple[str, str], ...]:
    choices = ((code, get_localized_country_name(code, language)) for code in load_regions())
    return tuple(sorted(choices, key=lambda choice: _normalize(choice[1])))


def get_country_name(code: str) -> str:
    row = load_regions().get(code)
    return row["name"] if row else str(_ENGLISH.territories.get(code, code))


@lru_cache(maxsize=4096)
def get_localized_country_name(code: str, language: str) -> str:
    """Return a country's name in a language such as ``de`` or ``pt-BR``. The fallback is the English name."""
    try:
        locale = Locale.parse(language.replace("_", "-"), sep="-")
    except (UnknownLocaleError, ValueError):
        locale = _ENGLISH
    name = get_country_name(code)
    return name if locale.language == "en" else str(locale.territories.get(code) or name)


def localize_country(code: str | None, name: str | None = "") -> str:
    """Return a country's name in the current language. An unknown code or name is returned unchanged."""
    known_code = code or (country.code if name and (country := find_country(name)) else "")
    return get_localized_country_name(known_code, str(formats.get_locale())) if known_code else name or ""


def localize_province(country_code: str | None, name: str | None) -> str:
    """Return a province's name in the current language. An unknown province is returned unchanged."""
    province = find_province(country_code, name) if country_code and name else None
    if province is None or country_code is None:
        return name or ""
    catalog = _get_province_translations(str(formats.get_locale()))
    names = (province.name, *_get_iso_names(country_code).get(province, ()))
    translations = ((word, catalog.gettext(word)) for word in names)
    return next((translated for word, translated in translations if translated != word), province.name)


@cache
def _get_province_translations(language: str) -> catalogs.NullTranslations:
    if language.partition("_")[0] == "en":
        return catalogs.NullTranslations()
    import pycountry

    return catalogs.translation("iso3166-2", pycountry.LOCALES_DIR, languages=[language], fallback=True)


def find_country(text: str) -> Country | None:
    """Return the country with this name, two-letter code or three-letter code.

    The name may be English or in any language of the panel.
    """
    word = _normalize(text)
    indexes = (_index_countries, _index_iso_countries, _index_localized_countries)
    return next((match for index in indexes if (match := index().get(word))), None)


def get_country_code(address: ReadOnlyAttrs | None) -> str:
    """Return the country code of an address, or a blank text if the country is missing or unknown."""
    words = ((address or {}).get(name) for name in ("country_code", "country"))
    return next((match.code for word in words if isinstance(word, str) and (match := find_country(word))), "")


@cache
def get_provinces(country_code: str) -> tuple[Province, ...]:
    """Return the provinces of a country sorted by name.

    If clients know no provinces of the country, they are the subdivisions of ISO 3166-2, usually the first level.
    """
    zones = load_regions().get(country_code, {}).get("zones")
    if zones:
        provinces = [Province(zone["code"], zone["name"]) for zone in zones]
    else:
        provinces = [Province(code, name) for code, name, *_other_names in _get_iso_subdivisions(country_code)]
    return tuple(sorted(provinces, key=lambda province: _normalize(province.name)))


def get_zones(country_code: str) -> tuple[Province, ...]:
    """Return the provinces that clients know, sorted by name. Countries without such provinces have none."""
    return get_provinces(country_code) if load_regions().get(country_code, {}).get("zones") else ()


def find_province(country_code: str, text: str) -> Province | None:
    """Return the province with this name or code, also with the country as prefix (``US-NY``).

    The name may be English or in any language of the panel.
    """
    word = _normalize(text)
    words = (word, word.removeprefix(f"{country_code.lower()} "))
    indexes = (_index_provinces, _index_iso_provinces, _index_localized_provinces)
    return next((match for index in indexes for word in words if (match := index(country_code).get(word))), None)


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
        aliases = load_regions()[country.code].get("aliases", ())
        by_word |= {_normalize(word): country for word in (*aliases, country.name)}
    return by_word | {country.code.lower(): country for country in get_countries()}


@cache
def _index_iso_countries() -> dict[str, Country]:
    import pycountry

    by_word: dict[str, Country] = {}
    for row in pycountry.countries:
        words = (getattr(row, name, None) for name in ("name", "common_name", "official_name", "alpha_3"))
        country = Country(row.alpha_2, get_country_name(row.alpha_2))
        by_word |= {_normalize(word): country for word in (_ENGLISH.territories.get(row.alpha_2), *words) if word}
    return by_word


@cache
def _index_provinces(country_code: str) -> dict[str, Province]:
    by_alias: dict[str, Province] = {}
    for zone in load_regions().get(country_code, {}).get("zones", ()):
        words = (*zone.get("aliases", ()), *zone.get("iso", ()))
        by_alias |= {_normalize(word): Province(zone["code"], zone["name"]) for word in words}
    provinces = get_provinces(country_code)
    by_name = {_normalize(province.name): province for province in provinces}
    # Codes take precedence over two-letter names.
    return by_alias | by_name | {_normalize(province.code): province for province in provinces}


@cache
def _index_iso_provinces(country_code: str) -> dict[str, Province]:
    """Return the provinces by the names and codes of ISO 3166-2. Subdivisions that are no zone are provinces too."""
    zones = _index_iso_zones(country_code)
    by_code = {
        code: zones.get(code) or Province(code, names[0]) for code, *names in _get_iso_subdivisions(country_code)
    }
    by_name = {
        _normalize(name): by_code[code] for code, *names in _get_iso_subdivisions(country_code) for name in names
    }
    return by_name | {_normalize(code): province for code, province in by_code.items()}


@cache
def _index_iso_zones(country_code: str) -> dict[str, Province]:
    zones = load_regions().get(country_code, {}).get("zones", ())
    return {
        code: Province(zone["code"], zone["name"])
        for zone in zones
        for code in zone.get("iso", [zone["code"].removeprefix(f"{country_code}-")])
    }


@cache
def _get_iso_names(country_code: str) -> dict[Province, list[str]]:
    """Return the ISO names of the zones of a country. These names have translations."""
    names: dict[Province, list[str]] = {}
    zones = _index_iso_zones(country_code)
    for code, name, *_other_names in _get_iso_subdivisions(country_code) if zones else ():
        if zone := zones.get(code):
            names.setdefault(zone, []).append(name)
    return names


@cache
def _get_iso_subdivisions(country_code: str) -> list[tuple[str, ...]]:
    """Return the code, the name and the other names of each subdivision. ISO writes other names in brackets."""
    import pycountry

    rows: Any = pycountry.subdivisions
    subdivisions = rows.get(country_code=country_code) or ()
    names = ((row.code.partition("-")[2], re.split(r"[\[\]]", row.name)) for row in subdivisions)
    return [(code, *(part.strip() for part in parts if part.strip())) for code, parts in names]


@cache
def _index_localized_countries() -> dict[str, Country]:
    """Return the countries by their short, common and official names in the languages of the panel."""
    import pycountry

    by_word: dict[str, Country] = {}
    for language, _name in settings.LANGUAGES:
        catalog = catalogs.translation("iso3166-1", pycountry.LOCALES_DIR, languages=[language], fallback=True)
        for country in get_countries():
            row = pycountry.countries.get(alpha_2=country.code)
            names = (getattr(row, name, None) for name in ("name", "common_name", "official_name"))
            words = [
                get_localized_country_name(country.code, language),
                *(catalog.gettext(name) for name in names if name),
            ]
            for word in words:
                by_word.setdefault(_normalize(word), country)
    return by_word


@cache
def _index_localized_provinces(country_code: str) -> dict[str, Province]:
    by_word: dict[str, Province] = {}
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            for province in get_provinces(country_code):
                by_word.setdefault(_normalize(localize_province(country_code, province.name)), province)
    return by_word
