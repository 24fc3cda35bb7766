"""The discount of an order or of one of its lines."""

from decimal import Decimal
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.display.money import MoneyField, format_amount_input
from apps.core.admin.forms.number_parsing import InvalidNumber, normalize_number
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.draft_orders.admin.order_form.base import PartForm
from apps.draft_orders.domain.calculation import FIXED_AMOUNT, PERCENTAGE


class DiscountForm(PartForm):
    discount = forms.CharField(
        label=gettext_lazy("Discount"),
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "size": "8"}),
    )
    discount_type = forms.ChoiceField(label=gettext_lazy("Discount type"), required=False)
    discount_reason = forms.CharField(label=gettext_lazy("Reason"), required=False, max_length=255)

    def __init__(self, data: QueryDict, **options: Any) -> None:
        super().__init__(data, **options)
        self.set_choices("discount_type", [(PERCENTAGE, "%"), (FIXED_AMOUNT, self.amount_label)])

    @property
    def amount_label(self) -> str:
        return get_current_shop().currency

    def clean_discount(self) -> Decimal | None:
        text = self.cleaned_data["discount"].strip()
        if not text:
            return None
        if self.data.get(self.add_prefix("discount_type")) == PERCENTAGE:
            return _clean_percentage(text)
        return MoneyField().clean(text)

    @property
    def applied_discount(self) -> Attrs | None:
        """Return the discount in the format of the service, or None."""
        value = self.cleaned_data.get("discount")
        if not value:
            return None
        return {
            "value_type": self.cleaned_data["discount_type"] or FIXED_AMOUNT,
            "value": value,
            "title": self.cleaned_data.get("discount_reason", ""),
        }


def _clean_percentage(text: str) -> Decimal:
    try:
        number = normalize_number(text.rstrip("% "), "")
    except InvalidNumber as error:
        raise forms.ValidationError(str(error)) from error
    message = _("Enter a percentage of up to 100.")
    field = forms.DecimalField(min_value=0, max_value=100, error_messages={"min_value": message, "max_value": message})
    return cast("Decimal", field.clean(number))


def format_discount(discount: ReadOnlyAttrs | None, currency: str) -> dict[str, str]:
    """Return the form values of a stored discount."""
    if not discount:
        return {}
    value = Decimal(str(discount["value"]))
    is_amount = discount["value_type"] == FIXED_AMOUNT
    return {
        "discount": format_amount_input(value, currency) if is_amount else f"{value.normalize():f}",
        "discount_type": discount["value_type"],
        "discount_reason": discount.get("title") or discount.get("description") or "",
    }
