"""Convert prices to the presentment currencies of a shop, with an exchange rate and a rounding rule for each.

A rate is the value of one unit of the shop currency in the presentment currency. Without a rate, only fixed prices are
shown in that currency.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext_noop

from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID, NOT_IN_LIST, TAKEN, too_many
from apps.core.i18n.messages import Amount, define_message
from apps.core.money import (
    ZERO,
    format_plain,
    has_valid_precision,
    is_currency,
    round_money,
    round_to_step,
    round_up_to_ending,
)
from apps.core.tenancy.models import Shop

MAX_CURRENCIES = 50
MAX_RATE = Decimal(10) ** 6
_RATE = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?")
# ``_NEAREST`` maps a rounding rule to its step. ``_ENDINGS`` maps a rule to a step and to the amount that is subtracted
# from the rounded price, e.g. 0.01 for prices that end in .99.
_NEAREST = {"0.05": Decimal("0.05"), "0.10": Decimal("0.10")}
_ENDINGS = {
    "0.90": (Decimal(1), Decimal("0.10")),
    "0.95": (Decimal(1), Decimal("0.05")),
    "0.99": (Decimal(1), Decimal("0.01")),
    "1": (Decimal(1), ZERO),
    "10": (Decimal(10), ZERO),
    "100": (Decimal(100), ZERO),
}
_OWN = define_message("presentment.own", "{currency} is the shop's own currency")
_NO_SUCH_AMOUNTS = define_message("presentment.no_such_amounts", "{currency} does not support this rounding")
_NEAREST_TO = define_message("presentment.nearest_to", "To the nearest {amount}")
_UP_TO = define_message("presentment.up_to", "Up to the next amount that ends in .{ending}")
ROUNDINGS: dict[str, str] = {
    "": gettext_noop("To the smallest currency unit"),
    **{rule: _NEAREST_TO(amount=Amount(rule)) for rule in _NEAREST},
    **{rule: _UP_TO(ending=rule[2:]) for rule in _ENDINGS if "." in rule},
    "1": gettext_noop("Up to the next whole amount"),
    "10": gettext_noop("Up to the next multiple of 10"),
    "100": gettext_noop("Up to the next multiple of 100"),
}


class InvalidPresentment(DomainError):
    field = "presentment_currencies"


@dataclass(frozen=True, slots=True)
class Presentment:
    """A presentment currency with a key of ``ROUNDINGS``. Without a rate, only fixed prices are shown."""

    currency: str
    rate: Decimal | None = None
    rounding: str = ""

    def price(self, amount: Decimal) -> Decimal | None:
        """Convert a price, or return None if there is no rate. A price above zero never becomes zero."""
        if self.rate is None:
            return None
        exact = amount * self.rate
        if not exact:
            return ZERO
        if step := _NEAREST.get(self.rounding):
            return max(round_to_step(exact, step), step)
        if ending := _ENDINGS.get(self.rounding):
            return round_up_to_ending(exact, *ending)
        return round_money(exact, self.currency)


def get_presentments(shop: Shop) -> tuple[Presentment, ...]:
    """Return the presentment currencies of a shop except the shop currency, sorted by code."""
    return tuple(
        Presentment(row["currency"], None if row["rate"] is None else Decimal(row["rate"]), row["rounding"])
        for row in shop.presentment_currencies
        if row["currency"] != shop.currency
    )


def find_presentment(shop: Shop, currency: str) -> Presentment | None:
    return next((presentment for presentment in get_presentments(shop) if presentment.currency == currency), None)


def get_rate_times(shop: Shop) -> dict[str, datetime]:
    """Return when the rate of each presentment currency was set. Earlier versions did not store the time."""
    times = {row["currency"]: row.get("rate_updated_at") for row in shop.presentment_currencies}
    return {code: datetime.fromisoformat(text) if text else shop.updated_at for code, text in times.items()}


def stamp_rates(
    rows: Sequence[Mapping[str, str | None]], before: Sequence[Mapping[str, str | None]], at: datetime
) -> list[dict[str, str | None]]:
    """Add the time to the rows with a new rate. Rows with an unchanged rate keep their time."""
    known = {row["currency"]: row for row in before}
    stamped: list[dict[str, str | None]] = []
    for row in rows:
        current = known.get(row["currency"])
        if current is None or current["rate"] != row["rate"]:
            stamped.append({**row, "rate_updated_at": at.isoformat(timespec="seconds")})
        else:
            times = {name: current[name] for name in ("rate_updated_at",) if name in current}
            stamped.append({**row, **times})
    return stamped


def validate_presentments(rows: Sequence[Mapping[str, str | None]], own: str) -> list[dict[str, str | None]]:
    """Validate rows with ``currency``, ``rate`` and ``rounding`` and return them in the stored format, sorted by code.

    Raises:
        InvalidPresentment: A row is invalid. Each message begins with the currency code.
    """
    if len(rows) > MAX_CURRENCIES:
        raise InvalidPresentment(too_many("currencies", MAX_CURRENCIES))
    valid: dict[str, dict[str, str | None]] = {}
    errors: list[str] = []
    for row in rows:
        code, rate, rounding = (row.get("currency") or "").upper(), row.get("rate"), row.get("rounding") or ""
        if not is_currency(code):
            errors.append(f"{code or '?'} {NOT_IN_LIST}")
        elif code == own:
            errors.append(_OWN(currency=code))
        elif code in valid:
            errors.append(f"{code} {TAKEN}")
        elif rounding not in ROUNDINGS or (rounding and not has_valid_precision(Decimal(rounding), code)):
            errors.append(_NO_SUCH_AMOUNTS(currency=code))
        elif rate and not (_RATE.fullmatch(rate) and 0 < Decimal(rate) < MAX_RATE):
            errors.append(f"{code}: the rate {INVALID} (more than 0, below {MAX_RATE}, at most 9 decimals)")
        else:
            valid[code] = {
                "currency": code,
                "rate": format_plain(Decimal(rate)) if rate else None,
                "rounding": rounding,
            }
    if errors:
        raise InvalidPresentment({"presentment_currencies": errors})
    return [valid[code] for code in sorted(valid)]
