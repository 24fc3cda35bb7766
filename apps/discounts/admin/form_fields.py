"""The fields of the forms of discounts and codes."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from apps.core.admin.display.money import MoneyField
from apps.core.admin.forms.number_parsing import InvalidNumber, normalize_number
from apps.core.i18n import formats
from apps.core.money import format_plain

_MAX_INTEGER = 2**31 - 1


class PercentageField(forms.DecimalField):
    """A percentage above 0, with a decimal comma or point and an optional percent sign."""

    def __init__(self, **options: Any) -> None:
        message = gettext_lazy("Enter a percentage above 0 and up to 100.")
        widget = forms.TextInput(attrs={"inputmode": "decimal", "size": "8"})
        errors = {"min_value": message, "max_value": message}
        super().__init__(
            min_value=Decimal("0.001"),
            max_value=100,
            decimal_places=3,
            widget=widget,
            error_messages=errors,
            **options,
        )

    def to_python(self, value: object) -> Decimal | None:  # type: ignore[override]
        if isinstance(value, str) and value.strip():
            try:
                value = normalize_number(value.strip().rstrip("% \u00a0"), "")
            except InvalidNumber as error:
                raise forms.ValidationError(str(error), code="invalid") from error
        return super().to_python(value)

    def prepare_value(self, value: object) -> object:
        return formats.format_plain_number(format_plain(value)) if isinstance(value, Decimal) else value


def create_count_field(label: Any, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=1,
        max_value=_MAX_INTEGER,
        help_text=help_text,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "size": "8"}),
        error_messages={"invalid": gettext_lazy("Enter a whole number.")},
    )


def create_amount_field(label: Any, help_text: Any = "") -> MoneyField:
    widget = forms.TextInput(attrs={"inputmode": "decimal", "size": "8"})
    return MoneyField(label=label, required=False, help_text=help_text, widget=widget)
