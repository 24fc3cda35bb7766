"""Derive the exchange rate of an order from amounts in both currencies."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal

from apps.core.money import MAX_AMOUNT, get_minor_unit

# The number of decimals of ``Order.exchange_rate``.
_MAX_DECIMALS = 12
# The minor unit of the currencies with the most decimals.
_SMALLEST = Decimal("0.001")


def derive_exchange_rate(pairs: Iterable[tuple[Decimal, Decimal]], presentment_currency: str) -> Decimal | None:
    """Return the shortest rate that converts each amount to its presentment amount, or None if there are no amounts.

    Pairs that contradict earlier pairs are ignored.
    """
    half = get_minor_unit(presentment_currency) / 2
    low = high = None
    for amount, presentment_amount in pairs:
        if not all(_SMALLEST <= value < MAX_AMOUNT for value in (amount, presentment_amount)):
            continue
        least, most = (presentment_amount - half) / amount, (presentment_amount + half) / amount
        least, most = (least, most) if low is None or high is None else (max(least, low), min(most, high))
        if least < most:
            low, high = least, most
    if low is None or high is None:
        return None
    for places in range(_MAX_DECIMALS + 1):
        rate = low.quantize(Decimal(1).scaleb(-places), ROUND_CEILING)
        if 0 < rate < min(high, MAX_AMOUNT):
            return rate
    return None
