"""Summarize in words what issuing a gift card does, also while the form is not complete."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from apps.core.admin.forms.form_summary import FormSummary
from apps.core.i18n import formats
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.gift_cards.admin.forms import SEND_TIME, IssueForm


def summarize_gift_card(form: IssueForm) -> FormSummary:
    values: ReadOnlyAttrs = dict.fromkeys(form.fields)
    if form.is_bound:
        form.is_valid()
        values = {**values, **form.cleaned_data}
    return FormSummary(_describe_value(form, values), list(_describe_terms(form, values)))


def _describe_value(form: IssueForm, values: ReadOnlyAttrs) -> str:
    if values["initial_value"] is None:
        if form.data.get("initial_value"):
            return _("Gift card with an invalid value")
        return _("Gift card without a value yet")
    value = formats.format_money(values["initial_value"], get_current_shop().currency)
    return _("Gift card with a value of {value}").format(value=value)


def _describe_terms(form: IssueForm, values: ReadOnlyAttrs) -> Iterator[str]:
    customer = form.customer or values.get("customer_email")
    if customer is not None:
        yield _("For {customer}").format(customer=customer)
    elif "customer_email" in form.errors:
        yield _("The customer is not known.")
    else:
        yield _("Without a customer. Anyone with the code can use the card.")
    if values["code"]:
        yield _("With the code that you entered")
    else:
        yield _("With a new code, which is shown once")
    if values["sends_email"]:
        yield _describe_email(form, values)
    else:
        yield _("No email is sent. Give the code to the customer.")
    if values["expires_on"]:
        yield _("Valid until {day}").format(day=formats.format_date(values["expires_on"], "j M Y"))
    else:
        yield _("Does not expire")


def _describe_email(form: IssueForm, values: ReadOnlyAttrs) -> str:
    recipient = form.recipient
    if recipient is None or not recipient.email:
        return _("The code is sent by email. Enter the recipient.")
    if values["send_on"]:
        text = _("The code is sent to {address} on {day} at {time}.")
        day, time = formats.format_date(values["send_on"], "j M Y"), f"{SEND_TIME:%H:%M}"
        return text.format(address=recipient.email, day=day, time=time)
    return _("The code is sent to {address} at once.").format(address=recipient.email)
