"""The form that cancels an order, and gives money back for it where somebody may."""

from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground import languages
from apps.ground.attrs import Given
from apps.ground.money import ZERO
from apps.orders.domain import hooks
from apps.orders.domain.loading import transactions_of
from apps.orders.models import Order, Transaction
from apps.panel.money import MoneyField
from apps.panel.screens.forms import Values

# Of the app above, whose refunder the order's cancellation asks.
REFUND = "refunds.add_refund"
_PAYS = {Transaction.Kind.SALE, Transaction.Kind.CAPTURE}
_INPUT = {"class": "bo-input"}


class CancelForm(forms.Form):
    """Why an order is cancelled, and what becomes of its stock and money."""

    reason = forms.ChoiceField(
        choices=Order.CancelReason.choices, widget=forms.Select(attrs=_INPUT), label=gettext_lazy("Reason")
    )
    restock = forms.BooleanField(required=False, initial=True, label=gettext_lazy("Restock"))
    notify = forms.BooleanField(required=False, label=gettext_lazy("Tell the customer by e-mail"))

    def __init__(self, order: Order, data: QueryDict | None = None, *, may_refund: bool) -> None:
        """The fields for money are there where something was paid, and the person may give it back."""
        super().__init__(data)
        self.left = _left(order) if may_refund and hooks.refunder() is not None else {}
        if not order.email:
            self.fields["notify"].disabled = True
        if self.left:
            first = next(iter(self.left))
            widget = forms.TextInput(attrs={**_INPUT, "inputmode": "decimal", "autocomplete": "off"})
            # What fits its currency is asked for once that is known.
            self.fields["amount"] = _Amount(required=False, label=_("Give back"), widget=widget)
            self.fields["currency"] = forms.ChoiceField(
                choices=[(code, code) for code in self.left],
                initial=first,
                widget=forms.Select(attrs={**_INPUT, "aria-label": _("Currency")}),
            )

    def clean(self) -> Values:
        """The amount is one of its currency, and at most what was paid in it."""
        data = super().clean() or self.cleaned_data
        amount, currency = data.get("amount"), data.get("currency")
        if amount is not None and currency:
            try:
                data["amount"] = MoneyField(currency=currency).clean(str(amount))
            except forms.ValidationError as error:
                self.add_error("amount", error)
            else:
                if amount > self.left[currency]:
                    most = languages.money(self.left[currency], currency)
                    self.add_error("amount", _("There is at most {amount} to give back.").format(amount=most))
        return data

    @property
    def most(self) -> str:
        """What can be given back, in words."""
        return get_text_list([languages.money(amount, currency) for currency, amount in self.left.items()], _("and"))

    @property
    def money(self) -> str:
        """What is given back, in words; empty for nothing."""
        amount = self.cleaned_data.get("amount")
        return languages.money(amount, self.cleaned_data["currency"]) if amount else ""

    @property
    def refund(self) -> Given | None:
        """What the service is told to give back."""
        if not self.money:
            return None
        return {"amount": self.cleaned_data["amount"], "currency": self.cleaned_data["currency"]}


class _Amount(MoneyField):
    """An amount whose currency is not known yet."""

    @property
    def written_in(self) -> str:
        """Any: it is held against the currency that is chosen beside it."""
        return ""

    def clean(self, value: Any) -> Decimal | None:
        """The number."""
        return forms.DecimalField.clean(self, value)


def _left(order: Order) -> dict[str, Decimal]:
    """What of the order's payments can still go back, by currency."""
    left: dict[str, Decimal] = {}
    for row in transactions_of(order):
        if row.kind in _PAYS and row.status == Transaction.Status.SUCCESS and row.amount > row.refunded:
            left[row.currency] = left.get(row.currency, ZERO) + row.amount - row.refunded
    return left
