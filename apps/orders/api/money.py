"""Money as the interface shows it: an amount in the order's currency, and in both that an order has."""

from decimal import Decimal

from apps.api.context import Context
from apps.api.resources.fields import Computed
from apps.api.shapes import Data, Shown
from apps.ground.money import converted, text_of, text_of_kept

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


def ZeroSet(order: str = "") -> Computed:  # noqa: N802 - reads as a field
    """Nothing, in both currencies: an amount that this product never has; ``order`` as of ``MoneySet``."""

    def render(_context: Context, currency: str, presentment: str) -> Shown:
        return money_set(Decimal(0), currency, presentment, Decimal(1))

    return Computed(render, f"{order}currency", f"{order}presentment_currency", schema=MONEY)


def DutiesSet(column: str) -> Computed:  # noqa: N802 - reads as a field
    """A sum of duties in both currencies; null where the order carries none."""

    def render(
        _context: Context, amount: Decimal, ordered: Decimal, currency: str, presentment: str, rate: Decimal
    ) -> Shown | None:
        return money_set(amount, currency, presentment, rate) if ordered else None

    columns = ("total_duties", "currency", "presentment_currency", "exchange_rate")
    return Computed(render, column, *columns, schema={**MONEY, "type": ["object", "null"]})


def Money(column: str, order: str = "") -> Computed:  # noqa: N802 - reads as a field
    """A column in the order's currency."""

    def render(_context: Context, amount: Decimal, currency: str) -> str:
        return text_of(amount, currency)

    return Computed(render, column, f"{order}currency", schema=DECIMAL)


def _kept_set(kept: str, currency: str, presentment: str, rate: Decimal) -> tuple[str, dict[str, dict[str, str]]]:
    """An amount that is kept as a text, as it is shown, and in both currencies."""
    if presentment != currency:
        amount = Decimal(kept)
        return text_of(amount, currency), money_set(amount, currency, presentment, rate)
    text = text_of_kept(kept, currency)
    money = {"amount": text, "currency_code": currency}
    return text, {"shop_money": money, "presentment_money": money}


def shown_taxes(_context: Context, taxes: list[Data], currency: str, presentment: str, rate: Decimal) -> list[Shown]:
    """Tax lines as the interface shows them."""
    return [
        {
            "price": price,
            "rate": float(tax["rate"]),
            "title": tax["title"],
            "price_set": price_set,
            "channel_liable": tax.get("channel_liable"),
        }
        for tax in taxes
        for price, price_set in (_kept_set(tax["price"], currency, presentment, rate),)
    ]


def shown_duties(context: Context, duties: list[Data], currency: str, presentment: str, rate: Decimal) -> list[Shown]:
    """Duties as the interface shows them."""
    return [
        {
            "id": duty["id"],
            "harmonized_system_code": duty["harmonized_system_code"],
            "country_code_of_origin": duty["country_code_of_origin"],
            **_kept_set(duty["price"], currency, presentment, rate)[1],
            "tax_lines": shown_taxes(context, duty["tax_lines"], currency, presentment, rate),
            "admin_graphql_api_id": f"gid://{context.brand}/Duty/{duty['id']}",
        }
        for duty in duties
    ]


def shown_allocations(
    _context: Context, allocations: list[Data], currency: str, presentment: str, rate: Decimal
) -> list[Shown]:
    """Discount allocations as the interface shows them."""
    return [
        {"amount": amount, "amount_set": amount_set, "discount_application_index": item["discount_application_index"]}
        for item in allocations
        for amount, amount_set in (_kept_set(item["amount"], currency, presentment, rate),)
    ]


def shown_codes(_context: Context, codes: list[Data], currency: str) -> list[Shown]:
    """Discount codes with what each took off."""
    return [{**code, "amount": text_of(Decimal(code["amount"]), currency)} for code in codes]
