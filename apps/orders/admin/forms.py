"""The form of what staff change of an order by hand: contact details, both addresses, notes and tags."""

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.customers.admin.forms import AddressForm
from apps.ground.attrs import Attrs
from apps.orders.domain.addresses import changed
from apps.orders.models import Order
from apps.panel.screens.forms import PanelForm, Values
from apps.panel.theme import Fieldset, ThemedSelect
from apps.shops.domain.countries import country_choices

KINDS = ("shipping", "billing")
PARTS = AddressForm.Meta.fields
_LABELS: dict[str, StrOrPromise] = {
    "first_name": gettext_lazy("First name"),
    "last_name": gettext_lazy("Last name"),
    "company": gettext_lazy("Company"),
    "address1": gettext_lazy("Address"),
    "address2": gettext_lazy("Apartment, floor"),
    "city": gettext_lazy("City"),
    "zip": gettext_lazy("Postal code"),
    "province": gettext_lazy("Province"),
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
    """What staff may change of an order by hand; addresses by the rules that REST has.

    Both addresses are snapshots, so nothing here changes the customer's own.
    """

    email = forms.EmailField(label=gettext_lazy("E-mail"), required=False, max_length=255)
    billing_same = forms.BooleanField(
        label=gettext_lazy("Same as the shipping address"),
        required=False,
        help_text=gettext_lazy("Then what stands below is not used."),
    )

    class Meta:
        model = Order
        fields = ("email", "phone", "po_number", "tags", "note")

    def prepare(self) -> None:
        """Show the addresses as they are kept."""
        known = [("", _("Choose a country")), *country_choices()]
        for kind in KINDS:
            kept = self._kept(kind) or {}
            code = kept.get("country_code") or ""
            unknown = [(code, code)] if code not in dict(known) else []
            self.offer(f"{kind}_country_code", [*known, *unknown])
            for name in PARTS:
                self.initial.setdefault(f"{kind}_{name}", kept.get(name) or "")
        self.initial.setdefault("billing_same", self._kept("billing") == self._kept("shipping"))

    def _kept(self, kind: str) -> Attrs | None:
        found: Attrs | None = getattr(self.instance, f"{kind}_address")
        return found

    def clean(self) -> Values | None:
        """Complete the addresses; what was typed into one that is not used is not dropped silently."""
        cleaned = super().clean() or self.cleaned_data
        for kind in KINDS:
            snapshot, errors = self._changed(kind)
            for name, messages in errors.items():
                field = f"{kind}_{'country_code' if name == 'country' else name}"
                self.add_error(field if field in self.fields else None, messages)
            cleaned[f"{kind}_address"] = snapshot
        if cleaned.get("billing_same"):
            if any(name.startswith("billing_") and name != "billing_same" for name in self.changed_data):
                self.add_error("billing_same", _("Untick this to use the billing address that you typed."))
            cleaned["billing_address"] = cleaned["shipping_address"]
        return cleaned

    def _changed(self, kind: str) -> tuple[Attrs | None, dict[str, list[str]]]:
        given = {
            name: self.cleaned_data[f"{kind}_{name}"]
            for name in PARTS
            if f"{kind}_{name}" in self.changed_data and f"{kind}_{name}" in self.cleaned_data
        }
        kept = self._kept(kind)
        return changed(kept, given) if given else (kept, {})

    @property
    def values(self) -> Values:
        """What the service takes."""
        names = (*self.Meta.fields, *(f"{kind}_address" for kind in KINDS))
        return {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}


def _field(name: str) -> forms.Field:
    if name == "country_code":
        return forms.ChoiceField(label=gettext_lazy("Country"), required=False, widget=ThemedSelect)
    return forms.CharField(label=_LABELS[name], required=False, max_length=255)


# The panel makes the form anew from what it declares.
_ADDRESSES = {f"{kind}_{name}": _field(name) for kind in KINDS for name in PARTS}
OrderForm.declared_fields.update(_ADDRESSES)
OrderForm.base_fields.update(_ADDRESSES)
