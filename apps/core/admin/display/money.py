"""Form fields for amounts, with a decimal comma or point and at most as many decimals as the currency has."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.formats import get_format
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.core.admin.forms.number_parsing import InvalidNumber, normalize_number
from apps.core.admin.theme import ThemedTextInput
from apps.core.i18n import formats
from apps.core.money import MAX_AMOUNT, format_decimal, get_decimal_places, round_money
from apps.core.tenancy.scope import get_current_shop


def format_amount_input(value: Decimal, currency: str) -> str:
    """Format an amount for an input field, with the decimal separator of the active language.

    Amounts with three decimals have a decimal point, because ``1,234`` could be read as 1234.
    """
    text = format_decimal(value, currency)
    comma = get_format("DECIMAL_SEPARATOR") == "," and get_decimal_places(currency) < 3
    return text.replace(".", ",") if comma else text


class MoneyField(forms.DecimalField):
    def __init__(self, *, currency: str = "", **options: Any) -> None:
        super().__init__(**{"min_value": 0, "decimal_places": 3, "widget": _Amount(), **options})
        self._currency = currency

    @property
    def currency(self) -> str:
        return self._currency or get_current_shop().currency

    @property
    def input_currency(self) -> str:
        """Return the currency that users type the amount in, or an empty string if the currency is unknown."""
        return self.currency

    def to_python(self, value: object) -> Decimal | None:  # type: ignore[override]
        if isinstance(value, str) and value.strip():
            try:
                value = normalize_number(value, self.input_currency)
            except InvalidNumber as error:
                raise ValidationError(str(error), code="invalid") from error
        return super().to_python(value)

    def clean(self, value: object) -> Decimal | None:
        amount = super().clean(value)
        if amount is not None and amount >= MAX_AMOUNT:
            raise ValidationError(_("Must be less than {limit}.").format(limit=formats.format_integer(int(MAX_AMOUNT))))
        if amount is not None and amount != round_money(amount, self.currency):
            raise ValidationError(
                _("This amount has too many decimal places for {currency}.").format(currency=self.currency)
            )
        # Round to the currency's number of decimals, because users may type ``9.9`` or ``9.900``.
        return amount if amount is None else round_money(amount, self.currency)

    def prepare_value(self, value: object) -> object:
        return format_amount_input(value, self.currency) if isinstance(value, Decimal) else value

    def render_read_only(self, value: Decimal) -> SafeString:
        return conditional_escape(formats.format_amount(value, self.currency))


class _Amount(ThemedTextInput):
    def __init__(self) -> None:
        super().__init__(attrs={"inputmode": "decimal", "size": "8"})
