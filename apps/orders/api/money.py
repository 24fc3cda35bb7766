"""Money as the interface shows it: an amount in the order's currency, and in both that an order has."""

from decimal import Decimal

from apps.api.context import Context
from apps.api.resources.fields import Computed
from apps.api.shapes import Data, Shown
from apps.ground.money import converted, text_of

DECIMAL = {"type": "string", "format": "decimal"}
MONEY = {
    "type": "object",
    "properties": {
        name: {"type": "object", "properties": {"amount": DECIMAL, "currency_code": {"type": "string"}}}
        for name in ("shop_money", "presentment_money")
    },
}


def money_set(amount: Decimal, currency: str, presentment: str, rate: Decimal) -> dict[str, dict[str, str]]:
    """An amount of the shop, and what the buyer saw of it."""
    shop_money = {"amount": text_of(amount, currency), "currency_code": currency}
    if presentment == currency:
        return {"shop_money": shop_money, "presentment_money": shop_money}
    shown = text_of(converted(amount, rate, presentment), presentment)
    return {"shop_money": shop_money, "presentment_money": {"amount": shown, "currency_code": presentment}}


def MoneySet(column: str, order: str = "") -> Computed:  # noqa: N802 - reads as a field
    """A column in both currencies; ``order`` is the path to the order, ending in ``__``."""

    def render(_context: Context, amount: Decimal, currency: str, presentment: str, rate: Decimal) -> Shown:
        return money_set(amount, currency, presentment, rate)

    columns = (f"{order}currency", f"{order}presentment_currency", f"{order}exchange_rate")
    return Computed(render, column, *columns, schema=MONEY)


def ZeroSet() -> Computed:  # noqa: N802 - reads as a field
    """Nothing, in both currencies: an amount that this product never has."""

    def render(_context: Context, currency: str, presentment: str) -> Shown:
        return money_set(Decimal(0), currency, presentment, Decimal(1))

    return Computed(render, "currency", "presentment_currency", schema=MONEY)


def Money(column: str, order: str = "") -> Computed:  # noqa: N802 - reads as a field
    """A column in the order's currency."""

    def render(_context: Context, amount: Decimal, currency: str) -> str:
        return text_of(amount, currency)

    return Computed(render, column, f"{order}currency", schema=DECIMAL)


def shown_taxes(_context: Context, taxes: list[Data], currency: str, presentment: str, rate: Decimal) -> list[Shown]:
    """Tax lines as the interface shows them."""
    return [
        {
            "price": text_of(amount, currency),
            "rate": float(tax["rate"]),
            "title": tax["title"],
            "price_set": money_set(amount, currency, presentment, rate),
            "channel_liable": tax.get("channel_liable"),
        }
        for tax in taxes
        for amount in (Decimal(tax["price"]),)
    ]


def shown_allocations(
    _context: Context, allocations: list[Data], currency: str, presentment: str, rate: Decimal
) -> list[Shown]:
    """Discount allocations as the interface shows them."""
    return [
        {
            "amount": text_of(amount, currency),
            "amount_set": money_set(amount, currency, presentment, rate),
            "discount_application_index": item["discount_application_index"],
        }
        for item in allocations
        for amount in (Decimal(item["amount"]),)
    ]


def shown_codes(_context: Context, codes: list[Data], currency: str) -> list[Shown]:
    """Discount codes with what each took off."""
    return [{**code, "amount": text_of(Decimal(code["amount"]), currency)} for code in codes]
