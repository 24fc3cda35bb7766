"""The form to edit an order's contact details, addresses, notes and tags."""

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.customers.admin.forms import AddressForm
from apps.ground.types import Attrs
from apps.orders.domain.addresses import apply_address_changes
from apps.orders.models import Order
from apps.panel.admin_base.forms import PanelForm, Values
from apps.panel.theme import Fieldset, ThemedSelect
from apps.shops.domain.countries import get_country_choices

ADDRESS_KINDS = ("shipping", "billing")
ADDRESS_FIELDS = AddressForm.Meta.fields
_LABELS: dict[str, StrOrPromise] = {
    "first_name": gettext_lazy("First name"),
    "last_name": gettext_lazy("Last name"),
    "company": gettext_lazy("Company"),
    "address1": gettext_lazy("Address"),
    "address2": gettext_lazy("Apartment, suite, etc."),
    "city": gettext_lazy("City"),
    "zip": gettext_lazy("Postal code"),
    "province": gettext_lazy("State or province"),
    "phone": gettext_lazy("Phone"),
}
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
    """The form for the order fields that staff may edit.

    Addresses are validated as in the REST API. They are snapshots, so changes do not affect the customer's saved
    addresses.
    """

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
        """Fill the address fields with the stored addresses."""
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
        address: Attrs | None = getattr(self.instance, f"{kind}_address")
        return address

    def clean(self) -> Values | None:
        """Complete the addresses, and reject changes to the billing address while "same as shipping" is checked."""
        cleaned = super().clean() or self.cleaned_data
        for kind in ADDRESS_KINDS:
            snapshot, errors = self._changed_address(kind)
            for name, messages in errors.items():
                field = f"{kind}_{'country_code' if name == 'country' else name}"
                self.add_error(field if field in self.fields else None, messages)
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
        """Return the values for ``update_order``."""
        names = (*self.Meta.fields, *(f"{kind}_address" for kind in ADDRESS_KINDS))
        return {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}


def _field(name: str) -> forms.Field:
    if name == "country_code":
        return forms.ChoiceField(label=gettext_lazy("Country"), required=False, widget=ThemedSelect)
    return forms.CharField(label=_LABELS[name], required=False, max_length=255)


# Register the address fields here, because the panel builds the form from ``declared_fields`` and ``base_fields``.
_ADDRESSES = {f"{kind}_{name}": _field(name) for kind in ADDRESS_KINDS for name in ADDRESS_FIELDS}
OrderForm.declared_fields.update(_ADDRESSES)
OrderForm.base_fields.update(_ADDRESSES)
