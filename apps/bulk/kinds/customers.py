"""Customers in bulk: tags and marketing consents."""

from collections.abc import Collection
from datetime import datetime

from django.utils.translation import gettext_lazy

from apps.bulk.domain.kinds import Kind
from apps.customers.domain import customers
from apps.customers.domain.consents import Channel, consent_of
from apps.customers.models import Customer
from apps.ground.attrs import Attrs, Given
from apps.ground.locks import locked

_CHANNELS = {"email_consent": Channel.EMAIL, "sms_consent": Channel.SMS}
_FIELDS = {"email_consent": "email_marketing_consent", "sms_consent": "sms_marketing_consent"}


def hold(pk: int, names: Collection[str]) -> Customer:
    """The customer."""
    return locked(Customer, pk)


def values(customer: Customer, names: Collection[str]) -> Attrs:
    """Of a consent the state."""
    return {
        name: consent_of(customer, _CHANNELS[name]).state if name in _CHANNELS else getattr(customer, name)
        for name in names
    }


def write(customer: Customer, after: Given, *, actor: str, at: datetime) -> None:
    """A consent that changes is noted in its history, like one that is changed by hand."""
    attrs = {_FIELDS.get(name, name): {"state": value} if name in _FIELDS else value for name, value in after.items()}
    customers.update_customer(customer, attrs, actor=actor, at=at)


def mark(pk: int) -> str:
    """Its version."""
    return str(Customer.objects.values_list("version", flat=True).get(pk=pk))


CUSTOMERS = Kind(
    name="customers",
    label=gettext_lazy("Customers"),
    model=Customer,
    permission="customers.change_customer",
    granted_by="customers",
    fields=("tags", "email_consent", "sms_consent"),
    hold=hold,
    values=values,
    write=write,
    mark=mark,
    name_of=str,
)
