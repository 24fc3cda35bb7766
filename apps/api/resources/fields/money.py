"""Amounts in the shop's own currency, with its decimals."""

from decimal import Decimal
from typing import Unpack

from apps.api.context import Context
from apps.api.resources.fields.base import Render
from apps.api.resources.fields.options import DecimalOptions
from apps.api.resources.fields.values import DecimalField
from apps.ground.money import fits, text_of
from apps.ground.tenancy import current_shop


def shown_price(context: Context, value: Decimal | None) -> str | None:
    """A price with the decimals of the shop's currency."""
    return None if value is None else text_of(value, context.shop.currency)


class PriceField(DecimalField):
    """An amount in the shop's currency, with at most the currency's decimals."""

    def __init__(self, **options: Unpack[DecimalOptions]) -> None:
        """As wide as the columns of prices."""
        options = {"max_digits": 15, "decimal_places": 3, "required": False, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal:
        """The amount; it has no more decimals than the currency."""
        value = super().to_internal_value(data)
        if not fits(value, current_shop().currency):
            self.fail("invalid")
        return value

    def reader(self) -> Render:
        """With the currency's decimals."""
        return shown_price
