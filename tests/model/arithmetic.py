"""Exact amounts of money, as the documentation of the product defines them."""

from decimal import ROUND_HALF_UP, Decimal

ZERO = Decimal(0)
PLACES = {"USD": 2, "EUR": 2, "JPY": 0, "KWD": 3}


def to_money(amount: Decimal, currency: str) -> Decimal:
    """Round an amount to the smallest unit of a currency, half up."""
    unit = Decimal(10) ** -PLACES[currency]
    return (amount / unit).quantize(Decimal(1), ROUND_HALF_UP) * unit


def take_share(amount: Decimal, part: Decimal | int, whole: Decimal | int, currency: str) -> Decimal:
    """Return the rounded share of an amount, which is zero if the whole is zero."""
    return to_money(amount * part / whole, currency) if whole else ZERO


def to_text(amount: Decimal, currency: str) -> str:
    return f"{amount:.{PLACES[currency]}f}"
