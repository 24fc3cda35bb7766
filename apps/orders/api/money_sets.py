"""Read the two currencies of an order, and its exchange rate, from the amounts in both currencies (``…_set``)."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from apps.core.money import is_currency
from apps.core.types import Attrs, ReadOnlyAttrs, RequestData
from apps.orders.domain.pricing.exchange_rate import derive_exchange_rate


class _AmountPair(NamedTuple):
    """An amount in the order's currency and in the presentment currency."""

    currency: str
    amount: Decimal
    presentment_currency: str
    presentment_amount: Decimal


def complete_currencies(attrs: ReadOnlyAttrs, data: RequestData) -> Attrs:
    """Return the currencies and the exchange rate that a body shows only in its amounts in both currencies.

    Explicit values take precedence. ``attrs`` are the parsed values of the body.
    """
    pairs = list(_find_pairs(data))
    first = next((pair for pair in pairs if pair.currency != pair.presentment_currency), None)
    if first is None:
        return {}
    completed: Attrs = {
        "currency": attrs.get("currency") or first.currency,
        "presentment_currency": attrs.get("presentment_currency") or first.presentment_currency,
    }
    currencies = (completed["currency"], completed["presentment_currency"])
    if attrs.get("exchange_rate") is not None or currencies[0] == currencies[1]:
        return completed
    amounts = [
        (pair.amount, pair.presentment_amount)
        for pair in pairs
        if (pair.currency, pair.presentment_currency) == currencies
    ]
    rate = derive_exchange_rate(amounts, currencies[1]) if is_currency(currencies[1]) else None
    return completed if rate is None else {**completed, "exchange_rate": rate}


def _find_pairs(data: RequestData) -> Iterator[_AmountPair]:
    """Yield the amounts that are converted with the exchange rate: prices of rows first, then the total."""
    for name in ("line_items", "shipping_lines"):
        rows = data.get(name)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict):
                yield from _parse_pair(row.get("price_set"))
    yield from _parse_pair(data.get("total_price_set"))


def _parse_pair(money_set: object) -> Iterator[_AmountPair]:
    values: list[tuple[str, Decimal]] = []
    for side in ("shop_money", "presentment_money"):
        money = money_set.get(side) if isinstance(money_set, dict) else None
        code = money.get("currency_code") if isinstance(money, dict) else None
        try:
            amount = Decimal(str(money["amount"])) if isinstance(code, str) and isinstance(money, dict) else None
        except (InvalidOperation, KeyError):
            amount = None
        if not isinstance(code, str) or amount is None or not amount.is_finite():
            return
        values.append((code, amount))
    [(currency, amount), (presentment_currency, presentment_amount)] = values
    yield _AmountPair(currency, amount, presentment_currency, presentment_amount)
