"""Tax rates for a delivery address, from the countries and provinces of the shop.

The tax type of a province says how its rate is combined with the rate of its country. All rates of the result apply to
the same net price, as in the tax lines of an order:

* Normal, or no type: both rates apply to the net price.
* Harmonized: the rate of the province applies instead of the rate of the country, also if it is 0.
* Compounded: the rate of the province applies to the net price with the country's tax. The result has the rate that
  this makes of the net price: with 5% and 9.5%, the province's rate is 9.5% of 1.05, which is 9.975%.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal

from apps.core.tenancy.scope import get_current_shop
from apps.shops.domain.countries import load_regions
from apps.shops.domain.shop_countries import REST_OF_WORLD
from apps.shops.models import ShopCountry, ShopProvince
from apps.shops.models.countries import RATE_DECIMALS

# A product of two rates has twice as many digits as can be stored.
_PRECISION = Context(prec=RATE_DECIMALS)


@dataclass(frozen=True, slots=True)
class TaxRate:
    """A tax of an address. ``rate`` is a share of the net price, such as 0.19."""

    title: str
    rate: Decimal


@dataclass(frozen=True, slots=True)
class TaxRates:
    rates: tuple[TaxRate, ...]
    shipping_taxed: bool


def get_tax_rates(country_code: str, province_code: str) -> TaxRates:
    """Return the tax rates of the current shop for an address. Taxes of 0% are left out.

    A country that the shop does not list has the rate of the rest of the world, if the shop has one. An unknown country
    has no rates, and an unknown province has the rates of its country.
    """
    shipping_taxed = get_current_shop().shipping_taxed
    codes = [country_code, REST_OF_WORLD] if country_code in load_regions() else []
    countries = {row.code: row for row in ShopCountry.objects.filter(code__in=codes)} if codes else {}
    country = countries.get(country_code) or countries.get(REST_OF_WORLD)
    if country is None:
        return TaxRates((), shipping_taxed)
    provinces = ShopProvince.objects.filter(country=country, code=province_code) if province_code else ()
    rates = combine_rates(country, next(iter(provinces), None))
    return TaxRates(rates, shipping_taxed)


def combine_rates(country: ShopCountry, province: ShopProvince | None) -> tuple[TaxRate, ...]:
    """Return the taxes of a country and one of its provinces, without taxes of 0%."""
    return tuple(tax for tax in _iterate_rates(country, province) if tax.rate)


def _iterate_rates(country: ShopCountry, province: ShopProvince | None) -> Iterator[TaxRate]:
    types = ShopProvince.TaxType
    if province is None or province.tax_type != types.HARMONIZED:
        yield TaxRate(country.tax_name, country.tax.normalize())
    if province is not None:
        rate = province.tax
        if province.tax_type == types.COMPOUNDED:
            rate = _PRECISION.multiply(rate, 1 + country.tax)
        yield TaxRate(province.tax_name or country.tax_name, rate.normalize())
