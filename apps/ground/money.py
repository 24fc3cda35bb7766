"""Exact amounts in the decimals of their currency: 0 for JPY, 2 for USD, 3 for KWD.

Everything is decimal and rounds half up, here and nowhere else. An amount is shared by cumulative rounding, so the
parts always add up to the whole, whatever their number and order.
Rule: decisions, Refunds (Arithmetic).
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from itertools import chain

from babel.core import UnknownLocaleError, get_global
from babel.numbers import get_currency_precision

MAX_PLACES = 3
# Amounts are below it: with three decimals they have the fifteen digits that every database keeps exactly.
MAX_AMOUNT = Decimal(10) ** 12
ZERO = Decimal(0)


@lru_cache(maxsize=512)
def places_of(currency: str) -> int:
    """How many decimals a currency has."""
    try:
        return int(get_currency_precision(currency))
    except UnknownLocaleError:
        return 2


@lru_cache(maxsize=512)
def quantum_of(currency: str) -> Decimal:
    """The smallest amount of a currency."""
    return Decimal(1).scaleb(-places_of(currency))


@cache
def currencies() -> frozenset[str]:
    """The ISO 4217 codes of the currencies that are, or once were, tender somewhere, and that amounts can be kept in.

    Codes of metals, funds, tests and of no currency (``XAU``, ``CHE``, ``XTS``, ``XXX``) are none.
    """
    uses = chain.from_iterable(get_global("territory_currencies").values())
    return frozenset(code for code, _from, _until, is_tender in uses if is_tender and places_of(code) <= MAX_PLACES)


def is_currency(code: str) -> bool:
    """Whether it is the ISO 4217 code of a currency that amounts can be kept in."""
    return code in currencies()


def fits(amount: Decimal, currency: str) -> bool:
    """Whether an amount was written with no more decimals than the currency has."""
    exponent = amount.as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= places_of(currency)


def rounded(amount: Decimal, currency: str) -> Decimal:
    """The nearest amount that the currency has, half up."""
    return amount.quantize(quantum_of(currency), ROUND_HALF_UP)


def nearest(amount: Decimal, step: Decimal) -> Decimal:
    """The nearest multiple of a step, half up."""
    return (amount / step).quantize(Decimal(1), ROUND_HALF_UP) * step


def up_to_ending(amount: Decimal, step: Decimal, below: Decimal) -> Decimal:
    """The next amount, going up, that lies ``below`` under a multiple of a step: 9.99 for 9.20, 1 and 0.01."""
    return ((amount + below) / step).quantize(Decimal(1), ROUND_CEILING) * step - below


def text_of(amount: Decimal, currency: str) -> str:
    """An amount as the interface shows it."""
    return str(amount.quantize(quantum_of(currency), ROUND_HALF_UP))


def text_of_kept(kept: str, currency: str) -> str:
    """``text_of`` of an amount that is kept as a text; most are kept as they are shown."""
    is_shown = kept.isascii() and kept.replace(".", "").isdigit() and len(kept.partition(".")[2]) == places_of(currency)
    return kept if is_shown else text_of(Decimal(kept), currency)


def plain(number: Decimal) -> str:
    """The one way to write a number: without an exponent, and without zeros at the end of its decimals."""
    return format(number.normalize(), "f")


def split(total: Decimal, weights: Sequence[Decimal], currency: str) -> list[Decimal]:
    """Share an amount in proportion to weights; equally where all weights are zero.

    No part is more than its weight, as long as the total is not more than the sum of the weights.

    Args:
        total: What is shared; not negative.
        weights: One per part, not negative; at least one.
        currency: Whose decimals the parts have.
    """
    if not any(weights):
        weights = [Decimal(1)] * len(weights)
    whole = sum(weights, ZERO)
    parts, passed, given = [], ZERO, ZERO
    for weight in weights:
        passed += weight
        upto = rounded(total * passed / whole, currency)
        parts.append(upto - given)
        given = upto
    return parts


def portion(total: Decimal, units: int, of: int, currency: str) -> Decimal:
    """What the first ``units`` of ``of`` equal units make up of an amount.

    The difference of two portions is the share of the units between them; so taking units away one by one gives in the
    end exactly what taking them away at once gives.
    """
    return rounded(total * units / of, currency) if of else ZERO


def converted(amount: Decimal, rate: Decimal, currency: str) -> Decimal:
    """An amount in another currency, at ``rate`` of its units for one."""
    return rounded(amount * rate, currency)
