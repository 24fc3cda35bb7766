"""Tax rates for an address: rates of countries and provinces, and how they are combined."""

from decimal import Decimal

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.domain.pricing.taxes import build_tax_lines
from apps.orders.models import Order
from apps.shops.domain import shop_countries
from apps.shops.domain.tax_rates import TaxRate, TaxRates, get_tax_rates
from apps.shops.models import ShopCountry, ShopProvince

pytestmark = pytest.mark.usefixtures("in_shop")

GST = TaxRate("GST", Decimal("0.05"))


def add_country(code: str, tax: str, **provinces: tuple[str, str | None]) -> ShopCountry:
    """Add a country with its tax rate, and set the rate and tax type of some provinces."""
    attrs = {"code": code, "tax": Decimal(tax)}
    country = shop_countries.create_country(attrs, actor="system", at=timezone.now())
    for province, (rate, tax_type) in provinces.items():
        rows = ShopProvince.objects.filter(country=country, code=province)
        assert rows.update(tax=Decimal(rate), tax_type=tax_type) == 1
    return country


def test_a_province_is_combined_with_its_country_by_its_tax_type() -> None:
    add_country(
        "CA",
        "0.05",
        BC=("0.07", "normal"),
        SK=("0.06", None),
        ON=("0.13", "harmonized"),
        NS=("0", "harmonized"),
        QC=("0.095", "compounded"),
    )

    rates = {code: get_tax_rates("CA", code).rates for code in ("BC", "SK", "ON", "NS", "QC", "AB", "XX", "")}

    assert rates == {
        "BC": (GST, TaxRate("PST", Decimal("0.07"))),
        "SK": (GST, TaxRate("PST", Decimal("0.06"))),
        "ON": (TaxRate("HST", Decimal("0.13")),),
        "NS": (),
        "QC": (GST, TaxRate("QST", Decimal("0.09975"))),
        "AB": (GST,),
        "XX": (GST,),
        "": (GST,),
    }


@pytest.mark.parametrize(
    ("included", "price", "prices"),
    [
        # 5% of 10.10 is 0.505. 9.5% of 10.605 is 1.007475.
        (False, "10.10", ["0.51", "1.01"]),
        (False, "100.00", ["5.00", "9.98"]),
        # 114.98 / 1.05 / 1.095 is 100.0043…
        (True, "114.98", ["5.00", "9.98"]),
        # 0.02 / 1.05 / 1.095 is 0.0173…, and 5% and 9.975% of it are less than half a cent.
        (True, "0.02", ["0.00", "0.00"]),
        (True, "1149.75", ["50.00", "99.75"]),
    ],
)
def test_a_compounded_rate_gives_the_tax_on_the_price_with_tax(included: bool, price: str, prices: list[str]) -> None:
    add_country("CA", "0.05", QC=("0.095", "compounded"))
    taxes = [{"title": tax.title, "rate": tax.rate, "price": None} for tax in get_tax_rates("CA", "QC").rates]

    lines = build_tax_lines(Order(currency="CAD", taxes_included=included), Decimal(price), taxes)

    assert [line["price"] for line in lines] == prices
    assert [line["rate"] for line in lines] == ["0.05", "0.09975"]


def test_compounded_rates_have_no_more_digits_than_a_stored_rate() -> None:
    add_country("CA", "0.0123456789012345", QC=("0.0123456789012345", "compounded"))

    rate = get_tax_rates("CA", "QC").rates[1].rate

    exact = Decimal("0.0123456789012345") * Decimal("1.0123456789012345")
    assert len(rate.as_tuple().digits) <= 16
    assert abs(rate - exact) < Decimal("1e-16")


def test_an_unlisted_country_has_the_rate_of_the_rest_of_the_world() -> None:
    add_country("DE", "0.19")
    vat = TaxRate("VAT", Decimal("0.19"))

    assert [get_tax_rates(code, "").rates for code in ("DE", "FR", "US", "ZZ", "", "*", "de")] == [(vat,), *[()] * 6]

    add_country("*", "0.02")
    rest = (TaxRate("VAT", Decimal("0.02")),)
    codes = ("DE", "FR", "US", "ZZ", "", "*")
    assert [get_tax_rates(code, "").rates for code in codes] == [(vat,), rest, (), (), (), ()]
    assert get_tax_rates("FR", "XX").rates == rest


def test_a_province_without_a_tax_name_has_the_name_of_the_country() -> None:
    country = add_country("CA", "0.05", BC=("0.07", "normal"))
    ShopProvince.objects.filter(country=country, code="BC").update(tax_name=None)

    assert get_tax_rates("CA", "BC").rates == (GST, TaxRate("GST", Decimal("0.07")))


def test_rates_and_shipping_are_those_of_the_current_shop(shop: Shop, other_shop: Shop) -> None:
    add_country("DE", "0.19")
    with shop_scope(other_shop):
        other_shop.shipping_taxed = True
        assert get_tax_rates("DE", "") == TaxRates((), shipping_taxed=True)
        add_country("DE", "0.07")
        assert get_tax_rates("DE", "").rates[0].rate == Decimal("0.07")

    own = get_tax_rates("DE", "")
    assert (own.rates[0].rate, own.shipping_taxed) == (Decimal("0.19"), False)
