"""The forms of a customer: contact details and consents, an address, an invitation."""

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.customers.domain import validation
from apps.customers.domain.addresses import clean_address
from apps.customers.domain.consents import KINDS
from apps.customers.models import Address, ConsentState, Customer
from apps.panel.screens.forms import PanelForm, ShopOwnedForm, Values
from apps.panel.theme import ThemedSelect
from apps.shops.domain.countries import country_choices

COLUMNS = (
    "first_name",
    "last_name",
    "email",
    "phone",
    "verified_email",
    "note",
    "tags",
    "tax_exempt",
)
CONSENTS = {"email_consent": "email_marketing_consent", "sms_consent": "sms_marketing_consent"}
CHANNELS = {f"{channel}_consent": KINDS[channel].columns["state"] for channel in KINDS}
# What staff may set; the others come about by erasure and by bounced messages.
STATES = [choice for choice in ConsentState.choices if choice[0] not in {ConsentState.REDACTED, ConsentState.INVALID}]


class CustomerForm(PanelForm[Customer]):
    """Contact details, notes and consents; what does not fit is the rules' to say."""

    email_consent = forms.ChoiceField(label=gettext_lazy("E-mail marketing"), required=False, widget=ThemedSelect)
    sms_consent = forms.ChoiceField(label=gettext_lazy("SMS marketing"), required=False, widget=ThemedSelect)

    class Meta:
        model = Customer
        fields = COLUMNS

    def prepare(self) -> None:
        """The states that a consent may take, and the present one."""
        for name, column in CHANNELS.items():
            if name in self.fields:
                present = getattr(self.instance, column)
                known = dict(STATES) | {present: str(ConsentState(present).label)}
                self.offer(name, known.items())
                self.initial.setdefault(name, present)

    def clean(self) -> Values | None:
        """Check by the rules that REST has; the values stay as they were typed, the service makes them canonical."""
        cleaned = super().clean() or self.cleaned_data
        present = None if self.instance._state.adding else Customer.objects.get(pk=self.instance.pk)
        values, errors = validation.clean(self.values, customer=present, shop=self.instance.shop, at=timezone.now())
        errors = {**validation.taken(values, besides=present), **errors}
        fields = {whole: short for short, whole in CONSENTS.items()}
        for name, messages in errors.items():
            field = fields.get(name.split(".")[0], name)
            if field not in self.errors:
                self.add_error(field if field in self.fields else None, messages)
        return cleaned

    @property
    def values(self) -> Values:
        """What the service takes."""
        values = {name: self.cleaned_data[name] for name in COLUMNS if name in self.cleaned_data}
        for name, whole in CONSENTS.items():
            if self.cleaned_data.get(name) and name in self.changed_data:
                values[whole] = {"state": self.cleaned_data[name]}
        return values


class AddressForm(ShopOwnedForm[Address]):
    """An address; country and province are completed."""

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
        """The countries to choose from, and whether the address is the default."""
        self.offer("country_code", [("", _("Choose a country")), *country_choices()])
        if "is_default" in self.fields and not self.instance._state.adding:
            self.initial["is_default"] = self.instance.customer.default_address_id == self.instance.pk

    def clean(self) -> Values | None:
        """Check by the rules that REST has."""
        cleaned = super().clean() or self.cleaned_data
        present = None if self.instance._state.adding else Address.objects.get(pk=self.instance.pk)
        _values, errors = clean_address(self.values, present)
        for name, messages in errors.items():
            field = {"country": "country_code"}.get(name, name)
            self.add_error(field if field in self.fields else None, messages)
        return cleaned

    @property
    def values(self) -> Values:
        """What the service takes; of one that there is only what changed, as blank and absent look alike here."""
        named = self.Meta.fields if self.instance._state.adding else self.changed_data
        return {
            name: self.cleaned_data[name] for name in self.Meta.fields if name in self.cleaned_data and name in named
        }


class InviteForm(forms.Form):
    """What an invitation says; whatever is left out is filled in."""

    to = forms.EmailField(label=pgettext_lazy("mail", "To"), max_length=255)
    subject = forms.CharField(label=gettext_lazy("Subject"), max_length=255)
    custom_message = forms.CharField(
        label=gettext_lazy("Message"), max_length=5000, required=False, widget=forms.Textarea(attrs={"rows": 5})
    )
