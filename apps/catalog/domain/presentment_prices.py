"""Variant prices in presentment currencies. A price is either fixed or converted from the shop currency."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypedDict

from apps.catalog.models import Variant
from apps.core.money import format_decimal
from apps.core.tenancy.currency_conversion import Presentment, find_presentment
from apps.core.tenancy.models import Shop


class FixedPrice(TypedDict):
    """A stored fixed price in a presentment currency. Amounts are strings, so that the decimals are exact."""

    price: str
    compare_at_price: str | None


def merge_fixed_prices(
    current: Mapping[str, FixedPrice] | None, changes: Mapping[str, FixedPrice | None]
) -> dict[str, FixedPrice] | None:
    """Merge changes, keyed by currency, into fixed prices. None removes a price. Return None if no price remains."""
    result = {**(current or {}), **changes}
    return {currency: price for currency, price in sorted(result.items()) if price is not None} or None


def build_fixed_price(price: Decimal, compare_at: Decimal | None, currency: str) -> FixedPrice:
    return {
        "price": format_decimal(price, currency),
        "compare_at_price": None if compare_at is None else format_decimal(compare_at, currency),
    }


def get_prices_in_currency(
    presentment: Presentment, price: Decimal, compare_at: Decimal | None, fixed_prices: Mapping[str, FixedPrice] | None
) -> tuple[Decimal, Decimal | None] | None:
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
    if presentment is None:
        return None
    tag = get_prices_in_currency(presentment, variant.price, variant.compare_at_price, variant.fixed_prices)
    return tag[0] if tag else None
