from typing import ClassVar

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.error_display import explain_field_errors
from apps.core.admin.forms.forms import PanelForm, ShopOwnedForm, Values
from apps.core.admin.theme import ThemedSelect
from apps.customers.domain import validation
from apps.customers.domain.addresses import clean_address
from apps.customers.domain.consents import CHANNEL_DEFINITIONS
from apps.customers.domain.fields import EDITABLE_FIELDS
from apps.customers.models import Address, ConsentState, Customer
from apps.shops.domain.countries import get_country_choices

CONSENTS = {"email_consent": "email_marketing_consent", "sms_consent": "sms_marketing_consent"}
CHANNELS = {f"{channel}_consent": CHANNEL_DEFINITIONS[channel].columns["state"] for channel in CHANNEL_DEFINITIONS}
# The states that staff can choose. The other states are set when data is erased or messages bounce.
STATES = [choice for choice in ConsentState.choices if choice[0] not in {ConsentState.REDACTED, ConsentState.INVALID}]


class CustomerForm(PanelForm[Customer]):
    """Form for contact details, notes and consents. The domain rules validate the values."""

    email_consent = forms.ChoiceField(label=gettext_lazy("Email marketing"), required=False, widget=ThemedSelect)
    sms_consent = forms.ChoiceField(label=gettext_lazy("SMS marketing"), required=False, widget=ThemedSelect)

    class Meta:
        model = Customer
        fields = EDITABLE_FIELDS
        labels: ClassVar = {"verified_email": gettext_lazy("Email verified")}

    def prepare(self) -> None:
        for name, column in CHANNELS.items():
            if name in self.fields:
                current = getattr(self.instance, column)
                choices = dict(STATES) | {current: str(ConsentState(current).label)}
                self.set_choices(name, choices.items())
                self.initial.setdefault(name, current)

    def clean(self) -> Values | None:
        """Validate with the rules of the REST API. The domain functions normalize the values on save."""
        cleaned = super().clean() or self.cleaned_data
        current = None if self.instance._state.adding else Customer.objects.get(pk=self.instance.pk)
        values, errors = validation.clean_customer(
            self.values, customer=current, shop=self.instance.shop, at=timezone.now()
        )
        errors = {**validation.find_taken_contacts(values, customer=current), **errors}
        fields = {consent_field: form_field for form_field, consent_field in CONSENTS.items()}
        for name, messages in errors.items():
            field = fields.get(name.split(".")[0], name)
            if field not in self.errors:
                self.add_error(field if field in self.fields else None, explain_field_errors(field, messages))
        return cleaned

    @property
    def values(self) -> Values:
        values = {name: self.cleaned_data[name] for name in EDITABLE_FIELDS if name in self.cleaned_data}
        for name, consent_field in CONSENTS.items():
            if self.cleaned_data.get(name) and name in self.changed_data:
                values[consent_field] = {"state": self.cleaned_data[name]}
        return values


class AddressForm(ShopOwnedForm[Address]):
    """Form for an address. The domain functions fill in missing names and codes of the country and province."""

    country_code = forms.ChoiceField(label=gettext_lazy("Country"), required=False, widget=ThemedSelect)
    is_default = forms.BooleanField(label=gettext_lazy("Default"), required=False)

    class Meta:
        model = Address
        fields = (
            "first_name",
            "last_name",
            "company",
            "address1",
            "address2",
            "city",
            "zip",
            "province",
            "country_code",
            "phone",
        )

    def prepare(self) -> None:
        self.set_choices("country_code", [("", _("Choose a country")), *get_country_choices()])
        if "is_default" in self.fields and not self.instance._state.adding:
            self.initial["is_default"] = self.instance.customer.default_address_id == self.instance.pk

    def clean(self) -> Values | None:
        cleaned = super().clean() or self.cleaned_data
        current = None if self.instance._state.adding else Address.objects.get(pk=self.instance.pk)
        _values, errors = clean_address(self.values, current)
        for name, messages in errors.items():
            field = {"country": "country_code"}.get(name, name)
            self.add_error(field if field in self.fields else None, messages)
        return cleaned

    @property
    def values(self) -> Values:
        """Return the values to pass to the domain functions.

        For an existing address, these are only the changed fields, because the form can't distinguish blank from
        missing values.
        """
        names = self.Meta.fields if self.instance._state.adding else self.changed_data
        return {
            name: self.cleaned_data[name] for name in self.Meta.fields if name in self.cleaned_data and name in names
        }


class InviteForm(forms.Form):
    to = forms.EmailField(label=pgettext_lazy("mail", "To"), max_length=255)
    subject = forms.CharField(label=gettext_lazy("Subject"), max_length=255)
    custom_message = forms.CharField(
        label=gettext_lazy("Message"), max_length=5000, required=False, widget=forms.Textarea(attrs={"rows": 5})
    )
