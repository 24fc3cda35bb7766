import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Unpack

from apps.core.money import convert_amount, convert_parts, format_decimal, format_stored_decimal
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ApiField,
    BooleanField,
    ComputedField,
    DecimalField,
    DecimalOptions,
    IntegerField,
    InvalidValue,
    Render,
    TextField,
    TextOptions,
)
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField
from apps.core.types import Attrs, Rendered, RequestData
from apps.customers.api.fields import BlankAsNullTextField
from apps.customers.domain.addresses import TEXT_COLUMNS
from apps.orders.domain import updates

DECIMAL = {"type": "string", "format": "decimal"}
MONEY = {
    "type": "object",
    "properties": {
        name: {"type": "object", "properties": {"amount": DECIMAL, "currency_code": {"type": "string"}}}
        for name in ("shop_money", "presentment_money")
    },
}


class AmountField(DecimalField):
    """A field for an amount of money. The domain layer validates the number of decimals."""

    def __init__(self, *, order: str = "", **options: Unpack[DecimalOptions]) -> None:
        """Allow as many digits as money columns have. ``order`` is the lookup path to the order, ending in ``__``."""
        options = {"max_digits": 15, "decimal_places": 3, "required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.order = order

    def get_columns(self) -> tuple[str, ...]:
        return (str(self.source), f"{self.order}currency")

    def get_renderer(self) -> Render:
        return lambda _context, amount, currency: format_decimal(amount, currency)


def blank_as_null_text(length: int = 255, **options: Unpack[TextOptions]) -> TextField:
    options["max_length"] = length
    return BlankAsNullTextField(**options)


def nullable_text(length: int = 255, **options: Unpack[TextOptions]) -> TextField:
    options = {"max_length": length, "required": False, "allow_null": True, "allow_blank": True, **options}
    return TextField(**options)


def nullable_bool(*, write_only: bool = False) -> BooleanField:
    return BooleanField(required=False, allow_null=True, write_only=write_only)


_ADDRESS = {
    **{name: blank_as_null_text() for name in ("first_name", "last_name")},
    "name": blank_as_null_text(511),
    **{name: blank_as_null_text() for name in ("company", "address1", "address2", "city", "zip", "phone", "country")},
    "country_code": blank_as_null_text(2),
    "province": blank_as_null_text(),
    "province_code": blank_as_null_text(10),
}
_SHOWN_FIRST = ("first_name", "address1", "phone", "city", "zip", "province", "country", "last_name")


class AddressField(ObjectField):
    def __init__(self) -> None:
        super().__init__(_ADDRESS)

    def to_internal_value(self, data: object) -> Attrs | None:
        return self._snapshot(data, None)

    def apply_changes(self, data: object, before: RequestData) -> Attrs | None:
        return self._snapshot(data, before)

    def _snapshot(self, data: object, before: RequestData | None) -> Attrs | None:
        snapshot, errors = updates.apply_address_changes(before, self.validate_object(data))
        if errors:
            raise InvalidValue(errors)
        return snapshot

    def get_renderer(self) -> Render:
        return lambda _context, snapshot: None if snapshot is None else render_address(snapshot)


def render_address(snapshot: RequestData) -> Rendered:
    members = {
        name: snapshot.get(name) if name in TEXT_COLUMNS else snapshot.get(name) or None for name in _SHOWN_FIRST
    }
    name = f"{snapshot.get('first_name') or ''} {snapshot.get('last_name') or ''}".strip()
    return members | {
        "address2": snapshot.get("address2"),
        "company": snapshot.get("company"),
        "latitude": None,
        "longitude": None,
        "name": name,
        "country_code": snapshot.get("country_code") or None,
        "province_code": snapshot.get("province_code") or None,
    }


def get_tax_members() -> dict[str, ApiField]:
    """Return the members of a tax line. A missing price is calculated from the rate."""
    return {
        "title": TextField(max_length=255),
        "rate": DecimalField(
            max_digits=26, decimal_places=24, max_value=Decimal(10), required=False, default=Decimal(0)
        ),
        "price": AmountField(default=None),
        "channel_liable": BooleanField(required=False, allow_null=True, default=None),
    }


def name_value_list() -> ObjectListField:
    return ObjectListField({"name": TextField(max_length=255), "value": _AnyText(required=False, default="")})


class _AnyText(TextField):
    """A text field that also accepts booleans and converts them to "true" or "false"."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        options = {"max_length": 5000, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> str:
        return super().to_internal_value(str(data).lower() if isinstance(data, bool) else data)


class PlainNumberField(TextField):
    """A decimal number of at most twelve digits before the point, stored as text and rendered exactly as received."""

    _PLAIN = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]+)?", re.ASCII)

    def to_internal_value(self, data: object) -> str:
        text = str(data) if isinstance(data, int | Decimal) and not isinstance(data, bool) else data
        value = super().to_internal_value(text)
        if not self._PLAIN.fullmatch(value):
            self.fail("invalid")
        return value


def nullable_integer(least: int = 0, most: int = 10**9) -> IntegerField:
    return IntegerField(min_value=least, max_value=most, required=False, allow_null=True)


def Blankable(column: str) -> ComputedField:  # noqa: N802 - reads as a field
    return ComputedField(lambda _context, value: value or None, column, schema={"type": ["string", "null"]})


def get_currency_columns(order: str = "") -> tuple[str, str, str]:
    """Return the columns that ``render_money_set`` needs. ``order`` is as in ``MoneySet``."""
    return f"{order}currency", f"{order}presentment_currency", f"{order}exchange_rate"


def render_money_set(
    amount: Decimal, currency: str, presentment: str, rate: Decimal, converted: Decimal | None = None
) -> dict[str, dict[str, str]]:
    """Return an amount in both currencies. Without ``converted``, the presentment amount is calculated."""
    shop_money = {"amount": format_decimal(amount, currency), "currency_code": currency}
    if presentment == currency:
        return {"shop_money": shop_money, "presentment_money": shop_money}
    if converted is None:
        converted = convert_amount(amount, rate, presentment)
    presentment_money = {"amount": format_decimal(converted, presentment), "currency_code": presentment}
    return {"shop_money": shop_money, "presentment_money": presentment_money}


def MoneySet(column: str, order: str = "", presentment: str | None = None) -> ComputedField:  # noqa: N802 - reads as a field
    """Create a field for an amount in both currencies.

    ``order`` is the lookup path to the order, with ``__``. ``presentment`` is the column of the presentment amount.
    """
    columns = (column, *get_currency_columns(order), *([presentment] if presentment else []))
    return ComputedField(lambda _context, *values: render_money_set(*values), *columns, schema=MONEY)


def _render_total_set(
    column: str, amount: Decimal, currencies: tuple[str, str, Decimal], presentment_totals: RequestData
) -> dict[str, dict[str, str]]:
    converted = presentment_totals.get(column)
    return render_money_set(amount, *currencies, None if converted is None else Decimal(converted))


def TotalSet(column: str) -> ComputedField:  # noqa: N802 - reads as a field
    """Create a field for a total of an order in both currencies."""
    columns = (column, "presentment_totals", *get_currency_columns())
    return ComputedField(
        lambda _context, amount, presentment_totals, *currencies: _render_total_set(
            column, amount, currencies, presentment_totals
        ),
        *columns,
        schema=MONEY,
    )


def ZeroSet(order: str = "") -> ComputedField:  # noqa: N802 - reads as a field
    def render(_context: RenderContext, currency: str, presentment: str) -> Rendered:
        return render_money_set(Decimal(0), currency, presentment, Decimal(1))

    return ComputedField(render, f"{order}currency", f"{order}presentment_currency", schema=MONEY)


def DutiesSet(column: str) -> ComputedField:  # noqa: N802 - reads as a field
    """Create a field that renders a sum of duties as ``MoneySet`` would, or null if the order has no duties."""
    columns = (column, "total_duties", "presentment_totals", *get_currency_columns())
    return ComputedField(
        lambda _context, amount, ordered, presentment_totals, *currencies: (
            _render_total_set(column, amount, currencies, presentment_totals) if ordered else None
        ),
        *columns,
        schema={**MONEY, "type": ["object", "null"]},
    )


def Money(column: str, order: str = "") -> ComputedField:  # noqa: N802 - reads as a field
    return ComputedField(
        lambda _context, amount, currency: format_decimal(amount, currency), column, f"{order}currency", schema=DECIMAL
    )


def _stored_money_sets(
    stored_amounts: list[str],
    currency: str,
    presentment: str,
    rate: Decimal,
    converted: list[Decimal] | None = None,
) -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """Yield stored amounts of one row, formatted and in both currencies, so that sums equal their parts."""
    if presentment != currency:
        amounts = [Decimal(amount) for amount in stored_amounts]
        converted = convert_parts(amounts, rate, presentment) if converted is None else converted
        for amount, presentment_amount in zip(amounts, converted, strict=True):
            money_set = render_money_set(amount, currency, presentment, rate, presentment_amount)
            yield format_decimal(amount, currency), money_set
        return
    for stored_amount in stored_amounts:
        text = format_stored_decimal(stored_amount, currency)
        money = {"amount": text, "currency_code": currency}
        yield text, {"shop_money": money, "presentment_money": money}


def render_tax_lines(
    _context: RenderContext, taxes: list[RequestData], currency: str, presentment: str, rate: Decimal
) -> list[Rendered]:
    stored = [Decimal(tax["presentment_price"]) for tax in taxes if "presentment_price" in tax]
    converted = stored if len(stored) == len(taxes) else None
    prices = _stored_money_sets([tax["price"] for tax in taxes], currency, presentment, rate, converted)
    return [
        {
            "price": price,
            "rate": float(tax["rate"]),
            "title": tax["title"],
            "price_set": price_set,
            "channel_liable": tax.get("channel_liable"),
        }
        for tax, (price, price_set) in zip(taxes, prices, strict=True)
    ]


def render_duties(
    context: RenderContext, duties: list[RequestData], currency: str, presentment: str, rate: Decimal
) -> list[Rendered]:
    prices = _stored_money_sets([duty["price"] for duty in duties], currency, presentment, rate)
    # The taxes of all duties of a line add up to its converted tax on duties.
    taxes = iter(
        render_tax_lines(context, [tax for duty in duties for tax in duty["tax_lines"]], currency, presentment, rate)
    )
    return [
        {
            "id": duty["id"],
            "harmonized_system_code": duty["harmonized_system_code"],
            "country_code_of_origin": duty["country_code_of_origin"],
            **price_set,
            "tax_lines": [next(taxes) for _tax in duty["tax_lines"]],
            "admin_graphql_api_id": f"gid://{context.brand}/Duty/{duty['id']}",
        }
        for duty, (_price, price_set) in zip(duties, prices, strict=True)
    ]


def render_discount_allocations(
    _context: RenderContext, allocations: list[RequestData], currency: str, presentment: str, rate: Decimal
) -> list[Rendered]:
    amounts = _stored_money_sets([item["amount"] for item in allocations], currency, presentment, rate)
    return [
        {"amount": amount, "amount_set": amount_set, "discount_application_index": item["discount_application_index"]}
        for item, (amount, amount_set) in zip(allocations, amounts, strict=True)
    ]


def render_discount_codes(_context: RenderContext, codes: list[RequestData], currency: str) -> list[Rendered]:
    return [{**code, "amount": format_decimal(Decimal(code["amount"]), currency)} for code in codes]
