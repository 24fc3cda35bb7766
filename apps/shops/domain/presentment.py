"""The currencies that a shop shows and takes prices in beside its own: a rate and a rounding rule each.

A rate is how many units one unit of the shop's currency is worth. Without one, only prices that were fixed in the
currency are shown in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext_noop

from apps.ground.errors import DomainError
from apps.ground.languages import retold_amount
from apps.ground.money import ZERO, fits, is_currency, nearest, plain, rounded, up_to_ending
from apps.ground.phrases import INVALID, NOT_IN_LIST, TAKEN, too_many
from apps.ground.retelling import tells
from apps.shops.models import Shop

MOST = 50
MAX_RATE = Decimal(10) ** 6
# A converted price ends so: by rule, the step and how much below it the price lies; it goes to the nearest or up.
_NEAREST = {"0.05": Decimal("0.05"), "0.10": Decimal("0.10")}
_ENDINGS = {
    "0.90": (Decimal(1), Decimal("0.10")),
    "0.95": (Decimal(1), Decimal("0.05")),
    "0.99": (Decimal(1), Decimal("0.01")),
    "1": (Decimal(1), ZERO),
    "10": (Decimal(10), ZERO),
    "100": (Decimal(100), ZERO),
}
_OWN = tells(gettext_noop("{currency} is the shop's own currency"))
_NO_SUCH_AMOUNTS = tells(gettext_noop("{currency} has no such small amounts to round to"))
_NEAREST_TO = tells(gettext_noop("To the nearest {amount}"), amount=retold_amount)
_UP_TO = tells(gettext_noop("Up to the next amount in .{ending}"))
ROUNDINGS: dict[str, str] = {
    "": gettext_noop("To the smallest amount"),
    **{rule: _NEAREST_TO.format(amount=rule) for rule in _NEAREST},
    **{rule: _UP_TO.format(ending=rule[2:]) for rule in _ENDINGS if "." in rule},
    "1": gettext_noop("Up to a whole amount"),
    "10": gettext_noop("Up to a multiple of 10"),
    "100": gettext_noop("Up to a multiple of 100"),
}


class PresentmentRefused(DomainError):
    """A currency cannot be offered so."""

    code = "presentment_refused"
    field = "presentment_currencies"


@dataclass(frozen=True, slots=True)
class Presentment:
    """A currency that prices are shown in.

    Attributes:
        currency: ISO 4217.
        rate: Units of it for one of the shop's currency; None where prices are not converted.
        rounding: A key of ``ROUNDINGS``.
    """

    currency: str
    rate: Decimal | None = None
    rounding: str = ""

    def price(self, amount: Decimal) -> Decimal | None:
        """A price of the shop, converted; only nothing costs nothing. None without a rate."""
        if self.rate is None:
            return None
        exact = amount * self.rate
        if not exact:
            return ZERO
        if step := _NEAREST.get(self.rounding):
            return max(nearest(exact, step), step)
        if ending := _ENDINGS.get(self.rounding):
            return up_to_ending(exact, *ending)
        return rounded(exact, self.currency)


def presentments_of(shop: Shop) -> tuple[Presentment, ...]:
    """The currencies that a shop shows prices in beside its own, by code."""
    return tuple(
        Presentment(row["currency"], None if row["rate"] is None else Decimal(row["rate"]), row["rounding"])
        for row in shop.presentment_currencies
        if row["currency"] != shop.currency
    )


def presentment_of(shop: Shop, currency: str) -> Presentment | None:
    """One of them; None where the shop does not show prices in it."""
    return next((each for each in presentments_of(shop) if each.currency == currency), None)


def check_presentments(rows: Sequence[Mapping[str, str | None]], own: str) -> list[dict[str, str | None]]:
    """Currencies as they are kept, by code.

    Args:
        rows: ``currency``, ``rate`` in plain digits or none, and ``rounding``.
        own: The shop's currency.

    Raises:
        PresentmentRefused: All that does not fit, each after its currency.
    """
    if len(rows) > MOST:
        raise PresentmentRefused(too_many("currencies", MOST))
    kept: dict[str, dict[str, str | None]] = {}
    wrong: list[str] = []
    for row in rows:
        code, rate, rounding = (row.get("currency") or "").upper(), row.get("rate"), row.get("rounding") or ""
        if not is_currency(code):
            wrong.append(f"{code or '?'} {NOT_IN_LIST}")
        elif code == own:
            wrong.append(_OWN.format(currency=code))
        elif code in kept:
            wrong.append(f"{code} {TAKEN}")
        elif rounding not in ROUNDINGS or (rounding and not fits(Decimal(rounding), code)):
            wrong.append(_NO_SUCH_AMOUNTS.format(currency=code))
        elif rate and not _is_rate(rate):
            wrong.append(f"{code}: the rate {INVALID} (more than 0, below {MAX_RATE}, at most 9 decimals)")
        else:
            kept[code] = {"currency": code, "rate": plain(Decimal(rate)) if rate else None, "rounding": rounding}
    if wrong:
        raise PresentmentRefused({"presentment_currencies": wrong})
    return [kept[code] for code in sorted(kept)]


def _is_rate(text: str) -> bool:
    whole, point, places = text.partition(".")
    digits = f"{whole}{places}"
    plainly = digits.isascii() and digits.isdigit() and len(whole) <= 6 and len(places) <= 9 and bool(whole)
    return plainly and (bool(places) or not point) and 0 < Decimal(text) < MAX_RATE
