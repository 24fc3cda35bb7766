"""Standard tax rates of countries, as a start for the tax table of a shop.

The rates are those of ``STARTER_DATE``. They are facts from the laws of the countries and are not updated, so staff
must check them. Countries without a value-added tax, and countries with rates that depend on the product or city (such
as the sales taxes of the United States), are missing. Reduced rates are missing too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from django.db import transaction

from apps.shops.domain.shop_countries import ProvinceTax, create_country
from apps.shops.models import ShopCountry, ShopProvince

STARTER_DATE = date(2025, 8, 1)
_HARMONIZED, _NORMAL = ShopProvince.TaxType.HARMONIZED.value, ShopProvince.TaxType.NORMAL.value


@dataclass(frozen=True, slots=True)
class StarterRate:
    tax: Decimal
    provinces: Mapping[str, ProvinceTax] = field(default_factory=dict)


# Percentages. First the European Union, then other countries.
_PERCENTAGES = (
    "AT 20, BE 21, BG 20, CY 19, CZ 21, DE 19, DK 25, EE 24, ES 21, FI 25.5, FR 20, GR 24, HR 25, HU 27, IE 23, IT 22, "
    "LT 21, LU 17, LV 21, MT 18, NL 21, PL 23, PT 23, RO 21, SE 25, SI 22, SK 23, "
    "AE 5, AU 10, CA 5, CH 8.1, CL 19, CO 19, GB 20, IL 18, IS 24, JP 10, KR 10, LI 8.1, MX 16, NO 25, NZ 15, RS 20, "
    "SA 15, SG 9, TH 7, TR 20, TW 5, UA 20, ZA 15"
)
# The rates of provinces that differ from the rest of the country, with their tax types.
_PROVINCES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "CA": (
        ("ON 13, NB 15, NL 15, NS 14, PE 15", _HARMONIZED),
        ("BC 7, MB 7, SK 6, QC 9.975", _NORMAL),
    ),
    # The value-added tax does not apply to the Canary Islands, Ceuta and Melilla.
    "ES": (("GC 0, TF 0, CE 0, ML 0", _HARMONIZED),),
    "PT": (("PT-20 16, PT-30 22", _HARMONIZED),),
}


def _parse_percentages(text: str) -> dict[str, Decimal]:
    pairs = (pair.split() for pair in text.split(","))
    return {code: Decimal(percentage) / 100 for code, percentage in pairs}


def _parse_provinces(country_code: str) -> dict[str, ProvinceTax]:
    return {
        code: ProvinceTax(tax, tax_type)
        for text, tax_type in _PROVINCES.get(country_code, ())
        for code, tax in _parse_percentages(text).items()
    }


STARTER_RATES: Mapping[str, StarterRate] = {
    code: StarterRate(tax, _parse_provinces(code)) for code, tax in _parse_percentages(_PERCENTAGES).items()
}


def get_missing_starter_codes() -> list[str]:
    """Return the countries with a starter rate that the current shop does not list."""
    listed = set(ShopCountry.objects.values_list("code", flat=True))
    return [code for code in STARTER_RATES if code not in listed]


def create_country_with_starter_rate(code: str, *, actor: str, at: datetime) -> ShopCountry:
    """Add a country to the current shop, with its starter rates if there are some.

    Raises:
        UnknownCode: No country has this code.
    """
    starter = STARTER_RATES.get(code, StarterRate(Decimal(0)))
    return create_country({"code": code, "tax": starter.tax}, province_taxes=starter.provinces, actor=actor, at=at)


@transaction.atomic
def add_starter_rates(codes: list[str], *, actor: str, at: datetime) -> list[ShopCountry]:
    """Add those of the countries that have a starter rate and that the current shop does not list."""
    return [
        create_country_with_starter_rate(code, actor=actor, at=at)
        for code in get_missing_starter_codes()
        if code in codes
    ]
