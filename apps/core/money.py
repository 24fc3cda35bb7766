"""Calculate and format exact amounts of money with the decimals of the currency: 0 for JPY, 2 for USD, 3 for KWD.

All amounts are of type ``Decimal``. Only this module rounds amounts, half up. When an amount is split, the cumulative
sums are rounded, so that the parts always add up to the total.
"""

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_UP, Context, Decimal
from functools import cache, lru_cache
from itertools import chain

from babel.core import UnknownLocaleError, get_global
from babel.numbers import get_currency_precision

MAX_DECIMAL_PLACES = 3
# All amounts are below this limit. With three decimals, an amount has at most 15 digits, which every database stores
# exactly.
MAX_AMOUNT = Decimal(10) ** 12
ZERO = Decimal(0)


@lru_cache(maxsize=512)
def get_decimal_places(currency: str) -> int:
    try:
        return int(get_currency_precision(currency))
    except UnknownLocaleError:
        return 2


@lru_cache(maxsize=512)
def get_minor_unit(currency: str) -> Decimal:
    return Decimal(1).scaleb(-get_decimal_places(currency))


@cache
def get_currencies() -> frozenset[str]:
    """Return the ISO 4217 codes of all current and former legal tender with at most three decimals.

    The codes for metals, funds, tests and "no currency" (``XAU``, ``CHE``, ``XTS``, ``XXX``) are not included.
    """
    uses = chain.from_iterable(get_global("territory_currencies").values())
    return frozenset(
        code for code, _from, _until, is_tender in uses if is_tender and get_decimal_places(code) <= MAX_DECIMAL_PLACES
    )


def is_currency(code: str) -> bool:
    return code in get_currencies()


def has_valid_precision(amount: Decimal, currency: str) -> bool:
    """Return True if an amount does not have more decimals than the currency. Zeros at the end do not count."""
    exponent = amount.normalize().as_tuple().exponent
    return isinstance(exponent, int) and -exponent <= get_decimal_places(currency)


# Sums of the largest amounts at the largest exchange rate have more digits than Python's default precision. They are
# rounded first and refused later.
_PRECISE = Context(prec=60)


def round_money(amount: Decimal, currency: str) -> Decimal:
    rounded = amount.quantize(get_minor_unit(currency), ROUND_HALF_UP, _PRECISE)
    return rounded or abs(rounded)


def round_to_step(amount: Decimal, step: Decimal) -> Decimal:
    """Round an amount to the nearest multiple of a step, half up."""
    return (amount / step).quantize(Decimal(1), ROUND_HALF_UP) * step


def round_up_to_ending(amount: Decimal, step: Decimal, below: Decimal) -> Decimal:
    """Round an amount up to a multiple of ``step`` minus ``below``: 9.20 becomes 9.99 if these are 1 and 0.01."""
    return ((amount + below) / step).quantize(Decimal(1), ROUND_CEILING) * step - below


def format_decimal(amount: Decimal, currency: str) -> str:
    """Format an amount for the REST and GraphQL API, with the currency's decimals. Zero has no sign."""
    rounded = amount.quantize(get_minor_unit(currency), ROUND_HALF_UP)
    return str(rounded or abs(rounded))


def format_stored_decimal(text: str, currency: str) -> str:
    """Format a stored amount like ``format_decimal``. Most stored amounts already have this format."""
    is_formatted = (
        text.isascii()
        and text.replace(".", "").isdigit()
        and len(text.partition(".")[2]) == get_decimal_places(currency)
    )
    return text if is_formatted else format_decimal(Decimal(text), currency)


def format_plain(number: Decimal) -> str:
    """Format a number canonically: without an exponent, trailing zeros after the decimal point or a sign of zero."""
    return format((number or abs(number)).normalize(), "f")


def split_amount(total: Decimal, weights: Sequence[Decimal], currency: str) -> list[Decimal]:
    """Split an amount in proportion to weights, or equally if all weights are zero. No number may be negative.

    No part exceeds its weight if the total does not exceed the sum of the weights.
    """
    if not any(weights):
        weights = [Decimal(1)] * len(weights)
    weight_sum = sum(weights, ZERO)
    parts, cumulative, allocated = [], ZERO, ZERO
    for weight in weights:
        cumulative += weight
        upto = round_money(total * cumulative / weight_sum, currency)
        parts.append(upto - allocated)
        allocated = upto
    return parts


def split_first(amount: Decimal, parts: Sequence[Decimal], currency: str) -> list[Decimal]:
    """Split the first ``amount`` of a sum over the parts of the sum, in proportion to the parts.

    A larger amount never has a smaller share of any part. The shares of the whole sum are the parts themselves. The
    difference between the shares of two amounts is therefore never negative, and such differences add up to the parts.
    """
    rest, total, shares = amount, sum(parts, ZERO), list[Decimal]()
    if amount == total:
        return list(parts)
    for part in parts:
        shares.append(round_money(rest * part / total if total else rest, currency))
        rest -= shares[-1]
        total -= part
    return shares


def calculate_portion(total: Decimal, units: int, of: int, currency: str) -> Decimal:
    """Return the portion of an amount for the first ``units`` of ``of`` equal units.

    The portion for the third to fifth unit is the portion for five units minus the portion for two units. Removing
    units one by one therefore gives exactly the same total as removing all units at once.
    """
    return round_money(total * units / of, currency) if of else ZERO


def convert_amount(amount: Decimal, rate: Decimal, currency: str) -> Decimal:
    """Convert an amount to ``currency``. ``rate`` is the price of one original currency unit in ``currency``."""
    return round_money(amount * rate, currency)


def convert_parts(amounts: Iterable[Decimal], rate: Decimal, currency: str) -> list[Decimal]:
    """Convert amounts like ``convert_amount``, so that the results add up to the converted sum."""
    parts, cumulative, converted = [], ZERO, ZERO
    for amount in amounts:
        cumulative += amount
        upto = convert_amount(cumulative, rate, currency)
        parts.append(upto - converted)
        converted = upto
    return parts
