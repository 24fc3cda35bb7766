"""Render amounts in the order's currency, or in both the shop currency and the presentment currency."""

from decimal import Decimal

from apps.api.render_context import RenderContext
from apps.api.resources.fields import ComputedField
from apps.api.types import Rendered, RequestData
from apps.ground.money import convert_amount, format_decimal, format_stored_decimal

DECIMAL = {"type": "string", "format": "decimal"}
MONEY = {
    "type": "object",
    "properties": {
        name: {"type": "object", "properties": {"amount": DECIMAL, "currency_code": {"type": "string"}}}
        for name in ("shop_money", "presentment_money")
    },
}


def render_money_set(amount: Decimal, currency: str, presentment: str, rate: Decimal) -> dict[str, dict[str, str]]:
    """Render an amount in the shop currency and in the presentment currency."""
    shop_money = {"amount": format_decimal(amount, currency), "currency_code": currency}
    if presentment == currency:
        return {"shop_money": shop_money, "presentment_money": shop_money}
    presentment_amount = format_decimal(convert_amount(amount, rate, presentment), presentment)
    return {"shop_money": shop_money, "presentment_money": {"amount": presentment_amount, "currency_code": presentment}}


def MoneySet(column: str, order: str = "") -> ComputedField:  # noqa: N802 - reads as a field
    """Create a field that renders an amount in the shop currency and the presentment currency.

    ``order`` is the lookup path to the order, ending in ``__``.
    """

    def render(_context: RenderContext, amount: Decimal, currency: str, presentment: str, rate: Decimal) -> Rendered:
        return render_money_set(amount, currency, presentment, rate)

    columns = (f"{order}currency", f"{order}presentment_currency", f"{order}exchange_rate")
    return ComputedField(render, column, *columns, schema=MONEY)


def ZeroSet(order: str = "") -> ComputedField:  # noqa: N802 - reads as a field
    """Create a field for an amount that is always zero, in the shop currency and the presentment currency.

    ``order`` is the lookup path to the order, as in ``MoneySet``.
    """

    def render(_context: RenderContext, currency: str, presentment: str) -> Rendered:
        return render_money_set(Decimal(0), currency, presentment, Decimal(1))

    return ComputedField(render, f"{order}currency", f"{order}presentment_currency", schema=MONEY)


def DutiesSet(column: str) -> ComputedField:  # noqa: N802 - reads as a field
    """Create a field that renders a sum of duties as ``MoneySet`` would, or null if the order has no duties."""

    def render(
        _context: RenderContext, amount: Decimal, ordered: Decimal, currency: str, presentment: str, rate: Decimal
    ) -> Rendered | None:
        return render_money_set(amount, currency, presentment, rate) if ordered else None

    columns = ("total_duties", "currency", "presentment_currency", "exchange_rate")
    return ComputedField(render, column, *columns, schema={**MONEY, "type": ["object", "null"]})


def Money(column: str, order: str = "") -> ComputedField:  # noqa: N802 - reads as a field
    """Create a field that renders an amount in the order's currency."""

    def render(_context: RenderContext, amount: Decimal, currency: str) -> str:
        return format_decimal(amount, currency)

    return ComputedField(render, column, f"{order}currency", schema=DECIMAL)


def _stored_money_set(
    stored_amount: str, currency: str, presentment: str, rate: Decimal
) -> tuple[str, dict[str, dict[str, str]]]:
    """Render a stored amount as a string in the order's currency, and as an object (see ``render_money_set``)."""
    if presentment != currency:
        amount = Decimal(stored_amount)
        return format_decimal(amount, currency), render_money_set(amount, currency, presentment, rate)
    text = format_stored_decimal(stored_amount, currency)
    money = {"amount": text, "currency_code": currency}
    return text, {"shop_money": money, "presentment_money": money}


def render_tax_lines(
    _context: RenderContext, taxes: list[RequestData], currency: str, presentment: str, rate: Decimal
) -> list[Rendered]:
    return [
        {
            "price": price,
            "rate": float(tax["rate"]),
            "title": tax["title"],
            "price_set": price_set,
            "channel_liable": tax.get("channel_liable"),
        }
        for tax in taxes
        for price, price_set in (_stored_money_set(tax["price"], currency, presentment, rate),)
    ]


def render_duties(
    context: RenderContext, duties: list[RequestData], currency: str, presentment: str, rate: Decimal
) -> list[Rendered]:
    return [
        {
            "id": duty["id"],
            "harmonized_system_code": duty["harmonized_system_code"],
            "country_code_of_origin": duty["country_code_of_origin"],
            **_stored_money_set(duty["price"], currency, presentment, rate)[1],
            "tax_lines": render_tax_lines(context, duty["tax_lines"], currency, presentment, rate),
            "admin_graphql_api_id": f"gid://{context.brand}/Duty/{duty['id']}",
        }
        for duty in duties
    ]


def render_discount_allocations(
    _context: RenderContext, allocations: list[RequestData], currency: str, presentment: str, rate: Decimal
) -> list[Rendered]:
    return [
        {"amount": amount, "amount_set": amount_set, "discount_application_index": item["discount_application_index"]}
        for item in allocations
        for amount, amount_set in (_stored_money_set(item["amount"], currency, presentment, rate),)
    ]


def render_discount_codes(_context: RenderContext, codes: list[RequestData], currency: str) -> list[Rendered]:
    """Render discount codes with their amounts."""
    return [{**code, "amount": format_decimal(Decimal(code["amount"]), currency)} for code in codes]
