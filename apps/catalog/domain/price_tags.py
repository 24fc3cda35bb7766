"""What a variant costs in the currencies that a shop shows prices in: fixed prices, else converted ones."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypedDict

from apps.catalog.models import Variant
from apps.ground.money import text_of
from apps.shops.domain.presentment import Presentment, presentment_of
from apps.shops.models import Shop


class Fixed(TypedDict):
    """A price that was fixed in a currency, as it is kept: exact digits."""

    price: str
    compare_at_price: str | None


# By currency; None where a fixed price goes.
Changes = Mapping[str, Fixed | None]
Tag = tuple[Decimal, Decimal | None]


def merged(kept: Mapping[str, Fixed] | None, changes: Changes) -> dict[str, Fixed] | None:
    """Fixed prices with changes; what these do not name stays. None for none."""
    after = {currency: fixed for currency, fixed in {**(kept or {}), **changes}.items() if fixed is not None}
    return {currency: after[currency] for currency in sorted(after)} or None


def fixed(price: Decimal, compare_at: Decimal | None, currency: str) -> Fixed:
    """A price as it is kept."""
    return {
        "price": text_of(price, currency),
        "compare_at_price": None if compare_at is None else text_of(compare_at, currency),
    }


def tag_in(
    each: Presentment, price: Decimal, compare_at: Decimal | None, kept: Mapping[str, Fixed] | None
) -> Tag | None:
    """The price and the price to compare with in a currency; None where it is neither fixed nor converted."""
    own = kept.get(each.currency) if kept else None
    if own is not None:
        compared = own["compare_at_price"]
        return Decimal(own["price"]), None if compared is None else Decimal(compared)
    converted = each.price(price)
    return None if converted is None else (converted, None if compare_at is None else each.price(compare_at))


def price_of(variant: Variant, shop: Shop, currency: str) -> Decimal | None:
    """What a variant costs in a currency; None where the shop shows no price in it."""
    if currency == shop.currency:
        return variant.price
    each = presentment_of(shop, currency)
    tag = tag_in(each, variant.price, variant.compare_at_price, variant.fixed_prices) if each else None
    return tag[0] if tag else None
