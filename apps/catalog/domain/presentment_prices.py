"""Variant prices in presentment currencies. A price is either fixed or converted from the shop currency."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypedDict

from apps.catalog.models import Variant
from apps.core.money import format_decimal
from apps.core.tenancy.models import Shop
from apps.core.tenancy.presentment import Presentment, find_presentment


class FixedPrice(TypedDict):
    """A stored fixed price in a presentment currency. Amounts are strings, so that the decimals are exact."""

    price: str
    compare_at_price: str | None


# The changed fixed prices, keyed by currency. None removes a fixed price.
FixedPriceChanges = Mapping[str, FixedPrice | None]
PricePair = tuple[Decimal, Decimal | None]


def merge_fixed_prices(
    current: Mapping[str, FixedPrice] | None, changes: FixedPriceChanges
) -> dict[str, FixedPrice] | None:
    """Merge changes into the fixed prices of a variant. Return None if no fixed price remains."""
    result = {currency: price for currency, price in {**(current or {}), **changes}.items() if price is not None}
    return {currency: result[currency] for currency in sorted(result)} or None


def build_fixed_price(price: Decimal, compare_at: Decimal | None, currency: str) -> FixedPrice:
    """Return a fixed price in its stored form."""
    return {
        "price": format_decimal(price, currency),
        "compare_at_price": None if compare_at is None else format_decimal(compare_at, currency),
    }


def get_prices_in_currency(
    presentment: Presentment, price: Decimal, compare_at: Decimal | None, fixed_prices: Mapping[str, FixedPrice] | None
) -> PricePair | None:
    """Return price and compare-at price in a currency, or None if neither a fixed price nor an exchange rate exists."""
    fixed_price = fixed_prices.get(presentment.currency) if fixed_prices else None
    if fixed_price is not None:
        compared = fixed_price["compare_at_price"]
        return Decimal(fixed_price["price"]), None if compared is None else Decimal(compared)
    converted = presentment.price(price)
    return None if converted is None else (converted, None if compare_at is None else presentment.price(compare_at))


def get_price_in_currency(variant: Variant, shop: Shop, currency: str) -> Decimal | None:
    """Return the price of a variant in a currency, or None if the shop has no prices in that currency."""
    if currency == shop.currency:
        return variant.price
    presentment = find_presentment(shop, currency)
    tag = (
        get_prices_in_currency(presentment, variant.price, variant.compare_at_price, variant.fixed_prices)
        if presentment
        else None
    )
    return tag[0] if tag else None
