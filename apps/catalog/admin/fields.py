"""Form fields that read what people type as the interface reads bodies."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from django.utils.safestring import SafeString
from rest_framework.serializers import ValidationError as Refused

from apps.api.resources.fields import ApiField
from apps.catalog.api.fields import quantum_of
from apps.catalog.domain.pictures import local_address_of
from apps.ground.tenancy import current_shop
from apps.media.names import parse_transformation
from apps.panel.theme import ThemedTextInput


def read_as(field: ApiField, value: object) -> Any:
    """What the interface makes of a value.

    Raises:
        ValidationError: It does not fit.
    """
    try:
        return field.run_validation(value)
    except Refused as error:
        raise ValidationError([str(detail).capitalize() + "." for detail in error.detail]) from None


class MoneyField(forms.DecimalField):
    """An amount in the shop's currency, with its decimals."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 0, "max_digits": 15, "decimal_places": 3, "widget": _Amount(), **options})

    def clean(self, value: object) -> Decimal | None:
        """The amount; it has no more decimals than the currency."""
        amount = super().clean(value)
        if amount is not None and amount != amount.quantize(quantum_of(current_shop().currency)):
            raise ValidationError(f"{current_shop().currency} has no such small amounts.")
        return amount

    def prepare_value(self, value: object) -> object:
        """With the currency's decimals."""
        return value.quantize(quantum_of(current_shop().currency)) if isinstance(value, Decimal) else value


class _Amount(ThemedTextInput):
    def __init__(self) -> None:
        super().__init__(attrs={"inputmode": "decimal", "size": "8"})


def thumbnail(shop_id: int, key: str, name: str, alt: str = "", side: int = 48) -> SafeString:
    """A small picture; an empty square where there is none."""
    if not key:
        return format_html('<span class="bo-thumb" data-side="{}"></span>', side)
    stem, _, extension = name.rpartition(".")
    small = f"{stem}_{2 * side}x{2 * side}.{extension}"
    shown = small if parse_transformation(small) else name
    return format_html(
        '<img class="bo-thumb" data-side="{}" src="{}" alt="{}" loading="lazy">',
        side,
        local_address_of(shop_id, key, shown),
        alt,
    )
