from decimal import Decimal
from typing import Any, cast

from django import forms
from django.db.models import Field
from django.http import QueryDict
from django.utils.text import capfirst, get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.display.money import MoneyField, format_amount_input
from apps.core.admin.forms.forms import PanelForm, Values
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import Fieldset, ThemedSelect
from apps.core.i18n import formats
from apps.core.money import ZERO
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.customers.admin.forms import AddressForm
from apps.customers.models import Address
from apps.orders.admin.page_context import get_payment_summary
from apps.orders.domain import hooks
from apps.orders.domain.payments import PAYMENT_KINDS
from apps.orders.domain.selectors import get_transactions
from apps.orders.domain.updates import apply_address_changes
from apps.orders.models import Order, Transaction
from apps.shops.domain.countries import get_country_choices

# This permission is defined by the refunds app, which also registers the refund hook.
REFUND_PERMISSION = "refunds.add_refund"
_INPUT = {"class": "bo-input"}
ADDRESS_KINDS = ("shipping", "billing")
ADDRESS_FIELDS = AddressForm.Meta.fields
_ROWS = (
    ("first_name", "last_name"),
    ("company", "phone"),
    ("address1", "address2"),
    ("zip", "city"),
    ("province", "country_code"),
)


def _rows(kind: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{kind}_{name}" for name in row) for row in _ROWS)


FIELDSETS: tuple[Fieldset, ...] = (
    (gettext_lazy("Contact"), {"fields": (("email", "phone"),)}),
    (gettext_lazy("Shipping address"), {"fields": _rows("shipping")}),
    (gettext_lazy("Billing address"), {"fields": ("billing_same", *_rows("billing"))}),
    (gettext_lazy("Notes"), {"fields": ("tags", "note", "po_number")}),
)


class OrderForm(PanelForm[Order]):
    """The form for the order fields that staff may edit. Addresses are validated as in the REST API."""

    email = forms.EmailField(label=gettext_lazy("Email"), required=False, max_length=255)
    billing_same = forms.BooleanField(
        label=gettext_lazy("Same as the shipping address"),
        required=False,
        help_text=gettext_lazy("If selected, the fields below are ignored."),
    )

    class Meta:
        model = Order
        fields = ("email", "phone", "po_number", "tags", "note")

    def prepare(self) -> None:
        countries = [("", _("Choose a country")), *get_country_choices()]
        for kind in ADDRESS_KINDS:
            address = self._stored_address(kind) or {}
            code = address.get("country_code") or ""
            unknown = [(code, code)] if code not in dict(countries) else []
            self.set_choices(f"{kind}_country_code", [*countries, *unknown])
            for name in ADDRESS_FIELDS:
                self.initial.setdefault(f"{kind}_{name}", address.get(name) or "")
        self.initial.setdefault("billing_same", self._stored_address("billing") == self._stored_address("shipping"))

    def _stored_address(self, kind: str) -> Attrs | None:
        return getattr(self.instance, f"{kind}_address")

    def clean(self) -> Values | None:
        cleaned = super().clean() or self.cleaned_data
        for kind in ADDRESS_KINDS:
            snapshot, errors = self._changed_address(kind)
            add_address_errors(self, kind, errors)
            cleaned[f"{kind}_address"] = snapshot
        if cleaned.get("billing_same"):
            if any(name.startswith("billing_") and name != "billing_same" for name in self.changed_data):
                self.add_error("billing_same", _("Clear this checkbox to use the billing address you entered."))
            cleaned["billing_address"] = cleaned["shipping_address"]
        return cleaned

    def _changed_address(self, kind: str) -> tuple[Attrs | None, dict[str, list[str]]]:
        values = {
            name: self.cleaned_data[f"{kind}_{name}"]
            for name in ADDRESS_FIELDS
            if f"{kind}_{name}" in self.changed_data and f"{kind}_{name}" in self.cleaned_data
        }
        address = self._stored_address(kind)
        return apply_address_changes(address, values) if values else (address, {})

    @property
    def get_order_values(self) -> Values:
        names = (*self.Meta.fields, *(f"{kind}_address" for kind in ADDRESS_KINDS))
        return {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}


def add_address_errors(form: forms.BaseForm, kind: str, errors: Errors) -> None:
    """Add the errors of an address to its fields."""
    for name, messages in errors.items():
        field = f"{kind}_{'country_code' if name == 'country' else name}"
        form.add_error(field if field in form.fields else None, messages)


def create_address_fields(select: type[forms.Select]) -> dict[str, forms.Field]:
    """Return the fields of the shipping and the billing address. ``select`` is the widget for countries."""
    return {f"{kind}_{name}": _create_address_field(name, select) for kind in ADDRESS_KINDS for name in ADDRESS_FIELDS}


def _create_address_field(name: str, select: type[forms.Select]) -> forms.Field:
    if name == "country_code":
        return forms.ChoiceField(label=gettext_lazy("Country"), required=False, widget=select)
    column = cast("Field[Any, Any]", Address._meta.get_field(name))
    return forms.CharField(label=capfirst(column.verbose_name), required=False, max_length=255)


# Register the address fields here, because the panel builds the form from ``declared_fields`` and ``base_fields``.
_ADDRESSES = create_address_fields(ThemedSelect)
OrderForm.declared_fields.update(_ADDRESSES)
OrderForm.base_fields.update(_ADDRESSES)


class CancelForm(forms.Form):
    reason = forms.ChoiceField(
        choices=Order.CancelReason.choices, widget=forms.Select(attrs=_INPUT), label=gettext_lazy("Reason")
    )
    restock = forms.BooleanField(required=False, initial=True, label=gettext_lazy("Restock"))
    notify = forms.BooleanField(required=False, label=gettext_lazy("Notify the customer by email"))

    def __init__(self, order: Order, data: QueryDict | None = None, *, may_refund: bool) -> None:
        super().__init__(data, initial={"notify": bool(order.email)})
        self.order, self.payments_left = order, _refundable_by_currency(order)
        self.refundable = self.payments_left if may_refund and hooks.get_refund_hook() is not None else {}
        if not order.email:
            self.fields["notify"].disabled = True
        if self.refundable:
            widget = forms.TextInput(attrs={**_INPUT, "inputmode": "decimal", "autocomplete": "off"})
            currency, amount = next(iter(self.refundable.items()))
            self.fields["refund_now"] = forms.ChoiceField(
                choices=[("yes", _("Refund now to the original payment method")), ("no", _("Refund later"))],
                initial="yes",
                widget=forms.RadioSelect,
                label=_("Refund"),
            )
            # ``clean`` checks the number of decimals, because it depends on the selected currency.
            self.fields["amount"] = _Amount(
                required=False, label=_("Refund amount"), widget=widget, initial=format_amount_input(amount, currency)
            )
            self.fields["currency"] = forms.ChoiceField(
                choices=[(code, code) for code in self.refundable],
                initial=currency,
                widget=forms.Select(attrs={**_INPUT, "aria-label": _("Currency")}),
            )
            if len(self.refundable) == 1:
                self.fields["currency"].widget = forms.HiddenInput()

    def clean(self) -> Values:
        data = super().clean() or self.cleaned_data
        if data.get("refund_now") != "yes":
            data["amount"] = None
        elif data.get("amount") is None and "amount" not in self.errors:
            self.add_error("amount", _("Enter the amount, or select “Refund later”."))
        amount, currency = data.get("amount"), data.get("currency")
        if amount is not None and currency:
            try:
                data["amount"] = MoneyField(currency=currency).clean(str(amount))
            except forms.ValidationError as error:
                self.add_error("amount", error)
            else:
                if amount > self.refundable[currency]:
                    maximum = formats.format_money(self.refundable[currency], currency)
                    self.add_error("amount", _("Enter at most {amount}.").format(amount=maximum))
        return data

    @property
    def refundable_text(self) -> str:
        return get_text_list(
            [formats.format_money(amount, currency) for currency, amount in self.refundable.items()], _("and")
        )

    @property
    def button_refund(self) -> str:
        """Return the refund that the page's button names, or an empty string if the amount is unknown."""
        if self.is_bound:
            return self.refund_text if self.is_valid() else ""
        return next((formats.format_money(amount, code) for code, amount in self.refundable.items()), "")

    def summarize_payments(self) -> Context:
        """Return the context of panel/orders/payment_summary.html. Payments in other currencies have no net payment."""
        order, left = self.order, self.payments_left
        has_one_currency = left.keys() <= {order.currency}
        refundable = left.get(order.currency, ZERO) if has_one_currency else order.net_payment
        payments = get_payment_summary(order, refundable, self._refund_amount if has_one_currency else ZERO)
        if not has_one_currency:
            del payments["net_payment"]
        has_errors = self.is_bound and not self.is_valid()
        return {"payments": payments, "given": self.button_refund, "problems": has_errors}

    @property
    def _refund_amount(self) -> Decimal:
        if not self.is_bound:
            return self.refundable.get(self.order.currency, ZERO)
        return (self.cleaned_data.get("amount") if self.is_valid() else None) or ZERO

    @property
    def refund_text(self) -> str:
        amount = self.cleaned_data.get("amount")
        return formats.format_money(amount, self.cleaned_data["currency"]) if amount else ""

    @property
    def refund(self) -> ReadOnlyAttrs | None:
        if not self.refund_text:
            return None
        return {"amount": self.cleaned_data["amount"], "currency": self.cleaned_data["currency"]}


class _Amount(MoneyField):
    """A money field for the currency that is selected in another form field."""

    @property
    def input_currency(self) -> str:
        """Return no currency, because ``CancelForm.clean`` checks the amount against the selected currency."""
        return ""

    def clean(self, value: Any) -> Decimal | None:
        return forms.DecimalField.clean(self, value)


def _refundable_by_currency(order: Order) -> dict[str, Decimal]:
    refundable: dict[str, Decimal] = {}
    for row in get_transactions(order):
        if row.kind in PAYMENT_KINDS and row.status == Transaction.Status.SUCCESS and row.amount > row.refunded:
            refundable[row.currency] = refundable.get(row.currency, ZERO) + row.amount - row.refunded
    return refundable
