"""Amounts as staff type and read them: in the shop's currency, with its decimals, after a comma or a point."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.formats import get_format
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.ground import languages
from apps.ground.money import MAX_AMOUNT, places_of, rounded, text_of
from apps.ground.tenancy import current_shop
from apps.panel.amounts import Unclear, plain_amount
from apps.panel.theme import ThemedTextInput


def written(value: Decimal, currency: str) -> str:
    """An amount as the reader would type it; three decimals behind a comma could be read as a group."""
    text = text_of(value, currency)
    comma = get_format("DECIMAL_SEPARATOR") == "," and places_of(currency) < 3
    return text.replace(".", ",") if comma else text


class MoneyField(forms.DecimalField):
    """An amount in the shop's currency, or in another one that is named."""

    def __init__(self, *, currency: str = "", **options: Any) -> None:
        super().__init__(**{"min_value": 0, "decimal_places": 3, "widget": _Amount(), **options})
        self._currency = currency

    @property
    def currency(self) -> str:
        """Whose decimals the amount has."""
        return self._currency or current_shop().currency

    @property
    def written_in(self) -> str:
        """In which currency people write it; empty where that is not known yet."""
        return self.currency

    def to_python(self, value: object) -> Decimal | None:  # type: ignore[override]
        """The number, as people write it; one that can be read in two ways is refused."""
        if isinstance(value, str) and value.strip():
            try:
                value = plain_amount(value, self.written_in)
            except Unclear as refusal:
                raise ValidationError(str(refusal), code="invalid") from refusal
        return super().to_python(value)

    def clean(self, value: object) -> Decimal | None:
        """The amount; it has no more decimals than the currency."""
        amount = super().clean(value)
        if amount is not None and amount >= MAX_AMOUNT:
            raise ValidationError(_("Must be less than {limit}.").format(limit=languages.count(int(MAX_AMOUNT))))
        if amount is not None and amount != rounded(amount, self.currency):
            raise ValidationError(_("{currency} has no such small amounts.").format(currency=self.currency))
        # With the currency's decimals, however many zeros were typed.
        return amount if amount is None else rounded(amount, self.currency)

    def prepare_value(self, value: object) -> object:
        """With the currency's decimals, as the reader writes them."""
        return written(value, self.currency) if isinstance(value, Decimal) else value

    def shown(self, value: Decimal) -> SafeString:
        """The amount for those who may only look."""
        return conditional_escape(languages.amount(value, self.currency))


class _Amount(ThemedTextInput):
    def __init__(self) -> None:
        super().__init__(attrs={"inputmode": "decimal", "size": "8"})
