"""The forms to issue gift cards, to edit them and to adjust their balances."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.display.money import MoneyField
from apps.core.admin.forms.error_display import add_domain_errors
from apps.core.admin.forms.forms import PanelForm, Values
from apps.core.admin.forms.styled import StyledForm
from apps.core.exceptions import DomainError
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.customers.domain.lookup import find_all_by_contacts, get_contact_keys
from apps.customers.models import Customer
from apps.gift_cards.domain import codes
from apps.gift_cards.models import GiftCard
from apps.gift_cards.models.gift_cards import MAX_MESSAGE

# When emails are sent that are scheduled for a day.
SEND_TIME = time(8)
_EXPIRY_LABEL = gettext_lazy("Expiry date")
_EXPIRY_HELP = gettext_lazy("The card is valid until the end of this day. Leave blank for a card that does not expire.")
_NOTE_HELP = gettext_lazy("Only staff see the note.")
_CUSTOMER_LABEL = gettext_lazy("Customer")


def _create_customer_field(label: Any = _CUSTOMER_LABEL, help_text: Any = "") -> forms.EmailField:
    """Return a field for a customer's email address, which suggests customers by name or email."""
    widget = forms.EmailInput(attrs={"list": "customer-emails", "autocomplete": "off", "spellcheck": "false"})
    return forms.EmailField(label=label, required=False, help_text=help_text, widget=widget)


def find_customer(email: str) -> Customer | None:
    """Return the customer with an email address, or None for a blank address."""
    if not email:
        return None
    matches = find_all_by_contacts([get_contact_keys(email=email, phone="")], locked=False)
    if matches[0].by_email is None:
        raise forms.ValidationError(_("No customer has this email address. Add the customer first."))
    return matches[0].by_email


def _create_date_field(label: Any = _EXPIRY_LABEL, help_text: Any = _EXPIRY_HELP) -> forms.DateField:
    return forms.DateField(
        label=label,
        required=False,
        help_text=help_text,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )


def _create_amount_field(label: Any, currency: str = "") -> MoneyField:
    """Return a field for an amount in a currency, by default the shop's currency."""
    attrs = {"class": "bo-input", "inputmode": "decimal", "autocomplete": "off"}
    return MoneyField(label=label, currency=currency, widget=forms.TextInput(attrs=attrs))


class GiftCardForm(PanelForm[GiftCard]):
    """The form for the fields of an existing card that staff may edit. A customer can only be set once."""

    expires_on = _create_date_field()
    customer_email = _create_customer_field(
        help_text=gettext_lazy("Enter a name or email to find the customer. The customer can't be changed later.")
    )

    class Meta:
        model = GiftCard
        fields = ("expires_on", "note")

    def clean_customer_email(self) -> Customer | None:
        return find_customer(self.cleaned_data["customer_email"])

    @property
    def attrs(self) -> Attrs:
        values = {name: self.cleaned_data[name] for name in self.Meta.fields if name in self.cleaned_data}
        if (customer := self.cleaned_data.get("customer_email")) is not None:
            values["customer_id"] = customer.pk
        return values


class _ServiceForm(StyledForm):
    """A form that shows the errors of a service at its own fields."""

    # The form fields of columns with other names.
    field_names: dict[str, str] = {}

    def add_domain_error(self, error: DomainError) -> None:
        add_domain_errors(self, error, self.field_names)


class IssueForm(_ServiceForm):
    """The form for a new card. ``customer`` is the customer that the link to the form named, if any."""

    field_names = {"customer_id": "customer_email", "recipient_id": "recipient_email"}

    initial_value = _create_amount_field(gettext_lazy("Value"))
    customer_email = _create_customer_field(
        help_text=gettext_lazy(
            "Enter a name or email to find the customer, or leave blank for a card without a customer. The customer "
            "can't be changed later."
        )
    )
    sends_email = forms.BooleanField(label=gettext_lazy("Send the code by email"), required=False)
    recipient_email = _create_customer_field(
        gettext_lazy("Recipient"),
        help_text=gettext_lazy("The recipient must be a customer. Leave blank to send the code to the customer above."),
    )
    message = forms.CharField(
        label=gettext_lazy("Message to the recipient"),
        required=False,
        max_length=MAX_MESSAGE,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    send_on = _create_date_field(
        label=gettext_lazy("Send on"),
        help_text=gettext_lazy("The email is sent at 8:00 in the morning. Leave blank to send it at once."),
    )
    expires_on = _create_date_field()
    code = forms.CharField(
        label=gettext_lazy("Code"),
        required=False,
        max_length=2 * codes.MAX_LENGTH,
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
        help_text=gettext_lazy("8 to 20 letters and digits. Leave blank to generate a code, which is harder to guess."),
    )
    note = forms.CharField(
        label=gettext_lazy("Note"),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_NOTE_HELP,
    )

    def __init__(self, data: Any, *, customer: Customer | None) -> None:
        super().__init__(data)
        self.customer = customer
        self.fields["initial_value"].label = _("Value ({currency})").format(currency=get_current_shop().currency)
        # The page only shows these fields if the code is sent.
        for name in ("recipient_email", "message", "send_on"):
            self.fields[name].widget.attrs["data-for"] = "email"
        if customer is not None:
            del self.fields["customer_email"]

    def clean_customer_email(self) -> Customer | None:
        return find_customer(self.cleaned_data["customer_email"])

    def clean_recipient_email(self) -> Customer | None:
        return find_customer(self.cleaned_data["recipient_email"])

    def clean_send_on(self) -> date | None:
        day: date | None = self.cleaned_data["send_on"]
        if day is not None and self._get_send_time(day) <= timezone.now():
            raise forms.ValidationError(_("This time is in the past. Leave the field blank to send the email at once."))
        return day

    def clean(self) -> Attrs:
        data = super().clean() or self.cleaned_data
        if data.get("sends_email"):
            recipient = self.recipient
            if (recipient is None or not recipient.email) and not self.errors:
                self.add_error("recipient_email", _("Enter the email address of a customer."))
        elif any(data.get(name) for name in ("recipient_email", "message", "send_on")):
            self.add_error(
                "sends_email", _("Select this option, or clear the recipient, the message and the date of the email.")
            )
        return data

    @property
    def recipient(self) -> Customer | None:
        """Return the customer who gets the email, if the code is sent."""
        if not self.cleaned_data.get("sends_email"):
            return None
        return self.cleaned_data.get("recipient_email") or self.customer or self.cleaned_data.get("customer_email")

    @property
    def attrs(self) -> Attrs:
        data, customer = self.cleaned_data, self.customer or self.cleaned_data.get("customer_email")
        values = {name: data[name] for name in ("initial_value", "code", "expires_on", "note", "message")}
        day = data["send_on"]
        return {
            **values,
            "customer_id": customer.pk if customer else None,
            "recipient_id": self.recipient.pk if self.recipient else None,
            "send_at": self._get_send_time(day) if day else None,
        }

    @staticmethod
    def _get_send_time(day: date) -> datetime:
        return datetime.combine(day, SEND_TIME, tzinfo=get_current_shop().tzinfo)


class CodeForm(_ServiceForm):
    """The form for the code of a card without a code."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        required=False,
        max_length=2 * codes.MAX_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "The code on the customer's card. Leave blank to generate a new code, which replaces the code of the card."
        ),
    )


class AdjustForm(_ServiceForm):
    """The form to add an amount to a balance or to subtract it. The reason is stored with the adjustment."""

    ADD, SUBTRACT = "add", "subtract"

    kind = forms.ChoiceField(
        label=gettext_lazy("Adjustment"),
        choices=[(SUBTRACT, gettext_lazy("Subtract from the balance")), (ADD, gettext_lazy("Add to the balance"))],
        initial=SUBTRACT,
    )
    amount = _create_amount_field(gettext_lazy("Amount"))
    note = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Only staff see the reason, in the ledger of the card."),
    )

    def __init__(self, data: Any, *, card: GiftCard) -> None:
        super().__init__(data)
        label = _("Amount ({currency})").format(currency=card.currency)
        self.fields["amount"] = _create_amount_field(label, card.currency)

    @property
    def attrs(self) -> Values:
        amount: Decimal = self.cleaned_data["amount"]
        is_added = self.cleaned_data["kind"] == self.ADD
        return {"amount": amount if is_added else -amount, "note": self.cleaned_data["note"]}
