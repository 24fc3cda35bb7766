"""The form to cancel an order, with an optional refund."""

from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground import languages
from apps.ground.money import ZERO
from apps.ground.types import ReadOnlyAttrs
from apps.orders.domain import hooks
from apps.orders.domain.selectors import get_transactions
from apps.orders.models import Order, Transaction
from apps.panel.admin_base.forms import Values
from apps.panel.money import MoneyField

# This permission is defined by the refunds app, which also registers the refund hook.
REFUND_PERMISSION = "refunds.add_refund"
_PAYS = {Transaction.Kind.SALE, Transaction.Kind.CAPTURE}
_INPUT = {"class": "bo-input"}


class CancelForm(forms.Form):
    """The cancellation form: reason, restock and refund."""

    reason = forms.ChoiceField(
        choices=Order.CancelReason.choices, widget=forms.Select(attrs=_INPUT), label=gettext_lazy("Reason")
    )
    restock = forms.BooleanField(required=False, initial=True, label=gettext_lazy("Restock"))
    notify = forms.BooleanField(required=False, label=gettext_lazy("Notify the customer by email"))

    def __init__(self, order: Order, data: QueryDict | None = None, *, may_refund: bool) -> None:
        """Add the refund fields if the order has refundable payments and the user may create refunds."""
        super().__init__(data)
        self.refundable = _refundable_by_currency(order) if may_refund and hooks.get_refund_hook() is not None else {}
        if not order.email:
            self.fields["notify"].disabled = True
        if self.refundable:
            first = next(iter(self.refundable))
            widget = forms.TextInput(attrs={**_INPUT, "inputmode": "decimal", "autocomplete": "off"})
            # ``clean`` checks the number of decimals, because it depends on the selected currency.
            self.fields["amount"] = _Amount(required=False, label=_("Refund"), widget=widget)
            self.fields["currency"] = forms.ChoiceField(
                choices=[(code, code) for code in self.refundable],
                initial=first,
                widget=forms.Select(attrs={**_INPUT, "aria-label": _("Currency")}),
            )

    def clean(self) -> Values:
        """Check that the refund amount fits its currency and does not exceed the refundable amount."""
        data = super().clean() or self.cleaned_data
        amount, currency = data.get("amount"), data.get("currency")
        if amount is not None and currency:
            try:
                data["amount"] = MoneyField(currency=currency).clean(str(amount))
            except forms.ValidationError as error:
                self.add_error("amount", error)
            else:
                if amount > self.refundable[currency]:
                    maximum = languages.format_money(self.refundable[currency], currency)
                    self.add_error("amount", _("Enter at most {amount}.").format(amount=maximum))
        return data

    @property
    def refundable_text(self) -> str:
        """Return the refundable amounts as text."""
        return get_text_list(
            [languages.format_money(amount, currency) for currency, amount in self.refundable.items()], _("and")
        )

    @property
    def refund_text(self) -> str:
        """Return the refund amount as text, or an empty string if nothing is refunded."""
        amount = self.cleaned_data.get("amount")
        return languages.format_money(amount, self.cleaned_data["currency"]) if amount else ""

    @property
    def refund(self) -> ReadOnlyAttrs | None:
        """Return the amount and currency to refund, or None if nothing is refunded."""
        if not self.refund_text:
            return None
        return {"amount": self.cleaned_data["amount"], "currency": self.cleaned_data["currency"]}


class _Amount(MoneyField):
    """A money field for the currency that is selected in another form field."""

    @property
    def input_currency(self) -> str:
        """Return an empty string, because ``CancelForm.clean`` checks the amount against the selected currency."""
        return ""

    def clean(self, value: Any) -> Decimal | None:
        return forms.DecimalField.clean(self, value)


def _refundable_by_currency(order: Order) -> dict[str, Decimal]:
    """Return the order's refundable amount in each currency."""
    refundable: dict[str, Decimal] = {}
    for row in get_transactions(order):
        if row.kind in _PAYS and row.status == Transaction.Status.SUCCESS and row.amount > row.refunded:
            refundable[row.currency] = refundable.get(row.currency, ZERO) + row.amount - row.refunded
    return refundable
