import pytest

from apps.core.i18n import formats
from apps.shops.domain.countries import (
    Country,
    Province,
    Region,
    UnknownCountry,
    complete_region,
    find_country,
    get_countries,
    get_localized_country_name,
    get_provinces,
    localize_country,
    localize_province,
)

CANADA = Country("CA", "Canada")


WORDS = {
    "CA": ("Canada", "canada", "CA", "can"),
    "KR": ("South Korea", "Korea, Republic of"),
    "CI": ("Cote d'Ivoire", "Côte d’Ivoire"),
    "DE": ("Germany",),
    "BA": ("Bosnia and Herzegovina",),
}


@pytest.mark.parametrize(("code", "word"), [(code, word) for code, words in WORDS.items() for word in words])
def test_a_country_is_found_by_any_of_its_words(code: str, word: str) -> None:
    country = find_country(word)

    assert country is not None
    assert country.code == code


@pytest.mark.parametrize(
    "values",
    [
        {"country": "Canada", "province": "Quebec"},
        {"country_code": "CA", "province_code": "QC"},
        {"country": "CA", "province": "québec"},
        {"country": "Nowhere", "country_code": "ca", "province": "QC"},
    ],
)
def test_a_region_is_completed_from_names_or_codes(values: dict[str, str]) -> None:
    assert complete_region(**values) == Region(CANADA, "Quebec", "QC")


def test_a_region_needs_no_known_province() -> None:
    assert complete_region(country="Canada", province="Middle Earth") == Region(CANADA, "Middle Earth", None)
    assert complete_region(country_code="CA") == Region(CANADA, None, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [({"country": "Atlantis"}, "is not valid"), ({}, "can't be blank"), ({"country": ""}, "can't be blank")],
)
def test_an_unknown_country_is_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownCountry) as error_info:
        complete_region(**values)

    assert error_info.value.errors == {"country": [message]}


def test_a_name_is_shown_in_the_shops_language_or_else_in_english() -> None:
    assert get_localized_country_name("DE", "de") == "Deutschland"
    assert get_localized_country_name("DE", "pt-BR") == "Alemanha"
    assert get_localized_country_name("DE", "no such language") == "Germany"


def test_pages_tell_countries_and_provinces_in_the_readers_language() -> None:
    with formats.language_override("de"):
        countries = [(None, "usa"), (None, "Middle-earth"), ("SE", "Sweden"), ("", None)]
        german = [localize_country(code, name) for code, name in countries]
        provinces = [("US", "California"), ("SE", "Mordor"), (None, "California")]
        german += [localize_province(code, name) for code, name in provinces]

    assert german == ["Vereinigte Staaten", "Middle-earth", "Schweden", "", "Kalifornien", "Mordor", "California"]
    assert (localize_country("SE"), localize_province("US", "California")) == ("Sweden", "California")


def test_every_country_has_a_name_and_its_provinces_have_codes() -> None:
    assert len(get_countries()) > 240
    assert all(len(country.code) == 2 and country.name != country.code for country in get_countries())
    assert Province("NY", "New York") in get_provinces("US")
    assert get_provinces("XX") == ()
