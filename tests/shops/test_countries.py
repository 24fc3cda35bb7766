import pycountry
import pytest

from apps.core.i18n import formats
from apps.shops.domain.address_formats import format_address
from apps.shops.domain.countries import (
    Country,
    Province,
    Region,
    UnknownCountry,
    complete_region,
    find_country,
    find_province,
    get_countries,
    get_country_name,
    get_localized_country_name,
    get_provinces,
    load_regions,
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
    "TR": ("Turkey", "Türkiye", "TUR", "Republic of Türkiye"),
    "HK": ("Hong Kong SAR", "Hong Kong", "Hong Kong SAR China"),
    "MO": ("Macao SAR", "Macao", "Macau"),
    "XK": ("Kosovo", "XK"),
    "CZ": ("Czech Republic", "Czechia"),
    "MK": ("Macedonia", "North Macedonia"),
    "SZ": ("Swaziland", "Eswatini"),
    "US": ("USA", "United States of America", "U.S."),
    "GB": ("UK", "Great Britain", "United Kingdom of Great Britain and Northern Ireland"),
    "RU": ("Russia", "Russian Federation"),
    "AN": ("Netherlands Antilles",),
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


PROVINCES = {
    ("AE", "DU", "Dubai"): ("Dubayy", "AE-DU", "dubai"),
    ("CN", "BJ", "Beijing"): ("Beijing Shi",),
    ("CN", "YZ", "Tibet"): ("XZ", "Xizang"),
    ("EG", "C", "Cairo"): ("Al Qāhirah",),
    ("ES", "B", "Barcelona"): ("ES-B",),
    ("ES", "GI", "Girona"): ("Gerona",),
    ("IT", "RM", "Rome"): ("Roma",),
    ("JP", "JP-13", "Tokyo"): ("13", "Tōkyō", "東京都"),
    ("KR", "KR-11", "Seoul"): ("11",),
    ("KW", "KW-KU", "Al Asimah"): ("KU",),
    ("MX", "DF", "Ciudad de México"): ("CMX", "CDMX", "Mexico City"),
    ("MX", "MEX", "Mexico State"): ("México", "Estado de México"),
    ("MX", "NL", "Nuevo León"): ("NLE", "MX-NLE", "Nuevo Leon"),
    ("MY", "KUL", "Kuala Lumpur"): ("14",),
    ("PE", "PE-LIM", "Lima Region"): ("LIM",),
    ("PT", "PT-11", "Lisbon"): ("11", "Lisboa"),
    ("RU", "MOW", "Moscow"): ("Moskva",),
    ("TH", "TH-10", "Bangkok"): ("10", "Krung Thep Maha Nakhon"),
    ("US", "AE", "Armed Forces Europe"): (),
    ("US", "DC", "Washington DC"): ("District of Columbia",),
    ("US", "NY", "New York"): ("US-NY",),
    ("US", "WA", "Washington"): (),
    ("UY", "UY-MO", "Montevideo"): ("MO",),
    ("ZA", "GT", "Gauteng"): ("GP",),
    ("ZA", "NL", "KwaZulu-Natal"): ("KZN",),
}


@pytest.mark.parametrize(("country", "code", "name"), PROVINCES)
def test_provinces_have_known_codes_and_are_found_by_iso_words(country: str, code: str, name: str) -> None:
    expected = Region(Country(country, get_country_name(country)), name, code)

    for word in (code, name, *PROVINCES[country, code, name]):
        assert complete_region(country_code=country, province=word) == expected, word
        assert complete_region(country_code=country, province_code=word) == expected, word


def test_all_zones_and_iso_subdivisions_are_found_by_name_and_code() -> None:
    zones = [(country, zone) for country, row in load_regions().items() for zone in row.get("zones", ())]
    rows = [(country, zone["code"], zone["name"]) for country, zone in zones]
    subdivisions = [(row.country_code, row.code, row.name.partition("[")[0]) for row in pycountry.subdivisions]

    assert len(rows) == 1128
    for country, code, name in rows:
        assert find_province(country, code) == find_province(country, name) == Province(code, name)
    assert [row for row in subdivisions if not (find_province(row[0], row[1]) and find_province(row[0], row[2]))] == []


def test_every_country_of_iso_is_found_by_its_names() -> None:
    names = ("alpha_2", "alpha_3", "name", "common_name", "official_name")
    for row in pycountry.countries:
        found = {find_country(word) for name in names if (word := getattr(row, name, None))}
        assert found == {Country(row.alpha_2, get_country_name(row.alpha_2))}


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


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Deutschland", "DE"),
        ("österreich", "AT"),
        ("Oesterreich", None),
        ("Vereinigte Staaten von Amerika", "US"),
        ("Tschechien", "CZ"),
        ("Bundesrepublik Deutschland", "DE"),
    ],
)
def test_countries_are_found_by_their_names_in_the_languages_of_the_panel(text: str, code: str | None) -> None:
    country = find_country(text)

    assert (country.code if country else None) == code


def test_provinces_are_found_by_their_names_in_the_languages_of_the_panel() -> None:
    province = find_province("US", "Kalifornien")

    assert province is not None
    assert (province.code, province.name) == ("CA", "California")


@pytest.mark.parametrize(
    ("region", "lines"),
    [
        (("US", "New York"), ["Ada Lovelace", "1 Mill Lane", "Town New York 12345", "United States"]),
        (("DE", ""), ["Ada Lovelace", "1 Mill Lane", "12345 Town", "Germany"]),
        (("GB", "England"), ["Ada Lovelace", "1 Mill Lane", "Town", "12345", "United Kingdom"]),
        (("JP", "JP-13"), ["Japan 〒12345", "Tokyo Town", "1 Mill Lane", "Lovelace Ada様"]),
        (("UY", ""), ["Ada Lovelace", "1 Mill Lane", "12345 Town", "Uruguay"]),
        (("", "Somewhere"), ["Ada Lovelace", "1 Mill Lane", "12345 Town", "Somewhere"]),
    ],
)
def test_address_is_formatted_as_usual_in_its_country(region: tuple[str, str], lines: list[str]) -> None:
    address = {"first_name": "Ada", "last_name": "Lovelace", "address1": "1 Mill Lane", "city": "Town", "zip": "12345"}

    assert format_address({**address, "country_code": region[0], "province": region[1]}) == lines


def test_parts_without_a_value_leave_no_marks_in_the_address() -> None:
    assert format_address({"country": "Japan", "city": "Town"}) == ["Japan", "Town"]
    assert format_address({"country_code": "UY", "province": "Montevideo"}) == ["Montevideo", "Uruguay"]
    assert format_address({}) == []


def test_every_address_format_can_be_filled() -> None:
    names = ("company", "address1", "address2", "city", "zip", "province", "phone")
    for code in load_regions():
        lines = format_address({name: f"<{name}>" for name in names} | {"country_code": code, "first_name": "<f>"})
        text = " ".join(lines)
        assert "{" not in text
        assert all(f"<{name}>" in text for name in ("f", "company", "address1", "address2", "city", "phone")), code
