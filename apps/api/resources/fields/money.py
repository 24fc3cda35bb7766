"""Fields for amounts in the shop currency."""

from decimal import Decimal
from typing import Unpack

from apps.api.render_context import RenderContext
from apps.api.resources.fields.base import Render
from apps.api.resources.fields.options import DecimalOptions
from apps.api.resources.fields.scalar import DecimalField
from apps.ground.money import format_decimal, has_valid_precision
from apps.ground.tenancy import get_current_shop


def render_price(context: RenderContext, value: Decimal | None) -> str | None:
    """Render a price with the decimals of the shop currency."""
    return None if value is None else format_decimal(value, context.shop.currency)


class PriceField(DecimalField):
    """An amount in the shop currency, with at most as many decimals as the currency has."""

    def __init__(self, **options: Unpack[DecimalOptions]) -> None:
        """Create a field with the precision of price columns."""
        options = {"max_digits": 15, "decimal_places": 3, "required": False, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal:
        """Validate the amount; reject more decimals than the currency has."""
        value = super().to_internal_value(data)
        if not has_valid_precision(value, get_current_shop().currency):
            self.fail("invalid")
        return value

    def get_renderer(self) -> Render:
        return render_price
